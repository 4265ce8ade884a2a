package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

const sessions = "../testdata/sessions"

// corpus returns the transcripts of the corpus whose names contain part.
func corpus(t testing.TB, part string) map[string][]tap.Frame {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(sessions, "*.txtar"))
	if err != nil || len(names) < 100 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	all := map[string][]tap.Frame{}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".txtar")
		if !strings.Contains(base, part) {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, frames, err := text.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[base] = frames
	}
	return all
}

// A reader adds the frames of a recording to a Session.
type reader struct {
	*Session
	tracker session.Tracker
}

func (r *reader) add(f *tap.Frame, marked bool) {
	e := r.tracker.Add(f)
	r.Add(e, marked)
	for _, c := range e.Ended {
		r.Over(c)
	}
}

func (r *reader) end() *Session {
	for _, c := range r.tracker.Open() {
		r.Over(c)
	}
	r.End()
	return r.Session
}

// recorded returns a session built from frames.
func recorded(name string, frames []tap.Frame) *Session {
	at := map[uint64]int{}
	s := reader{Session: NewSession(name, func(seq uint64) (tap.Frame, error) { return frames[at[seq]], nil })}
	for i := range frames {
		at[frames[i].Seq] = i
		s.add(&frames[i], false)
	}
	return s.end()
}

// reportLines lists the differences of a report, one per line.
func reportLines(r *Report) string {
	var b strings.Builder
	for i := range r.Differences {
		d := &r.Differences[i]
		b.WriteString(strings.Join(strings.Fields(strings.Join([]string{
			d.Class.String(), d.Kind.String(), d.In.String(), d.Method, d.Subject, d.Message, d.Path, d.What,
		}, " ")), " ") + "\n")
	}
	return b.String()
}

func compare(t testing.TB, a, b []tap.Frame, opt Options) *Report {
	t.Helper()
	r, err := Compare(recorded("a", a), recorded("b", b), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEachSessionIsTheSameAsItself(t *testing.T) {
	for name, frames := range corpus(t, "") {
		r := compare(t, frames, frames, Options{})
		if len(r.Differences) > 0 {
			t.Errorf("%s:\n%s", name, reportLines(r))
		}
		if r.Same != r.Calls || !strings.HasPrefix(r.Summary, "No differences") {
			t.Errorf("%s: %d of %d calls are the same: %s", name, r.Same, r.Calls, r.Summary)
		}
	}
}

// Messages that a resumed stream repeats are not counted twice: the time that the client took for
// the server request is subtracted from the call once.
func TestReplaysAreIgnored(t *testing.T) {
	data, err := os.ReadFile("../testdata/http/resumed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, frames, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, u := range recorded("resumed", frames).calls {
		if calls = append(calls, u.method); u.name == "slow" && (u.own != 10*time.Millisecond || len(u.asked) != 1) {
			t.Errorf("%s took %v itself and has %d nested calls, want 10ms and 1", u.name, u.own, len(u.asked))
		}
	}
	if want := "[tools/call ping ping ping]"; fmt.Sprint(calls) != want {
		t.Errorf("calls %v, want %v", calls, want)
	}
	var once []tap.Frame
	tracker := new(session.Tracker)
	for i := range frames {
		if e := tracker.Add(&frames[i]); len(e.Parts) == 0 || e.Parts[0].Role != session.RoleReplay {
			once = append(once, frames[i])
		}
	}
	if len(once) == len(frames) {
		t.Error("the recording repeats nothing")
	}
	if r := compare(t, frames, once, Options{}); len(r.Differences) > 0 {
		t.Errorf("against a session that repeats nothing:\n%s", reportLines(r))
	}
}
