package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// busy returns the frames of a call that hangs, and of consecutive calls with a response. Every hundredth
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

// A list that starts later still shows the requests of responses, from before its start.
func TestSinceShowsRequestsBefore(t *testing.T) {
	frames := busy(30_000)
	path := record(t, frames)
	all := showLines(t, path)
	for _, from := range []int{1, 2, 500, 20_000, 60_001, 74_980} {
		got := showLines(t, path, "--since", fmt.Sprintf("#%d", from), "--until", fmt.Sprintf("#%d", from+20))
		for i, line := range all[from : from+21] {
			if got[i+1] != line {
				t.Fatalf("from %d:\n%s\nwant\n%s", from, got[i+1], line)
			}
		}
	}
	frames = append(frames, tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":"hung","result":{}}` + "\n")})
	last := showLines(t, record(t, frames), "--since", fmt.Sprintf("#%d", len(frames)))
	if !strings.Contains(last[1], "#1 ") || !strings.Contains(last[1], "hang → {}  tools/call") {
		t.Errorf("%s", last[1])
	}
}

// showLines returns the lines that show prints.
func showLines(t *testing.T, path string, args ...string) []string {
	t.Helper()
	a, out := testApp(nil)
	if code := a.run(append([]string{"show", path}, args...)); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, out)
	}
	return strings.Split(out.String(), "\n")
}

// Calls are searched in all of their messages, even old or large ones.
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
		lines := showLines(t, path, "--calls", query)
		if !strings.Contains(lines[1], want) || !strings.Contains(strings.Join(lines, "\n"), "\n1 of 302 calls") {
			t.Errorf("%s:\n%s", query, strings.Join(lines, "\n"))
		}
	}
}
