package text_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// A format is chosen by the first character that is not white space.
func TestNewReader(t *testing.T) {
	line := `{"v":1,"type":"recording","id":"00c0ffee"}`
	for in, want := range map[string]string{
		"\r\n\t " + line:                   "*text.ndjsonReader 00c0ffee",
		"id: 00c0ffee\n-- life --\n{}\n":   "*text.txtarReader 00c0ffee",
		"\ufeff\n" + line:                  "*text.ndjsonReader 00c0ffee", // as Windows begins a text
		"":                                 "it is empty",
		" \r\n\t":                          "it is empty",
		"Dear diary,\n":                    "neither NDJSON nor a transcript",
		"-- life --\n\x00":                 "neither NDJSON nor a transcript",
		"weight: 3\n-- life --\n{}\n":      "line 1: weight: no such setting",
		strings.Replace(line, "1", "2", 1): "newer than this mcptap",
	} {
		r, err := text.NewReader(iotest.OneByteReader(strings.NewReader(in)))
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%T %s", r, r.Head().Header.ID)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		var wrong *text.Error
		if strings.HasPrefix(want, "neither") && (!errors.As(err, &wrong) || wrong.Hint == "") {
			t.Errorf("%q: %v has no hint", in, err)
		}
	}
	if r, err := text.NewReader(iotest.ErrReader(io.ErrClosedPipe)); r != nil || err != io.ErrClosedPipe {
		t.Error(r, err)
	}
}

func writeNDJSON(t testing.TB, h text.Head, frames []tap.Frame) string {
	t.Helper()
	var out bytes.Buffer
	b := bufio.NewWriter(&out)
	w := &text.NDJSONWriter{W: b}
	err := w.Begin(h)
	for _, f := range frames {
		err = errors.Join(err, w.Frame(f))
	}
	if err = errors.Join(err, w.End(h.End, h.Status), b.Flush()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// NDJSON is safe on a terminal, and loses nothing.
func TestNDJSONRoundTrip(t *testing.T) {
	h := text.Head{
		Header: tap.Header{ID: "00c0ffee", Label: "ho-\u202estile \"x\"\n", Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Transport: "http",
			Upstream: "http://localhost:1/mcp", Command: []string{"a b", "\x1b[2J", "<>&\u2028", ""}, Dir: "/with space ", Program: "mcptap test", Platform: "x/y"},
		Status: "cut", End: 90*time.Minute + 1, Gaps: []tap.Range{{From: 51, To: 53}},
	}
	var frames []tap.Frame
	for i, raw := range hostile {
		n := time.Duration(i)
		frames = append(frames, tap.Frame{Seq: uint64(2*i + 1), At: n * 1234567, Took: n % 2, Lane: tap.Lane(i % int(tap.Lanes)), Exchange: uint64(i % 4),
			Form: tap.Form(i % int(tap.Forms)), Truncated: i%5 == 4, Raw: []byte(raw), Size: int64(len(raw))})
	}
	lines := writeNDJSON(t, h, frames)
	if !escape.Clean(strings.ReplaceAll(lines, "\n", "")) {
		t.Errorf("unsafe on a terminal: %q", lines)
	}
	r, err := text.NewReader(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for f, err := range text.Frames(r) {
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(f, frames[i]) {
			t.Errorf("%+v became %+v", frames[i], f)
		}
		i++
	}
	if !reflect.DeepEqual(r.Head(), h) || i != len(frames) {
		t.Errorf("%d frames, head %+v, want %+v", i, r.Head(), h)
	}
}

// A frame that is not whole is copied as base64. If it cannot be read, none of it is
// written.
func TestLargeFrames(t *testing.T) {
	all := strings.Repeat("0123456789", 1000) + "\n"
	fail := false
	raw := func(w io.Writer, f tap.Frame) error {
		if fail {
			_, _ = w.Write([]byte(all[:5000]))
			return io.ErrUnexpectedEOF
		}
		_, err := io.Copy(w, iotest.OneByteReader(strings.NewReader(all)))
		return err
	}
	small := tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte("{}\n"), Size: 3}
	large := tap.Frame{Seq: 2, Lane: tap.ToServer, Raw: []byte(all[:100]), Size: int64(len(all))}
	for _, name := range []string{"ndjson", "txtar"} {
		fail = false
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		n, x := &text.NDJSONWriter{W: w, Raw: raw}, &text.TxtarWriter{W: w, Raw: raw}
		frame := n.Frame
		if name == "txtar" {
			frame = func(f tap.Frame) error { return x.Frame(f) }
			_ = x.Begin(text.Head{})
		} else {
			_ = n.Begin(text.Head{})
		}
		if err := errors.Join(frame(small), frame(large), w.Flush()); err != nil {
			t.Fatal(err)
		}
		whole := out.Len()
		fail = true
		if err := frame(tap.Frame{Seq: 3, Lane: tap.ToServer, Size: 1e6}); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
		_ = w.Flush()
		if out.Len() != whole {
			t.Errorf("%s: %q was written of a frame that cannot be read", name, out.String()[whole:])
		}
		if name == "ndjson" {
			_ = n.End(0, "ended")
			_ = w.Flush()
		}
		if !strings.Contains(out.String(), "base64") {
			t.Errorf("%s: %s", name, out.String())
		}
		r, err := text.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for f, err := range text.Frames(r) {
			if err != nil {
				t.Fatal(name, err)
			}
			got = append(got, string(f.Raw))
		}
		if !reflect.DeepEqual(got, []string{"{}\n", all}) {
			t.Errorf("%s: %d frames: %.100q", name, len(got), got)
		}
	}
}
