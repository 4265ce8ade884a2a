package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// hostile are byte sequences that a careless format would lose.
var hostile = []string{
	"", "\n", "\r\n", "\r", "x", "{}\n", "{}\r\n", "{}\r", "{}", "{}\n\n", "\n\n", " {} \n",
	"a\rb\n", "a\u2028b\u2029\n", "<script>&amp;</script>\n", "\u202eabc\u2066\n", "\u200b\u200d\ufeff\n", "👩‍🚀\n",
	"\x00\x01\x1b[2J\x7f\u0085\u009b\n", "\xff\xfe\n", "\xf0\x9f\x8c", "\xed\xa0\x80\n", "\ufffd\n", "\\u0041\\\n", "\"\n", "\\\n",
	"-- x --\n", "-- x --\r\n", "-- x --", "--  --\n", "-- x -- \n", " -- x --\n", "-- \n", "# comment\n", "\t\n", "   \n", "\"quoted\"\n",
	`{"jsonrpc":"2.0","id":1,"method":"+5ms open"}` + "\n", `{"jsonrpc":"2.0","id":2,"method":"a -- b --\n-- c --"}` + "\n",
	strings.Repeat("é…\u2028", 3000) + "\n",
}

// hostileRecording has every hostile frame on every lane, with gaps and truncated frames in between.
func hostileRecording(t *testing.T) string {
	t.Helper()
	h := tap.Header{ID: "00c0ffee", Label: "ho-\u202estile \"x\"\n", Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Transport: "stdio",
		Command: []string{"a b", "\x1b[2J", "<>&\u2028", ""}, Dir: "/with space ", Program: "mcptap test"}
	path := filepath.Join(t.TempDir(), "hostile"+store.Ext)
	w, err := store.NewWriter(path, h)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	frames := append([]string{}, hostile...)
	big := make([]byte, 3<<20) // above the limit below: goes through WriteRaw
	for i := range big {
		big[i] = byte(rng.Uint32())
	}
	frames = append(frames, string(big), strings.Repeat("\u2028\U000e0041\\\"é", 200_000)+"\n")
	for range 200 {
		b := make([]byte, rng.IntN(20))
		for i := range b {
			b[i] = "\r\n\\\"-- {}\x1b\xffé\u2028"[rng.IntN(16)]
		}
		frames = append(frames, string(b))
	}
	f := tap.Frame{}
	for i, raw := range frames {
		f.Seq++
		if i%37 == 36 {
			f.Seq += uint64(i)
		}
		f.At += time.Duration(rng.IntN(3)) * 1234567
		f.Took = f.At / time.Duration(1+rng.IntN(5)) * time.Duration(i%2)
		f.Lane, f.Exchange, f.Truncated = tap.Lane(i%int(tap.Lanes)), uint64(i%3), i%11 == 10
		f.Raw, f.Size = []byte(raw), int64(len(raw))
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: f.At + 5, Cut: true}); err != nil {
		t.Fatal(err)
	}
	return path
}

func export(t *testing.T, path, format string) []byte {
	t.Helper()
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rec.SetMaxRaw(1 << 20)
	var out bytes.Buffer
	if err := recording.Export(context.Background(), &out, format, rec, programVersion()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNDJSONRoundTrip(t *testing.T) {
	text := export(t, hostileRecording(t), "ndjson")
	for line := range strings.Lines(string(text)) {
		if !safe.Clean(strings.TrimSuffix(line, "\n")) {
			t.Errorf("a line is not safe for a terminal: %.200q", line)
		}
	}
	again := export(t, importFrom(t, bytes.NewReader(text)), "ndjson")
	if !bytes.Equal(again, text) {
		t.Error("export of the import differs:\n" + firstDifference(again, text))
	}
}

func TestTranscriptRoundTrip(t *testing.T) {
	path := hostileRecording(t)
	text := export(t, path, "txtar")
	back := importFrom(t, bytes.NewReader(text))
	if again := export(t, back, "txtar"); !bytes.Equal(again, text) {
		t.Error("export of the import differs:\n" + firstDifference(again, text))
	}
	// The bytes are exact, and everything but the times.
	a, b := framesOf(t, path), framesOf(t, back)
	if len(a) != len(b) {
		t.Fatalf("%d frames became %d", len(a), len(b))
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.Seq != y.Seq || x.Lane != y.Lane || x.Exchange != y.Exchange || x.Truncated != y.Truncated || !bytes.Equal(x.Raw, y.Raw) {
			t.Errorf("frame %d: %+v became %+v", i, x, y)
		}
		if d := (x.At - y.At).Abs(); d > time.Microsecond {
			t.Errorf("frame %d moved by %v", i, d)
		}
	}
}

func framesOf(t *testing.T, path string) (all []tap.Frame) {
	t.Helper()
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range rec.Frames(0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return "got  " + x[i][:min(len(x[i]), 300)] + "\nwant " + y[i][:min(len(y[i]), 300)]
		}
	}
	return "one is longer"
}

// A handwritten transcript is accepted.
func TestTranscriptByHand(t *testing.T) {
	path := importFrom(t, strings.NewReader(`# nothing but what is needed
-- to_server --
{"jsonrpc":"2.0",
 "id":1, "method":"ping"}

-- to_client any words at all +5ms --
{"jsonrpc":"2.0","id":1,"result":{}}

-- 10 to_server +6ms --
{"a":"b  c"}
-- 20 stderr --
two words`))
	want := []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")},
		{Seq: 2, Lane: tap.ToClient, At: 5 * time.Millisecond, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")},
		{Seq: 3, Lane: tap.ToServer, At: 6 * time.Millisecond, Raw: []byte(`{"a":"b  c"}` + "\n")},
		{Seq: 4, Lane: tap.Stderr, At: 6 * time.Millisecond, Raw: []byte("two words\n")},
	}
	got := framesOf(t, path)
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Seq != want[i].Seq || got[i].At != want[i].At || got[i].Lane != want[i].Lane || string(got[i].Raw) != string(want[i].Raw) {
			t.Errorf("%d: %+v %q, want %+v %q", i, got[i], got[i].Raw, want[i], want[i].Raw)
		}
	}
}

// Reading any file terminates.
func FuzzImport(f *testing.F) {
	f.Add([]byte("-- 0001 to_server +1ms quoted --\n\"x\"\n"))
	f.Add([]byte(`{"v":1,"type":"recording","id":"00000000"}` + "\n" + `{"v":1,"type":"frame","seq":1,"at_ns":0,"lane":"life","raw":"x"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := text.NewReader(bytes.NewReader(data))
		for err == nil {
			_, err = r.Next()
		}
	})
}
