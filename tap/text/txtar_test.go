package text_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

func write(t testing.TB, h text.Head, frames []tap.Frame) string {
	t.Helper()
	var out bytes.Buffer
	b := bufio.NewWriter(&out)
	w := &text.TxtarWriter{W: b}
	if err := w.Begin(h); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Frame(f, f.Lane.String(), "+1s -- \x1b[2J"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// hostile are bytes that a careless format would lose.
var hostile = []string{
	"", "\n", "\r\n", "\r", "x", "{}\n", "{}\r\n", "{}\r", "{}", "{}\n\n", "\n\n", " {} \n", "a\rb\n", "a\u2028b\n", "\u202eabc\n",
	"👩\u200d🚀\n", "\x00\x1b[2J\x7f\u009b\n", "\xff\xfe\n", "\xf0\x9f\x8c", "\ufffd\n", "\\u0041\\\n", "\"\n", "-- x --\n", "-- x --\r\n",
	"-- x --", " -- x --\n", "-- \n", "# comment\n", "\t\n", "\"quoted\"\n", "event: message\ndata: {}\n\n", strings.Repeat("é…\u2028", 3000) + "\n",
}

// Everything that is written is read back: bytes, numbers, lanes and all peculiarities
// of a frame, whatever the bytes are.
func TestRoundTrip(t *testing.T) {
	h := text.Head{
		Header: tap.Header{ID: "00c0ffee", Label: "ho-\u202estile \"x\"\n", Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Transport: "http",
			Upstream: "http://localhost:1/mcp", Command: []string{"a b", "\x1b[2J", "<>&\u2028", ""}, Dir: "/with space ", Program: "mcptap test", Platform: "x/y"},
		Status: "cut", End: 90 * time.Minute,
	}
	var frames []tap.Frame
	for lane := range tap.Lanes {
		for i, raw := range hostile {
			f := tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Raw: []byte(raw), Size: int64(len(raw))}
			f.At = time.Duration(f.Seq) * 1234 * time.Microsecond
			f.Took, f.Truncated, f.Exchange = time.Duration(i%3)*time.Microsecond, i%5 == 4, uint64(i%4)
			f.Form = tap.Form(i % int(tap.Forms))
			frames = append(frames, f)
		}
	}
	// Missing numbers are still missing if the head lists them.
	for i := range frames[50:] {
		frames[50+i].Seq += 7
	}
	h.Gaps = []tap.Range{{From: 51, To: 53}, {From: 54, To: 57}}
	archive := write(t, h, frames)
	got, back, err := text.Parse([]byte(archive))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, h) {
		t.Errorf("head:\n%+v\nwant\n%+v", got, h)
	}
	if len(back) != len(frames) {
		t.Fatalf("%d frames, want %d", len(back), len(frames))
	}
	for i := range frames {
		back[i].Raw = append([]byte{}, back[i].Raw...)
		if !reflect.DeepEqual(back[i], frames[i]) {
			t.Errorf("frame %+v %q became %+v %q", frames[i], frames[i].Raw, back[i], back[i].Raw)
		}
	}
	if again := write(t, got, back); again != archive {
		t.Error("a second copy differs")
	}
}

