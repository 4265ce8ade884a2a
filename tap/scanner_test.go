package tap

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// scanIn feeds raw in pieces whose sizes next gives.
func scanIn(raw []byte, next func() int) (Message, *Scanner) {
	var s Scanner
	buf := make([]byte, 0, 64)
	for len(raw) > 0 {
		n := min(max(next(), 1), len(raw))
		buf = append(buf[:0], raw[:n]...)
		s.Write(buf)
		for i := range buf { // a scanner must not keep what it was lent
			buf[i] = '#'
		}
		raw = raw[n:]
	}
	return s.Message(), &s
}

// agrees reports how a scan differs from a peek; "" if it does not.
func agrees(s *Scanner, m, p Message) string {
	if m.Long && p.Long { // the scanner has only the beginnings
		if !bytes.HasPrefix(p.ID, m.ID) || len(m.ID) > MaxWord+1 || len(m.Method) > MaxWord+1 {
			return fmt.Sprintf("long id %.20s… of %d bytes, method of %d", m.ID, len(m.ID), len(m.Method))
		}
		m.ID, m.Method, p.ID, p.Method = nil, "", nil, ""
	}
	got := fmt.Sprintf("%s id=%s nil=%v method=%q %v type=%q code=%s message=%q long=%v", m.Kind, m.ID, m.ID == nil,
		m.Method, m.IsError, m.ResultType, m.ErrorCode, m.ErrorMessage, m.Long)
	want := fmt.Sprintf("%s id=%s nil=%v method=%q %v type=%q code=%s message=%q long=%v", p.Kind, p.ID, p.ID == nil,
		p.Method, p.IsError, p.ResultType, p.ErrorCode, p.ErrorMessage, p.Long)
	if got != want {
		return fmt.Sprintf("scanner %s\npeek    %s", got, want)
	}
	var t Tally
	t.failures(&p)
	failures, invalid := s.Failures()
	if uint64(failures) != t.Errors || uint64(invalid) != t.Invalid {
		return fmt.Sprintf("failures %d (%d invalid), want %d (%d)", failures, invalid, t.Errors, t.Invalid)
	}
	return ""
}

func TestScannerAgreesWithPeek(t *testing.T) {
	var corpus [][]byte
	for _, c := range peekCases {
		corpus = append(corpus, []byte(c.raw))
	}
	for _, r := range referenceFrames(t) {
		corpus = append(corpus, r.raw, append(r.raw[:len(r.raw):len(r.raw)], "\r\n"...))
	}
	for _, raw := range corpus {
		p := Peek(raw)
		for size := 1; size <= len(raw)+1; size++ {
			m, s := scanIn(raw, func() int { return size })
			if d := agrees(s, m, p); d != "" {
				t.Fatalf("%q in pieces of %d\n%s", raw, size, d)
			}
		}
		for cut := range raw {
			first := true
			m, s := scanIn(raw, func() int {
				if first {
					first = false
					return cut
				}
				return len(raw)
			})
			if d := agrees(s, m, p); d != "" {
				t.Fatalf("%q cut at %d\n%s", raw, cut, d)
			}
		}
	}
}

func TestScannerLongWords(t *testing.T) {
	long := strings.Repeat("x", 3*MaxWord)
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":"` + long + `","method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`,
		`{"jsonrpc":"2.0","id":` + strings.Repeat("7", 3*MaxWord) + `,"result":{}}`,
	} {
		p := Peek([]byte(raw))
		if !p.Long || len(p.ID)+len(p.Method) < 3*MaxWord {
			t.Errorf("peek: long %v", p.Long)
		}
		for _, size := range []int{1, 1000, MaxWord, len(raw)} {
			m, s := scanIn([]byte(raw), func() int { return size })
			if d := agrees(s, m, p); d != "" {
				t.Errorf("pieces of %d: %.300s", size, d)
			}
		}
	}
}

// TestScannerMemory holds that a frame of 64 MB takes a few kilobytes.
func TestScannerMemory(t *testing.T) {
	piece := bytes.Repeat([]byte("x"), 1<<20)
	var s Scanner
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.Write([]byte(`{"result":{"content":[{"text":"`))
	for range 64 {
		s.Write(piece)
	}
	s.Write([]byte(`"}],"isError":tr`))
	s.Write([]byte(`ue},"` + strings.Repeat("k", 1<<20)))
	s.Write([]byte(`":{},"jsonrpc":"2.0","id":"las`))
	s.Write([]byte("t\"}\r\n"))
	m := s.Message()
	runtime.ReadMemStats(&after)
	if got := describe(m); got != `response "last"  isError` {
		t.Error(got)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 3<<20 { // the long name is this test's own
		t.Errorf("took %d bytes", used)
	}
}

func TestScannerReuse(t *testing.T) {
	var s Scanner
	if got := describe(s.Message()); got != "invalid   (blank)" {
		t.Error(got)
	}
	for range 2 {
		s.Write([]byte(`{"jsonrpc":"2.0","id":1,`))
		s.Write([]byte(`"method":"a"}`))
		if got := describe(s.Message()); got != "request 1 a" {
			t.Error(got)
		}
		if got := describe(s.Message()); got != "request 1 a" {
			t.Errorf("asked again: %s", got)
		}
	}
}

// FuzzScanner holds that a scanner agrees with a peek however a frame is cut.
func FuzzScanner(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw, uint64(len(raw)), uint8(7)) })
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, size uint8) {
		p := Peek(raw)
		r := rand.New(rand.NewPCG(seed, 0))
		m, s := scanIn(raw, func() int { return 1 + r.IntN(int(size)+1) })
		if d := agrees(s, m, p); d != "" {
			t.Error(d)
		}
	})
}
