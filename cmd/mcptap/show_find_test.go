package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

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

// tangle returns frames with all kinds of id conflicts: in use twice, with two responses or none, in
// batches, spelled differently, on both sides, in large frames.
func tangle(rng *rand.Rand, n int) (frames []tap.Frame) {
	ids := []string{`1`, `1`, `1.0`, `1e0`, `10e-1`, `"1"`, `2`, `2`, `-3`, `-3.0`, `-0`, `0`, `"a"`, `"\u0061"`, `"b\n"`, `"\ud800"`, "\"\xff\"",
		`null`, `true`, `{"id":1}`, `9007199254740993`, `9007199254740992`, `"` + strings.Repeat("long", 2000) + `"`}
	names := []string{`"id":`, `"id":`, `"id":`, `"id" : `, "\"id\"\t:\r ", `"\u0069d":`, `"i\u0064":`, `"x":{"id":1},"id":`, `"id":7,"id":`}
	message := func() string {
		id := names[rng.IntN(len(names))] + ids[rng.IntN(len(ids))]
		switch rng.IntN(10) {
		case 0:
			return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"id":1}}`
		case 1:
			return `{"jsonrpc":"2.0",` + id + `,"error":{"code":-1,"message":"no"}}`
		case 2:
			return `{"jsonrpc":"2.0","result":{}}`
		case 3:
			return `{"jsonrpc":"2.0",` + id + `,"result":`
		case 4, 5, 6:
			return `{"jsonrpc":"2.0",` + id + fmt.Sprintf(`,"method":"tools/call","params":{"name":"tool %d"}}`, rng.IntN(1000))
		}
		return `{` + id + `,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"{\"id\":1}"}]}}`
	}
	for range n {
		f := tap.Frame{Lane: tap.ToServer + tap.Lane(rng.IntN(2))}
		switch rng.IntN(20) {
		case 0:
			var all []string
			for range 1 + rng.IntN(6) {
				all = append(all, message())
			}
			f.Raw = []byte("[" + strings.Join(all, ",") + "]\n")
		case 1:
			f.Lane, f.Raw = tap.Stderr, []byte(message()+"\n")
		case 2:
			f.Lane, f.Raw = tap.Lifecycle, tap.Event{Name: tap.EventSignal, Signal: "SIGHUP"}.Encode()
		default:
			f.Raw = []byte(message() + "\n")
		}
		frames = append(frames, f)
	}
	large := `{"jsonrpc":"2.0","params":{"x":"` + strings.Repeat("x", (1<<20)) + `"},"method":"large","id":1}` + "\n"
	frames[n/2] = tap.Frame{Lane: tap.ToServer, Raw: []byte(large)}
	// More responses than are remembered, and then repeated ones.
	for i := range session.MaxPast + 2 {
		for k, what := range []string{`"method":"ping"`, `"result":{}`} {
			frames = append(frames, tap.Frame{Lane: tap.ToServer + tap.Lane(k), Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"f%d",%s}`, i, what)})
		}
	}
	for _, id := range []string{"f0", "f1", "f2", "f1000"} {
		frames = append(frames, tap.Frame{Lane: tap.ToClient, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":{}}`, id)})
	}
	return frames
}

// A single frame is paired as in a list, which reads the whole recording.
func TestFindOneFindsWhatTheListDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rec, err := store.Open(record(t, tangle(rng, 600)))
	if err != nil {
		t.Fatal(err)
	}
	var rows []view.Row
	var frames []tap.Frame
	responses := map[uint64]map[int]session.Part{}
	kinds := map[string]int{}
	var tracker session.Tracker
	for f, err := range rec.Frames(0) {
		if err != nil {
			t.Fatal(err)
		}
		r := view.NewRow(tracker.Add(&f))
		r.Messages = slices.Clone(r.Messages)
		rows, frames = append(rows, r), append(frames, f)
		for _, p := range r.Messages {
			switch {
			case p.Role == session.RoleRepeat || p.Role == session.RoleOrphan:
				kinds[p.Role.String()]++
			case p.Clash != (session.Ref{}):
				kinds["clash"]++
			case p.Kind == jsonrpc.Request:
				kinds["request"]++
			case p.Request != (session.Ref{}):
				kinds["response"]++
				if responses[p.Request.Seq] == nil {
					responses[p.Request.Seq] = map[int]session.Part{}
				}
				responses[p.Request.Seq][p.Request.Index] = p
			}
		}
	}
	for _, k := range []string{"request", "clash", "response", "repeat", "orphan"} {
		if kinds[k] < 4 {
			t.Errorf("only %d of kind %v: the test is too weak", kinds[k], k)
		}
	}
	each := 1
	if longtest.Sampled(t) {
		each = 6
	}
	for i, want := range rows {
		if i%each != 0 {
			continue
		}
		if i > 700 && i < len(rows)-10 && i%100 != 0 {
			continue // these are all equal
		}
		got, err := listing.FindOne(context.Background(), rec, uint64(i+1), false)
		if err != nil {
			t.Fatal(err)
		}
		if got.Row.Messages == nil {
			want.Messages = nil // if read alone, the calls of its notifications are unknown
		}
		if !reflect.DeepEqual(got.Row, want) {
			t.Errorf("frame %d %.200s:\n%+v, want\n%+v", i+1, frames[i].Raw, got.Row.Messages, want.Messages)
		}
		if want := responses[uint64(i+1)]; len(want)+len(got.Responses) > 0 && !reflect.DeepEqual(got.Responses, want) {
			t.Errorf("frame %d %.200s: responses %+v, want %+v", i+1, frames[i].Raw, got.Responses, want)
		}
	}
}

