package peertest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// The client half of a recorded session, played to the server that it was recorded
// with, finds no difference above timing: on stdio, over HTTP, and from one to the
// other.

// unstable are what the servers say otherwise each time.
var unstable = []string{
	"tools/call get-env: $.result.content",       // everything: of its environment
	"$..blob",                                    // everything: a time in base64
	"$.error.data.elicitations[*].elicitationId", // everything
	"tools/call get_file_info: $.result",         // filesystem: when a file was written
	"@timestamps", "@uuids",                      // everything
}

// unused are the warnings about those that leave nothing out.
var unused = regexp.MustCompile(`(?m)^mcptap: --ignore ".*" matched no difference\n`)

// A replayLine is a line of `mcptap replay --json`: a difference or a note.
type replayLine struct {
	Type, Class, Kind, In, Method, Subject, Message, Path, What, Text string
}

// byLuck reports whether a difference may come and go without any change: the Go SDK
// asks in the order of a map, and answers a subscription that was cancelled if it is
// not ended before.
//
// On HTTP, it also depends on whether the standing stream is open in time what is
// said on it; and a client that resumes a stream gets what it has had once more.
func (l *replayLine) byLuck(s *webServer) bool {
	if s != nil {
		switch {
		case l.Message == "notifications/tools/list_changed", l.Message == "notifications/tasks/status":
			return true
		case s.loses && l.Message == "notifications/progress":
			return true
		case s.name == "everything" && l.In == "unmatched" && l.Kind == "removed":
			return true
		}
	}
	return l.What == "the questions within the call come in another order" ||
		l.Method == "subscriptions/listen" && l.What == "response after the cancellation"
}

// replayTo runs `mcptap replay` and returns what it found above expected, and what
// it could not do as recorded.
func replayTo(t *testing.T, file string, s *webServer, env []string, args ...string) (found []replayLine) {
	t.Helper()
	argv := []string{"replay", file, "--dir", t.TempDir(), "--pace", "instant", "--timeout", "2m", "--fail-on", "never", "--json"}
	for _, rule := range unstable {
		argv = append(argv, "--ignore", rule)
	}
	cmd := exec.Command(tapBinary(t), append(argv, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = dieWithParent()
	timer := time.AfterFunc(4*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil || len(unused.ReplaceAll(said.Bytes(), nil)) > 0 {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for line := range bytes.Lines(out.Bytes()) {
		var l replayLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case l.Type == "note" && l.Kind != "killed", l.Type == "difference" && l.Class != "expected" && l.Class != "cosmetic" && !l.byLuck(s):
			found = append(found, l)
			t.Logf("%s", line)
		}
	}
	return found
}

// replayClients are those whose sessions are played: the replay does what they did, so
// one for each way of opening a session will do.
var replayClients = []string{"v1-legacy", "v2-2026-07-28", "go-auto", "mcpgo-auto"}

func TestReplayPairs(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, c := range clients() {
		for _, s := range servers() {
			if !slices.Contains(replayClients, c.name) || c.modernOnly && !s.modern {
				continue // there is no session
			}
			if sample && c.name+"/"+s.name != "go-auto/gosdk" {
				continue
			}
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				tmp, recs := t.TempDir(), t.TempDir()
				playIn(t, tmp, c, s, func(argv []string) []string {
					return append([]string{tapBinary(t), "stdio", "--dir", recs, "--label", s.name, "--"}, argv...)
				})
				clearDir(t, tmp)
				var env []string
				if s.env != nil {
					env = s.env(tmp)
				}
				if found := replayTo(t, longest(t, recs), nil, env, append([]string{"--slower", "1h", "--"}, s.argv(tmp)...)...); len(found) > 0 {
					t.Errorf("%d differences and notes", len(found))
				}
			})
		}
	}
}

// clearDir makes a directory as it was before a server worked in it.
func clearDir(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayHTTP(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, s := range webServers {
		for _, name := range s.clients {
			if !slices.Contains(replayClients, name) || sample && name+"/"+s.name != "go-auto/gosdk" {
				continue
			}
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				tap := tapHTTP(t, dir, s.start(t, ""))
				playHTTP(t, webClient(name), s, tap.line)
				file := endTap(t, tap, dir)
				if found := replayTo(t, file, &s, nil, "--slower", "1h", "--to", s.start(t, "")); len(found) > 0 {
					t.Errorf("%d differences and notes", len(found))
				}
			})
		}
	}
}
