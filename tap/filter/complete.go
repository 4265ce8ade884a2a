package filter

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Completion is one way to go on with a query.
type Completion struct {
	// From and To are the bytes of the query that Text takes the place of.
	From, To int
	Text     string
	// Help says what it means, "" for a value of the recording.
	Help string
}

// MaxCompletions is how many ways to go on [Complete] returns at most.
const MaxCompletions = 200

// Complete returns what the term at the cursor, a byte of the query, can become:
// a key, or a value of the key before it. The rest of the query may be wrong.
// Values that hold control or hidden characters are left out, so the texts may
// be sent to a terminal.
func Complete(query string, cursor int, seen Seen) []Completion {
	cursor = max(0, min(cursor, len(query)))
	t, open := termAt(query[:cursor])
	c := completer{query: query, cursor: cursor, seen: seen, open: open}
	switch {
	case t.key != nil:
		c.values(t.key, &t.values[len(t.values)-1])
	case t.name == "" && len(t.values) <= 1:
		c.keys(t.from)
	}
	return c.all
}

// termAt returns the term that a query ends in, an empty one if it ends between
// terms, and how many groups are open there.
func termAt(query string) (t term, open int) {
	l := lexer{q: query}
	for {
		l.skipSpace()
		if l.i == len(query) {
			return term{from: l.i}, l.open
		}
		if op := l.operator(); op != "" {
			l.i += len(op)
			continue
		}
		switch query[l.i] {
		case '(':
			l.open++
			l.i++
			continue
		case ')':
			l.open = max(0, l.open-1)
			l.i++
			continue
		case '-':
			l.i++
			continue
		}
		from := l.i
		t, _ := l.term()
		if l.i == len(query) {
			return t, l.open
		}
		l.i = max(l.i, from+1)
	}
}

type completer struct {
	query  string
	cursor int
	seen   Seen
	open   int
	all    []Completion
}

// keys completes a key, which is replaced with its colon.
func (c *completer) keys(from int) {
	to := c.cursor
	for to < len(c.query) && isLetter(c.query[to]) {
		to++
	}
	if to < len(c.query) && c.query[to] == ':' {
		to++
	}
	typed := c.query[from:c.cursor]
	for _, k := range keys {
		if hasPrefixFold(k.name, typed) {
			c.add(from, to, k.name+":", k.help)
		}
	}
}

// values completes a value of a key.
func (c *completer) values(k *key, v *value) {
	whole := lexer{q: c.query, i: v.from, open: c.open}
	to := c.cursor
	if _, err := whole.value(&term{key: k}); err == nil {
		to = max(to, whole.i)
	}
	if k.compares() {
		for _, e := range k.examples {
			text := strings.TrimPrefix(e, k.name+":")
			if strings.HasPrefix(text, c.query[v.from:c.cursor]) {
				c.add(v.from, to, text, "")
			}
		}
		return
	}
	if v.form == pattern {
		return
	}
	for _, w := range k.completed(v.text) {
		c.add(v.from, to, w.name, w.help)
	}
	if k.seen == nil {
		return
	}
	// What begins with the typed text comes before what only contains it.
	values := k.seen(c.seen)
	for _, s := range values {
		if hasPrefixFold(s, v.text) {
			c.add(v.from, to, asValue(s), "")
		}
	}
	var letters folder
	typed := letters.fold(nil, []byte(v.text))
	for _, s := range values {
		if !hasPrefixFold(s, v.text) && bytes.Contains(letters.fold(nil, []byte(s)), typed) {
			c.add(v.from, to, asValue(s), "")
		}
	}
}

// completed are the words that begin with a text or, if there are none, those that
// are also spelled so.
func (k *key) completed(text string) (all []word) {
	for _, w := range k.words {
		if hasPrefixFold(w.name, text) {
			all = append(all, w)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, w := range k.words {
		if slices.ContainsFunc(w.also, func(s string) bool { return hasPrefixFold(s, text) }) {
			all = append(all, w)
		}
	}
	return all
}

func (c *completer) add(from, to int, text, help string) {
	if len(c.all) < MaxCompletions && escape.Clean(text) {
		c.all = append(c.all, Completion{from, to, text, help})
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// asValue writes a text as a value, in quotes if it has to be.
func asValue(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\v\f\r,*()") || s[0] == '"' || s[0] == '/' {
		return literal(s)
	}
	return s
}