// A frame that pairs with nothing is shown even if the rest of the recording is damaged.
func TestFindOneReadsNoMoreThanItNeeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var frames []tap.Frame
	for range 100 { // several segments
		noise := make([]byte, 50_000)
		for i := range noise {
			noise[i] = "0123456789abcdef"[rng.IntN(16)]
		}
		frames = append(frames, tap.Frame{Lane: tap.Stderr, Raw: append(noise, '\n')})
	}
	frames = append(frames,
		tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/message"}` + "\n")},
		tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")})
	path := record(t, frames)
	breakSegment(t, path, func(kind byte, first uint64) bool { return kind == 0 && first == 1 })
	for number, code := range map[int]int{101: 0, 50: 0, 102: exitFailure, 1: exitFailure} {
		a, out := testApp(nil)
		if got := a.run([]string{"show", path, fmt.Sprint(number)}); got != code {
			t.Errorf("frame %d: exit %d, want %d: %.300s", number, got, code, out)
		}
	}
}

// breakSegment changes a byte of each matching segment. kind is 0 for frames, and 1 for a part of a
// large frame.
func breakSegment(t *testing.T, path string, wanted func(kind byte, first uint64) bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("mtapseg1"))
		if i < 0 {
			break
		}
		at += i
		first := uint64(0)
		for k := range 8 {
			first |= uint64(b[at+16+k]) << (8 * k)
		}
		if wanted(b[at+13], first) {
			b[at+60] ^= 1
			n++
		}
		at += 48
	}
	if n == 0 {
		t.Fatal("no such segment")
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkShowOne(b *testing.B) {
	var frames []tap.Frame
	for i := range 50_000 {
		frames = append(frames,
			tap.Frame{Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo"}}}`+"\n", i)},
			tap.Frame{Lane: tap.ToClient, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"rain and more words"}]}}`+"\n", i)})
	}
	frames = append(frames, tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/message"}` + "\n")})
	rec, err := store.Open(record(b, frames))
	if err != nil {
		b.Fatal(err)
	}
	for name, number := range map[string]uint64{"response": 100_000, "notification": 100_001} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := listing.FindOne(context.Background(), rec, number, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A call whose arguments changed is compared with the previous call of its tool.
func TestShowDiffOfOtherArguments(t *testing.T) {
	var frames []tap.Frame
	for i, city := range []string{"Oslo", "Rome", "Oslo"} {
		frames = append(frames,
			tap.Frame{Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"forecast","arguments":{"city":%q}}}`+"\n", i, city)},
			tap.Frame{Lane: tap.ToClient, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":%d}}`+"\n", i, i)})
	}
	path := record(t, frames)
	for number, want := range map[string]string{
		"3": "compared with #1, the previous tools/call forecast; arguments differ: $.params.arguments.city \"Oslo\" → \"Rome\"\n≠ changed from #2:\n~ $.result.content: 0 → 1\n",
		"5": "≠ changed from #2:\n~ $.result.content: 0 → 2\n", // the last call with equal arguments
	} {
		a, out := testApp(nil)
		if code := a.run([]string{"show", path, number, "--diff"}); code != 0 || !strings.HasSuffix(out.String(), want) || strings.Count(out.String(), "compared") != strings.Count(want, "compared") {
			t.Errorf("#%s: exit %d: %s", number, code, out)
		}
	}
}
