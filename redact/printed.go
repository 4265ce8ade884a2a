package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	// maxPrinted is the maximum length of a line of pretty-printed JSON that is read with the lines around it.
	maxPrinted = 4 << 10
	// maxOpen is the maximum depth of pretty-printed JSON.
	maxOpen = 16
)

// printed is the part of pretty-printed JSON on stderr that the next line needs, as each line is a frame: the lines
// that opened the objects and lists around it, and the previous name or member.
type printed struct {
	open []string // each ends with a bracket
	last string   // ends with a comma or a colon
}

// printedEdits finds the secrets in a line of pretty-printed JSON whose names may be in lines before it. It
// reports whether there are any.
func (r *Redactor) printedEdits(raw []byte) (edits []edit, found bool) {
	p := &r.printed
	line := bytes.Trim(raw, blanks)
	if len(line) > 0 && (line[0] == '}' || line[0] == ']') {
		p.open, p.last = p.open[:max(0, len(p.open)-1)], ""
		line = bytes.TrimLeft(line[1:], ", ")
	}
	if len(line) == 0 {
		return nil, false
	}
	switch end := line[len(line)-1]; {
	case len(line) > maxPrinted:
		*p = printed{}
	case end == '{' || end == '[':
		if len(p.open) == 0 || len(line) > 2*maxName {
			line = line[len(line)-1:] // the text before it may be anything
		}
		if !strings.HasSuffix(p.last, ":") {
			p.last = ""
		}
		p.open, p.last = append(slices.Clone(p.open), p.last+string(line)), ""
		if len(p.open) > maxOpen {
			*p = printed{}
		}
	case len(p.open) == 0:
	case end == ':':
		p.last = string(line)
	default:
		return r.memberEdits(raw, bytes.TrimRight(line, ", "))
	}
	return nil, false
}

// memberEdits finds the secrets in a member of an object, or in an element of a list.
func (r *Redactor) memberEdits(raw, member []byte) (edits []edit, found bool) {
	p := &r.printed
	src := []byte(strings.Join(p.open, "") + p.last)
	from, at := len(src), bytes.Index(raw, member)
	src = append(src, member...)
	for _, o := range slices.Backward(p.open) {
		src = append(src, o[len(o)-1]+2) // } and ] follow { and [ with a byte between
	}
	if !json.Valid(src) {
		*p = printed{}
		return nil, false
	}
	before := r.noted
	for _, e := range r.edits(src) {
		if e.start >= from {
			edits = append(edits, edit{e.start - from + at, e.end - from + at, e.text})
		}
	}
	if p.last = string(member) + ","; r.noted != before {
		p.last = "" // so that it is not found twice
	}
	return edits, r.noted != before
}
