package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
)

// Memory is bounded by the open calls.
func TestListingHoldsWhatIsOpen(t *testing.T) {
	l := NewListing(Selection{Ranges: []tap.Range{{From: 1, To: 1 << 40}}, Span: Whole}, Options{Calls: true, Stderr: true})
	calls, seq, most := 0, uint64(0), 0
	add := func(lane tap.Lane, text string, args ...any) {
		raw := fmt.Appendf(nil, text+"\n", args...)
		seq++
		items, _ := l.Add(&tap.Frame{Seq: seq, At: time.Duration(seq), Lane: lane, Raw: raw, Size: int64(len(raw))})
		calls += len(items)
		most = max(most, len(l.named)+len(l.open)+len(l.stderr.rows)+len(l.exchanges))
	}
	add(tap.ToServer, `{"jsonrpc":"2.0","id":"hung","method":"tools/call","params":{"name":"hang"}}`)
	for i := range 20_000 {
		add(tap.ToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":%d}}}`, i, i)
		add(tap.ToClient, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, i, i)
		add(tap.Stderr, "log")
		add(tap.ToClient, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i)
	}
	if calls += len(l.End(0)); calls != 20_001 || most > 1000 {
		t.Errorf("%d calls, %d entries were held", calls, most)
	}
}

// The last lines of stderr in a summary are not empty.
func TestSummaryOfStderr(t *testing.T) {
	f, err := filter.Parse("is:pending")
	if err != nil {
		t.Fatal(err)
	}
	l := NewListing(Selection{Filter: f, Span: Whole}, Options{})
	for i, text := range []string{"first\n", "Traceback", "\n", "  KeyError\n", "\r\n"} {
		l.Add(&tap.Frame{Seq: uint64(i + 1), Lane: tap.Stderr, Raw: []byte(text), Size: int64(len(text))})
	}
	var lines []string
	for _, r := range l.Summary().Stderr {
		lines = append(lines, r.About)
	}
	if !slices.Equal(lines, []string{"first", "Traceback", "  KeyError"}) {
		t.Errorf("%q", lines)
	}
}

// The summary has the line that names the error, also if many lines follow it.
func TestSummaryOfErrorReport(t *testing.T) {
	pending, err := filter.Parse("is:pending")
	if err != nil {
		t.Fatal(err)
	}
	const s = time.Second
	stack := []string{"TypeError: no module", "at a", "at b", "at c", "at d {", "code: 1", "}", "Node.js"}
	long := []string{"panic: boom", "goroutine 1 [running]:", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "exit status 2"}
	for name, x := range map[string]struct {
		sel   Selection
		opt   Options
		exit  string
		lines []string
		want  []string
	}{
		"a filter":       {Selection{Filter: pending}, Options{}, "", stack, stack},
		"a failure":      {Selection{}, Options{Calls: true}, `"code":1`, stack, stack},
		"no failure":     {Selection{}, Options{Calls: true}, `"code":0`, stack, nil},
		"listed already": {Selection{}, Options{Calls: true, Stderr: true}, `"code":1`, stack, nil},
		"frames":         {Selection{}, Options{}, `"code":1`, stack, nil},
		"many lines":     {Selection{Filter: pending}, Options{}, "", long, slices.Concat(long[:1], []string{"…"}, long[4:])},
		"no error":       {Selection{Filter: pending}, Options{}, "", long[2:], long[9:]},
	} {
		x.sel.Span = Whole
		l := NewListing(x.sel, x.opt)
		add := func(at time.Duration, lane tap.Lane, text string) {
			l.Add(&tap.Frame{Seq: l.sum.Frames + 1, At: at, Lane: lane, Raw: []byte(text), Size: int64(len(text))})
		}
		for range 10 {
			add(s, tap.Stderr, "Error: long before")
		}
		add(10*s, tap.Stderr, "  throw new Error(text)")
		for _, text := range x.lines {
			add(10*s, tap.Stderr, text)
		}
		add(11*s, tap.Lifecycle, `{"event":"exit",`+x.exit+`}`)
		var got []string
		for _, r := range l.Summary().Stderr {
			got = append(got, r.About)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}