// A text that was written by hand.
func TestByHand(t *testing.T) {
	h, frames, err := text.Parse([]byte(`# nothing but what is needed
label: by hand

-- to_server --
{"jsonrpc":"2.0",
 "id":1, "method":"ping"}

-- to_client any words at all +5ms --
{"jsonrpc":"2.0","id":1,"result":{}}

-- 10 to_server +6ms exchange=2 form=body --
{"a":"b  c"}
-- 20 stderr --
two words
-- life --
{"event":"eof"}`))
	if err != nil {
		t.Fatal(err)
	}
	if h.Header.Label != "by hand" || h.Status != "" || h.End != 0 {
		t.Errorf("%+v", h)
	}
	var got []string
	for _, f := range frames {
		got = append(got, fmt.Sprintf("%d %v %v %d %v %q", f.Seq, f.Lane, f.At, f.Exchange, f.Form, f.Raw))
	}
	want := []string{
		`1 to_server 0s 0 line "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"`,
		`2 to_client 5ms 0 line "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"`,
		`3 to_server 6ms 2 body "{\"a\":\"b  c\"}\n"`,
		`4 stderr 6ms 0 line "two words\n"`,
		`5 lifecycle 6ms 0 line "{\"event\":\"eof\"}"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestErrors(t *testing.T) {
	const frame = "-- to_server --\n{}\n"
	for _, c := range []struct{ text, want, hint string }{
		{"", "it is empty", ""},
		{"just words\n", "neither NDJSON nor a transcript", ""},
		{"label by hand\n" + frame, "line 1: \"label by hand\" is not `name: value`", ""},
		{"# x\nweight: 3\n" + frame, "line 2: weight: no such setting", ""},
		{"status: dead\n" + frame, "want ended or cut", ""},
		{"gap: 5\n" + frame, "want two frame numbers", ""},
		{"gap: 5-7\ngap: 7-9\n" + frame, "gaps must ascend", ""},
		{"label: \"\\ud800\"\n" + frame, "half a surrogate pair", ""},
		{"-- 1 --\n{}\n", "its name has no lane", ""},
		{"-- to_nobody --\n{}\n", "line 1: frame \"to_nobody\": unknown lane", ""},
		{"\n \n# x\nlabel: y\n\n" + frame + "\n-- to_nobody --\n{}\n", "line 9: frame \"to_nobody\": unknown lane", ""},
		{"\n# x\nweight: 3\n" + frame, "line 3: weight: no such setting", ""},
		{frame + "-- to_client --\n{\"id\":1,\n \"result\":{},\n}\n" + frame, "line 3: frame \"to_client\": invalid JSON at line 6, column 1: invalid character '}'", ""},
		{"-- to_client --\n{\"id\":1,,\n}\n", "invalid JSON at line 2, column 9: invalid character ','", ""},
		{"-- to_client --\n{\"id\":1,\n\"result\":{}\n\n" + frame, "invalid JSON at line 3, column 11: unexpected end", ""},
		{"-- 2 to_server --\n{}\n-- 2 to_server --\n{}\n", "its number must be above 2", ""},
		{"-- to_server +1ms sideways --\n{}\n", "unknown word \"sideways\" after the time", ""},
		{"-- to_server +1ms form=odd --\n{}\n", "unknown form", ""},
		{"-- to_server +1ms quoted --\nx\n", "not a JSON string", ""},
		{"-- to_server +1ms base64 --\n!\n", "illegal base64", ""},
		{"-- to_server +2ms --\n{}\n-- to_client +1ms --\n{}\n", "its time is before that of the frame before it, +2ms", "without a time"},
		{"-- to_server +1ms took=2ms --\n{}\n", "it took 2ms until +1ms", ""},
		{"-- to_server +1ms took=-1ms --\n{}\n", "it took -1ms", ""},
		{"-- 9223372036854775808 to_server --\n{}\n", "no recording has that many", ""},
		{"Dear diary: nothing\n", "neither NDJSON nor a transcript", ""},
		{"# nothing\n", "neither NDJSON nor a transcript", ""},
		{"-- to_server --\ntwo\nlines\n", "a frame is one line, or JSON", "quoted"},
	} {
		_, _, err := text.Parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
			continue
		}
		var wrong *text.Error
		if !errors.As(err, &wrong) && c.text != "" {
			t.Errorf("%q: %T", c.text, err)
		}
		if wrong != nil && !strings.Contains(wrong.Hint, c.hint) {
			t.Errorf("%q: hint %q, want %q", c.text, wrong.Hint, c.hint)
		}
	}
}

// A recording in which nothing crossed is read back.
func TestEmpty(t *testing.T) {
	archive := write(t, text.Head{Header: tap.Header{ID: "00c0ffee", Transport: "stdio"}, Status: "ended"}, nil)
	h, frames, err := text.Parse([]byte(archive))
	if err != nil || len(frames) != 0 || h.Header.ID != "00c0ffee" || h.Status != "ended" {
		t.Errorf("%+v, %d frames, %v", h, len(frames), err)
	}
}

// Whatever a file holds, what is read from it can be written and read back.
func FuzzParse(f *testing.F) {
	f.Add([]byte("gap: 2-3\n-- 0001 to_server +1ms quoted --\n\"x\"\n-- 5 life --\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, frames, err := text.Parse(bytes.Clone(data))
		if err != nil {
			return
		}
		h.Gaps = nil // numbers that it left out moved up
		again, back, err := text.Parse([]byte(write(t, h, frames)))
		if err != nil {
			t.Fatal(err)
		}
		if len(back) != len(frames) || again.Header.ID != h.Header.ID {
			t.Fatalf("%d frames became %d", len(frames), len(back))
		}
		for i := range frames {
			if !bytes.Equal(back[i].Raw, frames[i].Raw) || back[i].Lane != frames[i].Lane {
				t.Fatalf("%+v became %+v", frames[i], back[i])
			}
		}
	})
}
