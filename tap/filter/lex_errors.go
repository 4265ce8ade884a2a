package filter

import "strings"

// wrong makes the error for a part of the query.
func (l *lexer) wrong(from, to int, problem, help string) *Error {
	return &Error{Query: l.q, Pos: from, Len: to - from, Problem: problem, Help: help}
}

// unknownKey is the error for a name before a colon that is no key. It leads
// on behind what was probably meant as one term.
func (l *lexer) unknownKey(from int, name string) *Error {
	l.i = from + len(l.word(from))
	meant := nearestKey(name)
	problem := "unknown key " + shown(name+":")
	text := toQuote(l.q[from:l.i])
	if meant != "" {
		return l.wrong(from, from+len(name)+1, problem, "did you mean "+meant+":? (as text: "+text+")")
	}
	return l.wrong(from, from+len(name)+1, problem,
		"the keys are "+strings.Join(keyNames(), " ")+" (as text: "+text+")")
}

// noValue is the error for a value that is not there.
func (l *lexer) noValue(t *term, v *value) *Error {
	word := l.word(t.from)
	switch {
	case t.key == nil && len(t.values) == 0 && word == ",":
		return l.wrong(v.from, v.from+1, "a comma alone", "commas mean or, as in foo,bar; as text: "+toQuote(","))
	case t.key == nil:
		return l.wrong(v.from, v.from, "nothing to search for", "commas mean or, as in foo,bar; as text: "+toQuote(word))
	case v.cmp != "":
		return l.wrong(v.from, l.i, "nothing to compare with", "try "+t.key.example())
	case len(t.values) > 0:
		return l.wrong(v.from, v.from, "empty value for "+t.key.name+":", "commas mean or, as in "+t.key.name+":a,b")
	}
	return l.wrong(t.from, l.i, "empty value for "+t.key.name+":", "try "+t.key.example()+" (as text: "+toQuote(word)+")")
}
