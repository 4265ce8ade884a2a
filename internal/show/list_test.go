package show

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/view"
)

// busy returns the frames of a call that hangs and of consecutive calls with a response. Every hundredth
// fails.
func busy(calls int) (frames []tap.Frame) {
	put := func(lane tap.Lane, text string, args ...any) {
		frames = append(frames, tap.Frame{Lane: lane, Raw: fmt.Appendf(nil, text+"\n", args...)})
	}
	put(tap.ToServer, `{"jsonrpc":"2.0","id":"hung","method":"tools/call","params":{"name":"hang"}}`)
	for i := range calls {
		put(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":%d}}}`, i, i)
		if i%2 == 0 {
			put(tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, i, i)
		}
		put(tap.ToClient, `{"jsonrpc":"2.0","id":%d,"result":{"isError":%v,"content":[{"type":"text","text":"number %d"}]}}`, i, i%100 == 0, i)
	}
	return frames
}

// record writes a recording of frames, numbering and timing them.
func record(t testing.TB, frames []tap.Frame) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made"+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "00c0ffee", Label: "made", Start: time.Unix(1e9, 0).UTC(), Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		f.Seq, f.At, f.Size = uint64(i+1), max(f.At, time.Duration(i)*time.Millisecond), int64(len(f.Raw))
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: time.Hour}); err != nil {
		t.Fatal(err)
	}
	return path
}

// on sets the options that do not affect what is listed.
func (o *Options) on(out io.Writer) *Options {
	o.Out, o.Zone, o.Now, o.Say = out, time.UTC, time.Now, func(string) {}
	o.Printer = func(w io.Writer) *term.Printer { return &term.Printer{W: w} }
	return o
}

// firstLine returns how many frames a listing reads before its first line.
func firstLine(t *testing.T, o *Options, query string, frames []tap.Frame) int {
	t.Helper()
	rec, err := store.Open(record(t, frames[:1]))
	if err != nil {
		t.Fatal(err)
	}
	info, err := rec.Info()
	if err != nil {
		t.Fatal(err)
	}
	var sel view.Selection
	if query != "" {
		if sel.Filter, err = filter.Parse(query); err != nil {
			t.Fatal(err)
		}
	}
	out := new(strings.Builder)
	l, err := newLister(t.Context(), o.on(out), rec, info, sel, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		f := frames[i]
		f.Seq, f.At, f.Size = uint64(i+1), time.Duration(i)*time.Millisecond, int64(len(f.Raw))
		if _, err := l.frame(&f); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines > 1 || lines == 1 && o.JSON {
			return i + 1
		}
	}
	return len(frames) + 1
}

// The first line is printed early, even if a call hangs or matches are rare.
func TestFirstLineComesAtOnce(t *testing.T) {
	frames := busy(20_000)
	for _, c := range []struct {
		o     Options
		query string
		most  int
	}{
		{Options{}, "", 1},
		{Options{}, "tool:echo", 2},
		{Options{}, "is:error", 4},
		{Options{Calls: true}, "", 1000},
		{Options{Tree: true}, "", 1000},
		{Options{Calls: true, JSON: true}, "", 1000},
		{Options{Calls: true}, "is:error", 1000},
		{Options{Calls: true}, "number -hung", 1000},
		{Options{Calls: true, Diff: true}, "", 1000},
	} {
		if n := firstLine(t, &c.o, c.query, frames); n > c.most {
			t.Errorf("%+v %s: %d frames were read before the first line, want %d at most", c.o, c.query, n, c.most)
		}
	}
}

// With --follow, calls that ended before are printed as the recording is read, and later calls when they end.
func TestFollowedCallsAreNotHeldBack(t *testing.T) {
	frames := busy(5)
	rec, err := store.Open(record(t, frames[:1]))
	if err != nil {
		t.Fatal(err)
	}
	out := new(strings.Builder)
	info := store.Info{Frames: uint64(len(frames) - 3)} // without the last call
	l, err := newLister(t.Context(), (&Options{Calls: true, Follow: true}).on(out), rec, info, view.Selection{}, "")
	if err != nil {
		t.Fatal(err)
	}
	var shown []int
	for i, f := range frames {
		f.Seq, f.At, f.Size = uint64(i+1), time.Duration(i), int64(len(f.Raw))
		if _, err := l.frame(&f); err != nil {
			t.Fatal(err)
		}
		shown = append(shown, strings.Count(out.String(), "  echo "))
	}
	backlog := int(info.Frames)
	if shown[backlog-2] != 0 || shown[backlog-1] != 4 || shown[len(shown)-1] != 5 || strings.Contains(out.String(), "hang") {
		t.Errorf("calls shown after each frame: %v\n%s", shown, out)
	}
}
