package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
)

// A span is a part of a text.
type span struct{ start, end int }

// embedded finds the secrets in the objects and arrays of JSON that stand in a text,
// as in a line of a log or in Markdown, and where these are. What is a name or a
// value in them needs no guess.
func (r *Redactor) embedded(text []byte) (hits []hit, in []span) {
	if r.depth >= maxDepth {
		return nil, nil
	}
	room := 2*len(text) + 4096 // bytes to be read: so the time is in proportion to them
	for i := 0; i < len(text) && room > 0; i++ {
		n := bytes.IndexAny(text[i:], "{[")
		if n < 0 {
			break
		}
		if i += n; !beginsJSON(text[i:]) {
			continue
		}
		size, read := valueSize(text[i:])
		if room -= read; size == 0 {
			continue
		}
		r.depth++
		w := walker{r: r, src: text[i : i+size]}
		w.value(scope{})
		r.depth--
		for _, e := range w.edits {
			hits = append(hits, hit{start: i + e.start, end: i + e.end, text: e.text, done: true})
		}
		in = append(in, span{i, i + size})
		i += size - 1
	}
	return hits, in
}

// beginsJSON reports whether a bracket may be that of an object or an array with
// something in it that may have a name.
func beginsJSON(text []byte) bool {
	after := bytes.TrimLeft(text[1:min(len(text), 256)], blanks)
	if len(after) == 0 {
		return false
	}
	return after[0] == '"' || text[0] == '[' && after[0] == '{'
}

// valueSize returns the size of the JSON value that a text begins with, 0 if it is
// none, and how much was read to know.
func valueSize(text []byte) (size, read int) {
	d := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	err := d.Decode(&value)
	var wrong *json.SyntaxError
	switch {
	case err == nil:
		return int(d.InputOffset()), int(d.InputOffset())
	case errors.As(err, &wrong):
		return 0, max(1, int(wrong.Offset))
	}
	return 0, len(text)
}

// outside returns the hits that begin in none of the spans, which are in order.
func outside(hits []hit, spans []span) []hit {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.start, b.start) })
	kept := hits[:0]
	for _, h := range hits {
		in := false
		for len(spans) > 0 && spans[0].end <= h.start {
			spans = spans[1:]
		}
		if len(spans) > 0 {
			in = spans[0].start <= h.start
		}
		if !in {
			kept = append(kept, h)
		}
	}
	return kept
}
