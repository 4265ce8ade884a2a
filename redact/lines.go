package redact

import (
	"bytes"

	"github.com/mcptap/mcptap/tap"
)

// maxKeyLines is how many lines a private key may have that is written a line a
// frame, as on stderr. RSA with 16 kbit has 200.
const maxKeyLines = 400

// opensKey reports whether a private key begins in a line and goes on behind it.
func opensKey(line []byte) bool {
	i := bytes.LastIndex(line, []byte("-----BEGIN"))
	return i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) && !bytes.Contains(line[i:], []byte("-----END"))
}

// keyLine rewrites a line that is part of a private key. A message in between is
// none, and ends it.
func (r *Redactor) keyLine(f *tap.Frame) []byte {
	line := bytes.TrimRight(f.Raw, "\r\n")
	if isJSON(line) {
		r.inKey[f.Lane] = 0
		return apply(f.Raw, r.edits(f.Raw))
	}
	r.inKey[f.Lane]--
	to := len(line)
	if i := bytes.Index(line, []byte("-----END")); i >= 0 {
		r.inKey[f.Lane], to = 0, i
	}
	return apply(f.Raw, r.replaced(f.Raw, []hit{{start: 0, end: to, rule: "private-key"}}))
}

// event rewrites a server-sent event: its data, which may be on several lines, as
// one content, and each other line by itself.
func (r *Redactor) event(raw []byte) []byte {
	var data []byte
	var at []int // where each byte of data is spelled
	var edits []edit
	for i := 0; i < len(raw); {
		end := len(raw)
		if n := bytes.IndexAny(raw[i:], "\r\n"); n >= 0 {
			end = i + n
		}
		if value, ok := dataLine(raw[i:end]); ok {
			if data != nil {
				data, at = append(data, '\n'), append(at, end-len(value))
			} else {
				data = []byte{}
			}
			data = append(data, value...)
			for n := range value {
				at = append(at, end-len(value)+n)
			}
		} else if end > i {
			for _, e := range r.textEdits(raw[i:end]) {
				edits = append(edits, edit{i + e.start, i + e.end, e.text})
			}
		}
		i = end + 1
	}
	var inData []edit
	for _, e := range r.edits(data) {
		inData = append(inData, edit{at[e.start], at[e.end-1] + 1, e.text})
	}
	return apply(raw, inOrder(edits, inData))
}

func dataLine(line []byte) (value []byte, ok bool) {
	value, ok = bytes.CutPrefix(bytes.TrimPrefix(line, []byte("\ufeff")), []byte("data:"))
	return bytes.TrimPrefix(value, []byte(" ")), ok
}

// inOrder merges two lists of edits that are in order. What is inside another, as
// a comment can be between the lines of a key, goes with that.
func inOrder(a, b []edit) (all []edit) {
	for len(a) > 0 || len(b) > 0 {
		var e edit
		if len(b) == 0 || len(a) > 0 && a[0].start < b[0].start {
			e, a = a[0], a[1:]
		} else {
			e, b = b[0], b[1:]
		}
		if n := len(all); n > 0 && e.start < all[n-1].end {
			all[n-1].end = max(all[n-1].end, e.end)
			continue
		}
		all = append(all, e)
	}
	return all
}
