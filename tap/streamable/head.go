package streamable

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxHead is the maximum size of a head in bytes: heads are edited, so they
// must be held completely. Servers accept 8 KiB to 1 MiB.
const maxHead = 1 << 20

// maxHeads is the maximum size of the incomplete heads of all connections together,
// and leastHead the minimum limit for one, however many connections there are.
const (
	maxHeads  = 64 << 20
	leastHead = 32 << 10
)

// headLimit returns the size limit of a head, given the number of incomplete ones.
func (t *Tap) headLimit() int {
	return max(leastHead, min(maxHead, maxHeads/max(1, int(t.heads.Load()))))
}

// A headScan finds the end of a head, or of the trailer fields of a chunked
// body, in pieces: the first empty line. Lines end in LF, with or without CR,
// as the most lenient readers accept.
type headScan struct {
	line int  // bytes of the current line so far
	cr   bool // the last of them is CR
}

// next returns the number of leading bytes of p that belong to the head, and whether they
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

// A field is one header field. An invalid line has no name and is its own
// value.
type field struct {
	name, value string
	// from and to are the range of the value in the head. They are zero if it
	// is not contiguous.
	from, to int
}

// A head is the head of a request or a response, or the fields of a trailer. Parsing it
// never fails: fault describes an invalid part, which is read as a lenient
// reader would, so that secrets in it are found.
type head struct {
	first  string // start line
	fields []field
	// fault is the first problem that readers may interpret
	// differently (RFC 9112, 2.2, 5.1 and 5.2), or empty.
	fault string
}

// parseHead parses a head with its start line and its empty line.
func parseHead(raw []byte) head {
	var h head
	text := string(raw)
	line, next := h.cutLine(text, 0)
	h.first = line
	h.parseFields(text, next)
	return h
}

// parseTrailer parses fields without a start line.
func parseTrailer(raw []byte) head {
	var h head
	h.parseFields(string(raw), 0)
	return h
}

// cutLine returns the line at an offset without its end, and the offset of the next line.
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
		h.wrong("an invalid header name")
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

// fold adds a line that continues the previous field.
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

// get returns the value of the first field with a name.
func (h *head) get(name string) string {
	for f := range h.all(name) {
		return f.value
	}
	return ""
}

// all returns the fields with a name.
func (h *head) all(name string) iter.Seq[*field] {
	return func(yield func(*field) bool) {
		for i := range h.fields {
			if strings.EqualFold(h.fields[i].name, name) && !yield(&h.fields[i]) {
				return
			}
		}
	}
}

// list returns the elements of the fields with a name, which are comma-separated lists, in
// lower case and without parameters.
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

// An edit replaces raw[from:to] of a head.
type edit struct {
	from, to int
	text     string
}

// apply returns raw with the edits, which must be in order, and with extra before its empty
// line.
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

// A refusal is the reason for not forwarding a request, which the client receives.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

func refusef(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// textFields returns fields in the form of an event.
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

// toText converts a value to valid UTF-8. A value that is not UTF-8 is read as ISO 8859-1,
// as is usual for HTTP.
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

// appendNew appends s unless the list contains it.
func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
