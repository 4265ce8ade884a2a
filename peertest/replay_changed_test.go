package peertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of the Go SDK differs slightly from the recorded one: each change is found, with its class, and
// nothing else is.

func init() { parts["part=changed"] = changedServer }

// changedServer returns the server of newGoServer with one change, and with two additional tools.
func changedServer(args []string) int {
	change, s := args[0], newGoServer()
	mcp.AddTool(s, &mcp.Tool{Name: "pair", Description: "Two texts."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			if change == "slower call" {
				time.Sleep(10 * time.Second)
			}
			content := []mcp.Content{&mcp.TextContent{Text: "first"}, &mcp.TextContent{Text: "second"}}
			if change == "reordered content" {
				slices.Reverse(content)
			}
			return &mcp.CallToolResult{Content: content}, nil, nil
		})
	meet := make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "meet", Description: "Waits for another call of it."},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			select {
			case meet <- struct{}{}:
			case <-meet:
			}
			return textResult("met %s", in.Text), nil, nil
		})
	switch change {
	case "renamed tool":
		s.RemoveTools("echo")
		mcp.AddTool(s, &mcp.Tool{Name: "repeat", Description: "Says it again."}, echoed[text])
	case "required argument":
		type more struct {
			Text string `json:"text"`
			Tone string `json:"tone"`
		}
		s.RemoveTools("echo")
		mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again."}, echoed[more])
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() { defer close(done); changeLines(change, r, os.Stdout) }()
	err := s.Run(context.Background(), &mcp.IOTransport{Reader: os.Stdin, Writer: w})
	_ = w.Close()
	<-done
	if err != nil {
		return complain(err)
	}
	return 0
}

// echoed is a tool that these tests never reach.
func echoed[In any](context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, any, error) {
	return textResult("not reached"), nil, nil
}

// changeLines makes changes that the SDK does not support.
func changeLines(change string, from io.Reader, to io.Writer) {
	var held []byte
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		switch {
		case change == "changed text":
			line = bytes.Replace(line, []byte(`"text":"one"`), []byte(`"text":"ONE"`), 1)
		case change == "changed error code":
			line = bytes.Replace(line, []byte(`"code":-32602`), []byte(`"code":-32603`), 1)
		case change == "dropped notification" && bytes.Contains(line, []byte(`"message":"step 2"`)):
			continue
		case change == "crossed ids" && held == nil && bytes.Contains(line, []byte(`"text":"met `)):
			held = line
			continue
		case held != nil && bytes.Contains(line, []byte(`"text":"met `)):
			line, held = append(withID(line, idOf(held)), withID(held, idOf(line))...), nil
		}
		if _, err := to.Write(line); err != nil {
			return
		}
	}
}

func idOf(line []byte) string {
	var m struct{ ID json.RawMessage }
	_ = json.Unmarshal(line, &m)
	return string(m.ID)
}

// withID replaces the id of an answer.
func withID(line []byte, id string) []byte {
	return bytes.Replace(line, []byte(`"id":`+idOf(line)), []byte(`"id":`+id), 1)
}

// recordedChange records a session with the server before the change.
func recordedChange(t *testing.T, client string) string {
	t.Helper()
	recs := t.TempDir()
	s := serverUnderTest{name: "replay", modern: true, argv: func(string) []string { return self("changed", "nothing") }}
	play(t, webClient(client), s, func(argv []string) []string {
		return append([]string{tapBinary(t), "stdio", "--dir", recs, "--label", "changed", "--"}, argv...)
	})
	return longest(t, recs)
}

func TestReplayChanged(t *testing.T) {
	needLong(t)
	tapBinary(t)
	file := recordedChange(t, "go-2025-06-18")
	for change, want := range map[string][]string{
		"nothing":              nil,
		"renamed tool":         {"breaking removed tools/list", "behaviour added tools/list", "breaking changed tools/call echo"},
		"required argument":    {"breaking added tools/list", "breaking changed tools/call echo"},
		"changed text":         {"behaviour changed tools/call echo"},
		"changed error code":   {"behaviour changed tools/call no-such-tool"},
		"slower call":          {"timing slower tools/call pair"},
		"dropped notification": {"behaviour removed tools/call steps"},
		"reordered content":    {"behaviour moved tools/call pair"},
		"crossed ids":          {"behaviour changed tools/call meet", "behaviour changed tools/call meet"},
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range replayTo(t, file, nil, nil, append([]string{"--slower", "8s", "--"}, self("changed", change)...)...) {
				got = append(got, strings.TrimSpace(strings.Join([]string{l.Class, l.Kind, l.Method, l.Subject}, " ")))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}

// TestReplayRevisions: a session is played to the same server in the other era, and back. All differences
// are of class expected.
func TestReplayRevisions(t *testing.T) {
	needLong(t)
	tapBinary(t)
	for client, to := range map[string]string{"go-2025-06-18": "2026-07-28", "go-auto": "2025-11-25"} {
		t.Run(client+" in "+to, func(t *testing.T) {
			t.Parallel()
			file := recordedChange(t, client)
			if found := replayTo(t, file, nil, nil, append([]string{"--revision", to, "--slower", "1h", "--"}, self("changed", "nothing")...)...); len(found) > 0 {
				t.Errorf("%d differences and notes", len(found))
			}
		})
	}
}
