package redact

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// ties describes the role and the call of each message of a recording.
func ties(frames []tap.Frame) string {
	tracker := session.Tracker{}
	s := ""
	for i := range frames {
		e := tracker.Add(&frames[i])
		for _, p := range e.Parts {
			s += fmt.Sprintln(e.Session, p.Message, p.Kind, p.Role, p.Method, p.Call, p.Parent, p.Request, p.Guess)
		}
	}
	return s
}

// In redacted recordings, messages are paired and assigned to sessions as before,
// whatever the user declares secret outside the envelope.
func TestRecordedSessionsKeepTheirShape(t *testing.T) {
	names, err := filepath.Glob("../testdata/sessions/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	var rules []Rule
	for _, text := range []string{"path:$.params.arguments", "path:$.result.content", "path:$.result.structuredContent", "key:clientInfo"} {
		rule, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	plain, strict := New(testOptions()), New(Options{Key: []byte("key"), Rules: rules})
	changed := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, frames, err := text.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		want := ties(frames)
		for _, r := range []*Redactor{plain, strict} {
			out := make([]tap.Frame, len(frames))
			for i, f := range frames {
				out[i] = f
				out[i].Raw = r.Frame(&f)
				out[i].Size = int64(len(out[i].Raw))
				if json.Valid(f.Raw) != json.Valid(out[i].Raw) {
					t.Errorf("%s, frame %d: %s", name, f.Seq, out[i].Raw)
				}
				if string(out[i].Raw) != string(f.Raw) && r == strict {
					changed++
				} else if string(out[i].Raw) != string(f.Raw) && !strings.Contains(string(f.Raw), ".sig=") { // a signature in a requestState
					t.Errorf("%s has no secret:\n%s\nbecame\n%s", name, f.Raw, out[i].Raw)
				}
			}
			if got := ties(out); got != want {
				t.Errorf("%s: it was\n%s\nand became\n%s", name, want, got)
			}
		}
	}
	if changed < 100 {
		t.Errorf("only %d frames were changed", changed)
	}
}
