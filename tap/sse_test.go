package tap

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// splitEvents passes chunks through a splitter. It returns the pieces and how each ended;
// bytes left without an end are the last piece, with CutNone.
func splitEvents(t testing.TB, chunks [][]byte) (pieces []string, cuts []Cut) {
	t.Helper()
	var s SSESplitter
	var held []byte
	for _, chunk := range chunks {
		for stuck := 0; len(chunk) > 0; {
			n, cut := s.Next(chunk)
			if n == 0 {
				if stuck++; stuck > 1 || cut != CutFrame {
					t.Fatalf("no progress before %.20q: %v", chunk, cut)
				}
			} else {
				stuck = 0
			}
			held = append(held, chunk[:n]...)
			chunk = chunk[n:]
			if cut != CutNone {
				pieces, cuts = append(pieces, string(held)), append(cuts, cut)
				held = nil
			} else if len(chunk) > 0 {
				t.Fatalf("stopped without a reason before %.20q", chunk)
			}
		}
	}
	if len(held) > 0 {
		pieces, cuts = append(pieces, string(held)), append(cuts, CutNone)
	}
	return pieces, cuts
}

// units joins the parts of each unit. open reports that the last one has no end.
func units(pieces []string, cuts []Cut) (all []string, open bool) {
	unit := ""
	for i, p := range pieces {
		if unit += p; cuts[i] == CutFrame {
			all, unit = append(all, unit), ""
		}
	}
	if unit != "" {
		all, open = append(all, unit), true
	}
	return all, open
}

func TestSSESplitter(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   []string // the last begins with ~ if it has no end
	}{
		{"LF", []string{"data: a\n\ndata: b\ndata: c\n\n"}, []string{"data: a\n\n", "data: b\ndata: c\n\n"}},
		{"CRLF", []string{"data: a\r\n\r\nid: 1\r\ndata\r\n\r\n"}, []string{"data: a\r\n\r\n", "id: 1\r\ndata\r\n\r\n"}},
		{"CR", []string{"data: a\r\rdata: b\r\r"}, []string{"data: a\r\r", "data: b\r\r"}},
		{"mixed", []string{"a\rb\nc\r\n\nd\n\re\r\n\r"}, []string{"a\rb\nc\r\n\n", "d\n\r", "~e\r\n\r"}},
		{"CRLF over chunks", []string{"data: a\r", "\n\r", "\ndata: b\r\n", "\r\n"}, []string{"data: a\r\n\r\n", "data: b\r\n\r\n"}},
		{"CR over chunks", []string{"data: a\r", "\r", "data: b", "\r", "\r"}, []string{"data: a\r\r", "data: b\r\r"}},
		{"the CR of a blank line was alone", []string{"data: a\n\r", "data: b\n\n"}, []string{"data: a\n\r", "data: b\n\n"}},
		{"LF after all", []string{"data: a\r\r", "\ndata: b\n\n"}, []string{"data: a\r\r", "\n", "data: b\n\n"}},
		{"comments are units", []string{": ping\n\n:\n\n\n\ndata:\n\n"}, []string{": ping\n\n", ":\n\n", "\n", "\n", "data:\n\n"}},
		{"no end", []string{"data: a\n\ndata: b\n"}, []string{"data: a\n\n", "~data: b\n"}},
		{"byte order mark", []string{"\ufeffdata: a\n\n\ufeff\n\n"}, []string{"\ufeffdata: a\n\n", "\ufeff\n\n"}},
		{"mark alone on the first line", []string{"\xef", "\xbb", "\xbf\n", "data: a\n\n"}, []string{"\ufeff\n", "data: a\n\n"}},
		{"half a mark is a line", []string{"\xef\xbb\n", "x\n\n"}, []string{"\xef\xbb\nx\n\n"}},
		{"two marks", []string{"\ufeff\ufeff\n\n"}, []string{"\ufeff\ufeff\n\n"}},
		{"any bytes", []string{"\x00\xff\n\n\u2028\n\u0085\n\n"}, []string{"\x00\xff\n\n", "\u2028\n\u0085\n\n"}},
	} {
		var chunks [][]byte
		for _, s := range c.chunks {
			chunks = append(chunks, []byte(s))
		}
		got, open := units(splitEvents(t, chunks))
		if open {
			got[len(got)-1] = "~" + got[len(got)-1]
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		checkEvents(t, []byte(strings.Join(c.chunks, "")), 1)
	}
}

// An event is over at the end of its blank line, not when the next event begins: a
// response to it must be recorded after it.
func TestSSESplitterDoesNotWait(t *testing.T) {
	for _, raw := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		var s SSESplitter
		if n, cut := s.Next([]byte(raw)); n != len(raw) || cut != CutFrame {
			t.Errorf("%q: %d, %v", raw, n, cut)
		}
	}
}

