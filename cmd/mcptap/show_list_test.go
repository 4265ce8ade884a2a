package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/view"
)

// busy makes the frames of a call that hangs and of calls with a response, one after the
// other. Every hundredth fails.
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

// firstLine returns how many frames a listing reads before its first line.
func firstLine(t *testing.T, o *showOptions, query string, frames []tap.Frame) int {
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
	a, out := testApp(nil)
	l, err := newLister(context.Background(), a, o, rec, info, sel, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		f := frames[i]
		f.Seq, f.At, f.Size = uint64(i+1), time.Duration(i)*time.Millisecond, int64(len(f.Raw))
		if _, err := l.frame(&f); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines > 1 || lines == 1 && o.json {
			return i + 1
		}
	}
	return len(frames) + 1
}

// The first line is printed early, also if a call hangs or matches are rare.
func TestFirstLineComesAtOnce(t *testing.T) {
	frames := busy(20_000)
	for _, c := range []struct {
		o     showOptions
		query string
		most  int
	}{
		{showOptions{}, "", 1},
		{showOptions{}, "tool:echo", 2},
		{showOptions{}, "is:error", 4},
		{showOptions{calls: true}, "", 1000},
		{showOptions{tree: true}, "", 1000},
		{showOptions{calls: true, json: true}, "", 1000},
		{showOptions{calls: true}, "is:error", 1000},
		{showOptions{calls: true}, "number -hung", 1000},
		{showOptions{calls: true, diff: true}, "", 1000},
	} {
		if n := firstLine(t, &c.o, c.query, frames); n > c.most {
			t.Errorf("%+v %s: %d frames were read before the first line, want %d at most", c.o, c.query, n, c.most)
		}
	}
}

// A list that begins later shows the requests of responses from before.
func TestSinceShowsRequestsBefore(t *testing.T) {
	frames := busy(30_000)
	path := record(t, frames)
	all := show(t, path)
	for _, from := range []int{1, 2, 500, 20_000, 60_001, 74_980} {
		o := &showOptions{since: fmt.Sprintf("#%d", from), until: fmt.Sprintf("#%d", from+20)}
		got := show(t, path, "--since", o.since, "--until", o.until)
		for i, line := range all[from : from+21] {
			if got[i+1] != line {
				t.Fatalf("from %d:\n%s\nwant\n%s", from, got[i+1], line)
			}
		}
	}
	frames = append(frames, tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":"hung","result":{}}` + "\n")})
	last := show(t, record(t, frames), "--since", fmt.Sprintf("#%d", len(frames)))
	if !strings.Contains(last[1], "#1 ") || !strings.Contains(last[1], "hang → {}  tools/call") {
		t.Errorf("%s", last[1])
	}
}

// show returns the lines that it prints.
func show(t *testing.T, path string, args ...string) []string {
	t.Helper()
	a, out := testApp(nil)
	if code := a.run(append([]string{"show", path}, args...)); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, out)
	}
	return strings.Split(out.String(), "\n")
}

// Calls are searched in all of their messages, also when those came long ago or
// are large.
func TestCallsAreSearched(t *testing.T) {
	frames := busy(300)
	frames[0].Raw = []byte(`{"jsonrpc":"2.0","id":"hung","method":"tools/call","params":{"name":"hang","x":"needle in a haystack"}}` + "\n")
	large := `{"jsonrpc":"2.0","id":"large","result":{"x":"` + strings.Repeat("hay ", (1<<20)/4) + `pin"}}` + "\n"
	frames = append(frames,
		tap.Frame{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{"name":"large"}}` + "\n")},
		tap.Frame{Lane: tap.ToClient, Raw: []byte(large)},
		tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":"hung","result":{"x":"thread"}}` + "\n")})
	path := record(t, frames)
	for query, want := range map[string]string{
		`needle thread`: " hang → ", `pin`: " large → ", `"number 299"`: " echo → ",
	} {
		lines := show(t, path, "--calls", query)
		if !strings.Contains(lines[1], want) || !strings.Contains(strings.Join(lines, "\n"), "\n1 of 302 calls") {
			t.Errorf("%s:\n%s", query, strings.Join(lines, "\n"))
		}
	}
}

// With --follow, calls that ended before are printed when the recording is read, and later
// calls when they end.
func TestFollowedCallsAreNotHeldBack(t *testing.T) {
	frames := busy(5)
	rec, err := store.Open(record(t, frames[:1]))
	if err != nil {
		t.Fatal(err)
	}
	a, out := testApp(nil)
	info := store.Info{Frames: uint64(len(frames) - 3)} // without the last call
	l, err := newLister(context.Background(), a, &showOptions{calls: true, follow: true}, rec, info, view.Selection{}, "")
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
