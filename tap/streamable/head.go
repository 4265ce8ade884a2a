package streamable

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxHead is the most bytes of a head that are held: heads are edited, so one
// must be there as a whole. Servers take 8 KiB to 1 MiB.
const maxHead = 1 << 20

// maxHeads is how many bytes the unfinished heads of all connections may have together,
// and leastHead how many one may have at least, however many connections there are.
const (
	maxHeads  = 64 << 20
	leastHead = 32 << 10
)

// headLimit is how many bytes a head may have beside those of all connections.
func (s *site) headLimit() int {
	conns := 1
	if s.live != nil {
		conns = max(1, int(s.live.Load()))
	}
	return max(leastHead, min(maxHead, maxHeads/conns))
}

// A headScan finds the end of a head, or of the trailer fields of a chunked
// body, in pieces: the first empty line. Lines end in LF, with or without CR,
// so that the end is where the most lenient reader would see it.
type headScan struct {
	line int  // bytes of the current line so far
	cr   bool // the last of them is CR
}

// next returns how many leading bytes of p belong to the head, and whether they
// end it.
func (s *headScan) next(p []byte) (n int, done bool) {
	for n < len(p) {
		i := bytes.IndexByte(p[n:], '\n')
		if i < 0 {
			s.add(p[n:])
			return len(p), false
		}
		s.add(p[n : n+i])
		n += i + 1
		empty := s.line == 0 || s.line == 1 && s.cr
		*s = headScan{}
		if empty {
			return n, true
		}
	}
	return n, false
}

func (s *headScan) add(b []byte) {
	if len(b) > 0 {
		s.line += len(b)
		s.cr = b[len(b)-1] == '\r'
	}
}

// A field is one header field. A line that is none has no name, and is its
// value.
type field struct {
	name, value string
	// from and to are where the value stands in the head. They are zero where it
	// does not stand there in one piece.
	from, to int
}

// A head is a request's or a response's, or the fields of a trailer. Reading it
// never fails: what is not by the book is said in fault, and read as a lenient
// reader would, so that a secret in an odd place is still found.
type head struct {
	first  string // the start line
	fields []field
	// fault is the first thing in it that two readers may understand
	// differently (RFC 9112, 2.2, 5.1 and 5.2), or empty.
	fault string
}

// parseHead reads a head with its start line and its empty line.
func parseHead(raw []byte) head {
	var h head
	text := string(raw)
	line, next := h.cutLine(text, 0)
	h.first = line
	h.parseFields(text, next)
	return h
}

// parseTrailer reads fields without a start line.
func parseTrailer(raw []byte) head {
	var h head
	h.parseFields(string(raw), 0)
	return h
}

// cutLine returns the line at offset at without its end, and where the next
// one begins.
func (h *head) cutLine(text string, at int) (line string, next int) {
	i := strings.IndexByte(text[at:], '\n')
	if i < 0 {
		h.wrong("a line without its end")
		return text[at:], len(text)
	}
	line, next = text[at:at+i], at+i+1
	if strings.HasSuffix(line, "\r") {
		line = line[:len(line)-1]
	} else {
		h.wrong("a line that ends in LF without CR")
	}
	if j := strings.IndexAny(line, "\r\x00"); j >= 0 {
		if line[j] == 0 {
			h.wrong("a NUL in a line")
		} else {
			h.wrong("a CR within a line")
		}
	}
	return line, next
}

func (h *head) wrong(fault string) {
	if h.fault == "" {
		h.fault = fault
	}
}

func (h *head) parseFields(text string, at int) {
	h.fields = make([]field, 0, min(strings.Count(text[at:], "\n"), 64))
	for at < len(text) {
		line, next := h.cutLine(text, at)
		if line == "" {
			return
		}
		h.parseField(line, at)
		at = next
	}
}

func (h *head) parseField(line string, at int) {
	if line[0] == ' ' || line[0] == '\t' {
		h.fold(line)
		return
	}
	name, value, ok := strings.Cut(line, ":")
	trimmed := strings.Trim(name, " \t")
	switch {
	case !ok:
		h.wrong("a header line without a colon")
	case trimmed != name:
		h.wrong("a space before a colon")
	case !isToken(name):
		h.wrong("a header name that is none")
	}
	if !ok || !isToken(trimmed) {
		h.fields = append(h.fields, field{value: line})
		return
	}
	f := field{name: trimmed, value: strings.Trim(value, " \t")}
	f.from = at + len(name) + 1 + len(value) - len(strings.TrimLeft(value, " \t"))
	f.to = f.from + len(f.value)
	h.fields = append(h.fields, f)
}

// fold adds a line that continues the field before it.
func (h *head) fold(line string) {
	h.wrong("a folded header line")
	if len(h.fields) == 0 {
		h.fields = append(h.fields, field{value: strings.Trim(line, " \t")})
		return
	}
	f := &h.fields[len(h.fields)-1]
	f.value = strings.Trim(f.value+" "+strings.Trim(line, " \t"), " \t")
	f.from, f.to = 0, 0
}

// get returns the value of the first field of that name.
func (h *head) get(name string) string {
	for f := range h.all(name) {
		return f.value
	}
	return ""
}

// all goes through the fields of that name.
func (h *head) all(name string) iter.Seq[*field] {
	return func(yield func(*field) bool) {
		for i := range h.fields {
			if strings.EqualFold(h.fields[i].name, name) && !yield(&h.fields[i]) {
				return
			}
		}
	}
}

// list returns the elements of the fields of that name, which is a list with
// commas, in lower case and without parameters.
func (h *head) list(name string) []string {
	var out []string
	for f := range h.all(name) {
		for e := range strings.SplitSeq(f.value, ",") {
			e, _, _ = strings.Cut(e, ";")
			if e = strings.ToLower(strings.Trim(e, " \t")); e != "" {
				out = append(out, e)
			}
		}
	}
	return out
}

// An edit puts other bytes in the place of raw[from:to] of a head.
type edit struct {
	from, to int
	text     string
}

// apply returns raw with the edits, which are in order, and with extra before
// its empty line.
func apply(raw []byte, edits []edit, extra string) []byte {
	size := len(raw) + len(extra)
	for _, e := range edits {
		size += len(e.text)
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range edits {
		out = append(out, raw[at:e.from]...)
		out = append(out, e.text...)
		at = e.to
	}
	end := len(raw)
	if extra != "" {
		end -= len("\r\n")
	}
	out = append(out, raw[at:end]...)
	out = append(out, extra...)
	return append(out, raw[end:]...)
}

// isToken reports whether s is a token (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

var tokenBytes = func() (set [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		set[c] = true
	}
	return set
}()

// A refusal is why a request is not forwarded, for the client.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

func refusef(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// textFields returns fields as an event has them.
func textFields(list []field) [][2]string {
	if len(list) == 0 {
		return nil
	}
	out := make([][2]string, len(list))
	for i, f := range list {
		out[i] = [2]string{toText(f.name), toText(f.value)}
	}
	return out
}

// toText makes valid UTF-8 of a value. A head has bytes; those of one that is
// not UTF-8 are taken as ISO 8859-1, as readers of HTTP do.
func toText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// appendNew appends s unless the list has it.
func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