func TestSSESplitterParts(t *testing.T) {
	for _, tail := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		for n := PartSize - 6; n <= PartSize+2; n++ {
			raw := append(bytes.Repeat([]byte{'x'}, n), tail+"data: next"+tail...)
			checkEvents(t, raw, uint64(n))
		}
	}
	raw := bytes.Repeat([]byte("data: 0123456789abcdef\r\n"), 3*PartSize/24)
	pieces, cuts := splitEvents(t, [][]byte{raw})
	if len(cuts) != 3 || cuts[0] != CutPart || len(pieces[0]) != PartSize || len(pieces[1]) != PartSize {
		t.Errorf("cuts %v", cuts)
	}
}

// checkEvents checks the guarantees of a splitter for any input: the same pieces for any
// chunks, which joined are the input, parts of the right size, the units of the
// reference, and the events of the standard.
func checkEvents(t testing.TB, raw []byte, seed uint64) {
	t.Helper()
	whole, wholeCuts := splitEvents(t, [][]byte{raw})
	if strings.Join(whole, "") != string(raw) {
		t.Fatalf("%.200q: the pieces, joined, are not the input", raw)
	}
	for i, p := range whole {
		if len(p) > PartSize || wholeCuts[i] == CutPart && len(p) != PartSize || wholeCuts[i] == CutNone && i != len(whole)-1 {
			t.Fatalf("%.200q: a piece of %d bytes with cut %v", raw, len(p), wholeCuts[i])
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for _, most := range []int{1, 2, 5, 4096} {
		if len(raw) > 4*PartSize || most < 4096 && len(raw) > 1<<16 {
			continue
		}
		pieces, cuts := splitEvents(t, cutAtRandom(r, raw, most))
		if !reflect.DeepEqual(pieces, whole) || !reflect.DeepEqual(cuts, wholeCuts) {
			t.Fatalf("%.200q: chunks of up to %d make %.200q, want %.200q", raw, most, pieces, whole)
		}
	}
	got, open := units(whole, wholeCuts)
	want, wantOpen := referenceUnits(raw)
	if open != wantOpen || !reflect.DeepEqual(got, want) {
		t.Fatalf("%.200q: units %.300q (open %v), want %.300q (open %v)", raw, got, open, want, wantOpen)
	}
	checkDispatch(t, raw, got, open)
}

func cutAtRandom(r *rand.Rand, raw []byte, most int) (chunks [][]byte) {
	for len(raw) > 0 {
		n := min(1+r.IntN(most), len(raw))
		chunks = append(chunks, raw[:n])
		raw = raw[n:]
	}
	return chunks
}

// referenceUnits cuts a whole stream line by line.
func referenceUnits(raw []byte) (all []string, open bool) {
	unit, lone := 0, false
	for at := 0; at < len(raw); {
		from := at
		if from == 0 && bytes.HasPrefix(raw, []byte(byteOrderMark)) {
			from = len(byteOrderMark)
		}
		i := bytes.IndexAny(raw[from:], "\r\n")
		if i < 0 {
			break
		}
		at = from + i + 1
		blank, cr := i == 0, raw[at-1] == '\r'
		if cr && blank && !lone && at == len(raw) {
			break // a \n may follow
		}
		wasLone := lone
		lone = cr && (at == len(raw) || raw[at] != '\n')
		if cr && !lone && !(blank && wasLone) {
			at++
		} else if cr && blank && wasLone {
			lone = true
		}
		if blank {
			all, unit = append(all, string(raw[unit:at])), at
		}
	}
	if unit < len(raw) {
		return append(all, string(raw[unit:])), true
	}
	return all, false
}

// dispatched returns the events that the standard's algorithm dispatches for a stream, as
// text.
func dispatched(raw []byte) (events []string) {
	text := strings.TrimPrefix(string(raw), byteOrderMark)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	var data strings.Builder
	name, id, retry := "", "", ""
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if data.Len() > 0 {
				events = append(events, fmt.Sprintf("%q %q %q %q", name, strings.TrimSuffix(data.String(), "\n"), id, retry))
			}
			data.Reset()
			name, id, retry = "", "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "data":
			data.WriteString(value + "\n")
		case field == "event":
			name = value
		case field == "id" && !strings.Contains(value, "\x00"):
			id = value
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			retry = value
		}
	}
	return events
}

