package redact

import (
	"bytes"
	"strings"
)

// A table is a table in a text: values separated by tabs, semicolons or commas (RFC 4180),
// or a Markdown table. Its first line names the columns.
type table struct {
	sign  byte
	names []string // plain names of the columns
	rules []string // rules of the columns, "" for those without secrets
	// wordy reports that a name has several words, as in a sentence.
	wordy bool
}

// tableSigns are the possible column separators, in the order in which they are tried.
const tableSigns = "\t|;,"

const (
	// maxTableHead is the maximum length of the line with the names, maxColumn that of a
	// name, and maxCell that of a quoted value, in bytes.
	maxTableHead = 4 << 10
	maxColumn    = 64
	maxCell      = 16 << 10
)

// A tableFinder finds the tables of a text.
type tableFinder struct {
	r    *Redactor
	text []byte
	// from is the end of the searched text. room is the number of bytes that may be read
	// without a result, so that the time is linear.
	from, room int
}

func (r *Redactor) newTableFinder(text []byte) tableFinder {
	return tableFinder{r: r, text: text, room: 2*len(text) + 4096}
}

// hits finds the secrets in the table whose first line has the name of a secret at an
// offset, unless that line was searched before. Offsets must ascend.
func (x *tableFinder) hits(at int) (hits []hit) {
	if at < x.from || x.room < 0 {
		return nil
	}
	text, start := x.text, x.from+bytes.LastIndexByte(x.text[x.from:at], '\n')+1
	end := endOfLine(text, at)
	if x.from = end; end == len(text) || end-start > maxTableHead {
		return nil
	}
	t := x.r.tableOf(text[start:end])
	if t == nil {
		return nil
	}
	cells, next := t.row(text, end+1)
	if line := text[end+1 : endOfLine(text, end+1)]; t.sign == '|' && isRule(line) && (len(cells) == len(t.names) || bytes.IndexByte(line, '+') >= 0) {
		cells, next = t.row(text, next)
	} else if t.sign == '|' || len(cells) != len(t.names) {
		x.room -= next - end
		return nil
	}
	for ; len(cells) > 1; cells, next = t.row(text, next) {
		x.from = next
		if len(cells) != len(t.names) {
			continue // a missing quote: the columns are unknown
		}
		for i, c := range cells {
			if t.rules[i] != "" && t.isSecret(i, text[c.start:c.end]) {
				hits = append(hits, hit{start: c.start, end: c.end, rule: t.rules[i]})
			}
		}
	}
	return hits
}

// endOfLine returns the end of the line at an offset.
func endOfLine(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// tableOf reads a line as column names, one of which is the name of a secret. It returns
// nil for any other line.
func (r *Redactor) tableOf(line []byte) *table {
	for i := range len(tableSigns) {
		t := &table{sign: tableSigns[i]}
		cells, _ := t.row(line, 0)
		if len(cells) < 2 {
			continue
		}
		secret := false
		for _, c := range cells {
			name := line[c.start:c.end]
			if !isColumn(name) || t.sign != '|' && c.start > 0 && line[c.start-1] == ' ' {
				return nil // in a sentence a space follows a comma
			}
			rule := r.named(string(name))
			t.names, t.rules = append(t.names, plainName(string(name))), append(t.rules, rule)
			t.wordy = t.wordy || bytes.IndexByte(name, ' ') >= 0
			secret = secret || rule != ""
		}
		if secret {
			return t
		}
		return nil
	}
	return nil
}

// isColumn reports whether a text may be the name of a column, and not a type and a
// variable.
func isColumn(name []byte) bool {
	if len(name) == 0 || len(name) > maxColumn || typeNames[strings.ToLower(string(name))] && !SecretName(string(name)) {
		return false
	}
	for _, c := range name {
		if !word[c] && c != ' ' && c != '.' && c != '/' && c < 0x80 {
			return false
		}
	}
	return true
}

// isRule reports whether a line is the separator below the names, as in Markdown or the
// output of a database.
func isRule(line []byte) bool {
	return len(line) > 0 && len(bytes.Trim(line, "-:|+ \r")) == 0 && bytes.IndexByte(line, '-') >= 0
}

// row reads the cells of the line at an offset and returns the offset of the next line.
func (t *table) row(text []byte, at int) (cells []span, next int) {
	if at >= len(text) {
		return nil, at
	}
	if t.sign == '|' {
		line := trimmed(text, span{at, endOfLine(text, at)})
		for at < line.end && text[at] == ' ' || at == line.start && at < line.end && text[at] == '|' {
			at++
		}
		next, text = endOfLine(text, at)+1, bytes.TrimSuffix(text[:line.end], []byte("|"))
	}
	for {
		c, end := t.cell(text, at)
		cells = append(cells, c)
		if at = end + 1; end >= len(text) || text[end] == '\n' {
			return cells, max(at, next)
		}
	}
}

// cell reads the cell at an offset, without its quotes, and returns its end. A quoted cell
// may have line breaks.
func (t *table) cell(text []byte, at int) (c span, end int) {
	if t.sign != '|' && at < len(text) && text[at] == '"' {
		for i := at + 1; i < len(text) && i-at < maxCell; i++ {
			if text[i] != '"' {
				continue
			}
			if end = i + 1; end < len(text) && text[end] == '\r' {
				end++
			}
			if end == len(text) || text[end] == '\n' || text[end] == t.sign {
				return span{at + 1, i}, end
			}
			if text[i+1] != '"' {
				break
			}
			i++
		}
	}
	for end = at; end < len(text) && text[end] != '\n' && text[end] != t.sign; end++ {
	}
	return trimmed(text, span{at, end}), end
}

// trimmed removes white space and Markdown code marks around a part of a text.
func trimmed(text []byte, s span) span {
	for s.start < s.end && strings.IndexByte(" \r`", text[s.start]) >= 0 {
		s.start++
	}
	for s.start < s.end && strings.IndexByte(" \r`", text[s.end-1]) >= 0 {
		s.end--
	}
	return s
}

// isSecret reports whether a value in the column of a secret is one. If the column is
// ambiguous, the value must look like a secret.
func (t *table) isSecret(column int, value []byte) bool {
	name := t.names[column]
	switch {
	case vacant(value) || typeNames[strings.ToLower(string(value))] || isDir(name, value) || isStandIn(value) || isVariable(value):
		return false
	case t.rules[column] != nameRule:
		return true
	case figureNames[name] && isFigures(value):
		return len(value) >= 3
	}
	blank := bytes.IndexByte(value, ' ') >= 0
	if column > 0 && !t.wordy && !weakName(name) && (!wholeNames[name] || figureNames[name]) && (t.sign != '|' || !blank) {
		return len(value) >= 4
	}
	return dense(value) && !nameLike(value) && !blank && (len(value) >= 6 || !isFigures(value))
}
