package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
)

// TestChanged plays a session to servers that differ slightly from the recorded one. Each change is
// found, and nothing else.
func TestChanged(t *testing.T) {
	first := play(t, planned(conversation, nil), patient(), onPipes(t, newServer("")))
	for change, want := range map[string]string{
		"":                     "",
		"renamed tool":         "breaking removed tools/list $.result.tools[\"greet\"]; behaviour added tools/list $.result.tools[\"welcome\"]; breaking changed tools/call ",
		"required argument":    "breaking added tools/list $.result.tools[\"greet\"].inputSchema.required; breaking changed tools/call $.result",
		"changed text":         "behaviour changed tools/call $.result.content[0].text",
		"reordered content":    "behaviour moved tools/call $.result.content[0]",
		"dropped notification": "behaviour removed tools/call $.params",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			opt := patient()
			noted := notes(&opt)
			got := play(t, planned(first, nil), opt, onPipes(t, newServer(change)))
			var found []string
			r := compared(t, first, got)
			for i := range r.Differences {
				d := &r.Differences[i]
				if d.Class >= diff.Behaviour {
					found = append(found, d.Class.String()+" "+d.Kind.String()+" "+d.Method+" "+d.Path)
				}
			}
			for _, w := range strings.Split(want, "; ") {
				if w != "" && !strings.Contains(strings.Join(found, "; "), w) {
					t.Errorf("difference not found: %s", w)
				}
			}
			if want == "" && len(found) > 0 || len(*noted) > 0 {
				t.Errorf("found %q, notes %q", found, *noted)
			}
		})
	}
}

// rewritten runs a filter between a server and its client. The filter receives each line of the
// server and returns what is passed on.
func rewritten(serve func(io.Reader, io.Writer), line func([]byte) [][]byte) func(io.Reader, io.Writer) {
	return func(in io.Reader, out io.Writer) {
		r, w := io.Pipe()
		go func() {
			serve(in, w)
			w.Close()
		}()
		lines := bufio.NewReader(r)
		for {
			raw, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			for _, l := range line(raw) {
				if _, err := out.Write(l); err != nil {
					_ = r.Close()
					return
				}
			}
		}
	}
}

// TestCrossedIDs: two answers with swapped ids are found.
func TestCrossedIDs(t *testing.T) {
	first := play(t, planned(conversation, nil), patient(), onPipes(t, newServer("")))
	var held []byte
	cross := rewritten(onPipes(t, newServer("")), func(raw []byte) [][]byte {
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal(raw, &m)
		switch id := string(m.ID); {
		case id != "8" && id != "9":
			return [][]byte{raw}
		case held == nil:
			held = bytes.Clone(raw)
			return nil
		default:
			swap := strings.NewReplacer(`"id":8,`, `"id":9,`, `"id":9,`, `"id":8,`)
			return [][]byte{[]byte(swap.Replace(string(held))), []byte(swap.Replace(string(raw)))}
		}
	})
	got := play(t, planned(conversation, nil), patient(), cross) // both are in flight at the same time
	r := compared(t, first, got)
	if text := differences(r, diff.Behaviour); strings.Count(text, "\n") != 2 || strings.Count(text, "resources/read") != 2 {
		t.Errorf("%s", text)
	}
}

// TestErrorCode: a different error code is found.
func TestErrorCode(t *testing.T) {
	first := play(t, planned(conversation, nil), patient(), onPipes(t, newServer("")))
	other := rewritten(onPipes(t, newServer("")), func(raw []byte) [][]byte {
		return [][]byte{bytes.Replace(raw, []byte(`"code":-32602,"message":"unknown tool`), []byte(`"code":-32603,"message":"unknown tool`), 1)}
	})
	got := play(t, planned(first, nil), patient(), other)
	if text := differences(compared(t, first, got), diff.Behaviour); strings.Count(text, "\n") != 1 || !strings.Contains(text, "error.code") {
		t.Errorf("%s", text)
	}
}