// checkDispatch checks that the units, parsed one at a time, are the events of the
// stream.
func checkDispatch(t testing.TB, raw []byte, units []string, open bool) {
	t.Helper()
	var got []string
	for i, u := range units {
		if i > 0 && strings.HasPrefix(u, byteOrderMark) {
			return // a byte order mark counts only at the beginning of a stream, which a unit does not show
		}
		if last := i == len(units)-1; last && open && !strings.HasSuffix(u, "\n\r") {
			continue // never dispatched; after \n a lone \r is a blank line
		}
		if e := ParseServerSentEvent([]byte(u)); e.Data != nil {
			got = append(got, fmt.Sprintf("%q %q %q %q", e.Name, e.Data, e.ID, e.Retry))
		}
	}
	if want := dispatched(raw); !reflect.DeepEqual(got, want) {
		t.Fatalf("%.200q: events %.300q, want %.300q", raw, got, want)
	}
}

func TestParseServerSentEvent(t *testing.T) {
	for raw, want := range map[string]ServerSentEvent{
		"":                                    {},
		"\n":                                  {},
		"data: a\n\n":                         {Data: []byte("a")},
		"data:a\r\n\r\n":                      {Data: []byte("a")},
		"data:  a \r\r":                       {Data: []byte(" a ")},
		"data\n\n":                            {Data: []byte{}},
		"data:\n\n":                           {Data: []byte{}},
		"data\ndata\n\n":                      {Data: []byte("\n")},
		"data: a\ndata:b\r\ndata: c":          {Data: []byte("a\nb\nc")},
		"event: endpoint\ndata: /m?s=1\n\n":   {Name: "endpoint", Data: []byte("/m?s=1")},
		"event: a\nevent:\n\n":                {},
		"id: 7\ndata\n\n":                     {ID: "7", HasID: true, Data: []byte{}},
		"id\n\n":                              {HasID: true},
		"id: 1\nid: 2\x00\n\n":                {ID: "1", HasID: true},
		"retry: 3000\n\n":                     {Retry: "3000"},
		"retry: 99999999999999999999999\n\n":  {Retry: "99999999999999999999999"},
		"retry: 3e3\nretry:\nretry: -1\n\n":   {},
		": keep\n:alive\n\n":                  {Comments: []byte("keep\nalive")},
		":\n\n":                               {Comments: []byte{}},
		"\ufeffdata: a\n\n":                   {Data: []byte("a")},
		"Data: a\n data: b\ndata : c\nx: y\n": {},
		"data: \xff\x00\u2028\n\n":            {Data: []byte("\xff\x00\u2028")},
	} {
		if got := ParseServerSentEvent([]byte(raw)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", raw, got, want)
		}
	}
}

// One line of data is not copied, and appending several does not overwrite the frame.
func TestServerSentEventMemory(t *testing.T) {
	raw := []byte("data: one\n\n")
	if e := ParseServerSentEvent(raw); &e.Data[0] != &raw[6] || cap(e.Data) != 3 {
		t.Errorf("%q with room for %d", e.Data, cap(e.Data))
	}
	raw = []byte("data: one\ndata: two\n\n")
	before := string(raw)
	if e := ParseServerSentEvent(raw); string(e.Data) != "one\ntwo" || string(raw) != before {
		t.Errorf("%q of %q", e.Data, raw)
	}
	large := bytes.Repeat([]byte("data:\n:\nid\n"), 100_000)
	if e := ParseServerSentEvent(large); len(e.Data) != 99_999 || len(e.Comments) != 99_999 || !e.HasID {
		t.Errorf("%d bytes of data, %d of comments", len(e.Data), len(e.Comments))
	}
}

// FuzzSSE makes streams from the bytes that matter to a splitter, and from any bytes.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("\ufeffdata: a\r\rid:1\r\n\r\n: c\n\n\r\n\r"), uint64(1), uint16(1))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 1, 1, 1, 2, 2, 1, 2}, uint64(2), uint16(3))
	f.Add([]byte("data: 0123456789\n"), uint64(3), uint16(60000))
	words := []string{"data: x", "\r", "\n", "\r\n", ":", "data", "event: e", "id: 1", byteOrderMark, "\xef"}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, repeat uint16) {
		if n := int(repeat); n > 1 && len(raw)*n < 3*PartSize {
			raw = append(bytes.Repeat(raw, n), "\n\n"...)
		}
		checkEvents(t, raw, seed)
		if len(raw) < 1<<12 {
			var made []byte
			for _, b := range raw {
				made = append(made, words[int(b)%len(words)]...)
			}
			checkEvents(t, made, seed)
		}
	})
}

func BenchmarkSSESplitter(b *testing.B) {
	for _, size := range []int{200, 64 << 10} {
		stream := bytes.Repeat([]byte("event: message\ndata: "+strings.Repeat("x", size)+"\n\n"), 1<<20/size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				var s SSESplitter
				for p := stream; len(p) > 0; {
					n, _ := s.Next(p)
					p = p[n:]
				}
			}
		})
	}
}
