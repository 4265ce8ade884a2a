package filter

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Completion is one way to continue a query.
type Completion struct {
	// From and To are the range of bytes of the query that Text replaces.
	From, To int
	Text     string
	// Help is the meaning of a key or word, "" for a value of the recording.
	Help string
}

// MaxCompletions is the maximum number of completions that [Complete] returns.
const MaxCompletions = 200

// Complete returns what the term at the cursor, an offset in bytes, can become: a
// key, or a value of the key before it. The rest of the query may have errors.
// Values with control or hidden characters are left out, so the texts may be sent
// to a terminal.
func Complete(query string, cursor int, seen Seen) []Completion {
	cursor = max(0, min(cursor, len(query)))
	t, open := lastTerm(query[:cursor])
	c := completer{query: query, cursor: cursor, seen: seen, open: open}
	switch {
	case t.key != nil:
		c.values(t.key, &t.values[len(t.values)-1])
	case t.name == "" && len(t.values) <= 1:
		c.keys(t.from)
	}
	return c.all
}

// lastTerm returns the term that a query ends with, empty if it ends between terms,
// and the number of groups that are open there.
func lastTerm(query string) (t term, open int) {
	p := parser{q: query}
	for {
		p.skipSpace()
		if p.i == len(query) {
			return term{from: p.i}, p.open
		}
		switch op := p.operator(); {
		case op != "":
			p.i += len(op)
			continue
		case query[p.i] == '(':
			p.open++
		case query[p.i] == ')':
			p.open = max(0, p.open-1)
		case query[p.i] != '-':
			from := p.i
			if t, _ = p.term(); p.i == len(query) {
				return t, p.open
			}
			p.i = max(p.i, from+1)
			continue
		}
		p.i++
	}
}

// Suggest returns a correction for a query that matched nothing: a term that corrects the
// first value, such as a tool, that is a typo of one in the recording. It is "" if there is
// none.
func Suggest(query string, seen Seen) string {
	for t := range terms(query) {
		if t.key.seen == nil {
			continue
		}
		var names, lower []string
		for _, s := range t.key.seen(seen) {
			if escape.Clean(s) {
				names, lower = append(names, s), append(lower, strings.ToLower(s))
			}
		}
		for _, v := range t.values {
			known := func(s string) bool { return strings.EqualFold(s, v.text) }
			if v.form == pattern || strings.Contains(v.text, "*") || slices.ContainsFunc(names, known) {
				continue
			}
			if i := slices.Index(lower, Nearest(v.text, lower)); i >= 0 {
				return t.key.name + ":" + asValue(names[i])
			}
		}
	}
	return ""
}

// Values returns the values of a key in a query that are not patterns and have no *.
func Values(query, key string) (all []string) {
	for t := range terms(query) {
		for _, v := range t.values {
			if t.key.name == key && v.form != pattern && !strings.Contains(v.text, "*") {
				all = append(all, v.text)
			}
		}
	}
	return all
}

// terms yields the terms with a key.
func terms(query string) iter.Seq[term] {
	return func(yield func(term) bool) {
		p := parser{q: query}
		for p.i < len(query) {
			from := p.i
			if strings.IndexByte(spaces+"()-", query[from]) >= 0 {
				p.i++
				continue
			}
			t, err := p.term()
			if p.i = max(p.i, from+1); err == nil && t.key != nil && !yield(t) {
				return
			}
		}
	}
}

type completer struct {
	query  string
	cursor int
	seen   Seen
	open   int
	all    []Completion
}

// keys completes a key. Its colon is replaced too.
func (c *completer) keys(from int) {
	to := c.cursor
	for to < len(c.query) && isLetter(c.query[to]) {
		to++
	}
	if strings.HasPrefix(c.query[to:], ":") {
		to++
	}
	for _, k := range keys {
		if hasPrefixFold(k.name, c.query[from:c.cursor]) {
			c.add(from, to, k.name+":", k.help)
		}
	}
}

// values completes a value of a key. Words and values that begin with the text come
// before those that have it as another name or contain it.
func (c *completer) values(k *key, v *value) {
	whole := parser{q: c.query, i: v.from, open: c.open}
	to := c.cursor
	if _, err := whole.value(&term{key: k}); err == nil {
		to = max(to, whole.i)
	}
	if k.number != nil {
		for _, e := range k.examples {
			text := strings.TrimPrefix(e, k.name+":")
			if strings.HasPrefix(text, c.query[v.from:c.cursor]) {
				c.add(v.from, to, text, "")
			}
		}
	}
	if k.number != nil || v.form == pattern {
		return
	}
	begins := func(s string) bool { return hasPrefixFold(s, v.text) }
	for _, w := range k.words {
		if begins(w.name) {
			c.add(v.from, to, w.name, w.help)
		}
	}
	named := len(c.all) > 0
	for _, w := range k.words {
		if !named && slices.ContainsFunc(w.also, begins) {
			c.add(v.from, to, w.name, w.help)
		}
	}
	if k.seen == nil {
		return
	}
	values, typed := k.seen(c.seen), fold([]byte(v.text))
	for _, s := range values {
		if begins(s) {
			c.add(v.from, to, asValue(s), "")
		}
	}
	for _, s := range values {
		if !begins(s) && bytes.Contains(fold([]byte(s)), typed) {
			c.add(v.from, to, asValue(s), "")
		}
	}
}

func (c *completer) add(from, to int, text, help string) {
	if len(c.all) < MaxCompletions && escape.Clean(text) {
		c.all = append(c.all, Completion{from, to, text, help})
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// asValue returns a text as a value, quoted if needed.
func asValue(s string) string {
	if s == "" || strings.ContainsAny(s, spaces+",*()") || s[0] == '"' || s[0] == '/' {
		return literal(s)
	}
	return s
}
