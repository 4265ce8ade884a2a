package redact

import (
	"bytes"
	"strings"
)

// A table is one in a text: values that are parted by tabs, semicolons or commas (RFC
// 4180), or a table of Markdown. Its first line names the columns.
type table struct {
	sign  byte
	names []string // of the columns, plain
	rules []string // of the columns, "" where they hold no secrets
	// wordy says that a name is several words, as a sentence has them.
	wordy bool
}

// tableSigns may part columns. They are tried in this order.
const tableSigns = "\t|;,"

const (
	// maxTableHead is how long the line may be that names the columns, maxColumn how
	// long one of the names, and maxCell a value in quotes. All are bytes.
	maxTableHead = 4 << 10
	maxColumn    = 64
	maxCell      = 16 << 10
)

// A tableFinder finds the tables of a text.
type tableFinder struct {
	r    *Redactor
	text []byte
	// from is how far it has looked, and room how many bytes may be read in vain: so
	// the time is in proportion to the text.
	from, room int
}

func (r *Redactor) newTableFinder(text []byte) tableFinder {
	return tableFinder{r: r, text: text, room: 2*len(text) + 4096}
}

// hits finds the secrets in the table whose first line has a secret's name at an
// offset, if it is one that was not looked at. Offsets ascend.
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
			continue // somebody has forgotten quotes, so nobody knows the columns
		}
		for i, c := range cells {
			if t.rules[i] != "" && t.isSecret(i, text[c.start:c.end]) {
				hits = append(hits, hit{start: c.start, end: c.end, rule: t.rules[i]})
			}
		}
	}
	return hits
}

// endOfLine returns where the line ends that an offset is in.
func endOfLine(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// tableOf reads a line as the names of columns, of which one is a secret's. It
// returns nil where it is something else.
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
				return nil // in a sentence a blank follows a comma
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

// isColumn reports whether a text may be the name of a column, and not a type beside
// the name of a variable.
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

// isRule reports whether a line is what stands below the names: of Markdown, or of what
// a database prints.
func isRule(line []byte) bool {
	return len(line) > 0 && len(bytes.Trim(line, "-:|+ \r")) == 0 && bytes.IndexByte(line, '-') >= 0
}

// row reads the cells of the line that begins at an offset, and where the next begins.
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

// cell reads the cell that begins at an offset, without its quotes, and where it ends.
// In quotes there may be line breaks.
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

// trimmed is a part of a text without the white space around it, and without the marks
// of code in Markdown.
func trimmed(text []byte, s span) span {
	for s.start < s.end && strings.IndexByte(" \r`", text[s.start]) >= 0 {
		s.start++
	}
	for s.start < s.end && strings.IndexByte(" \r`", text[s.end-1]) >= 0 {
		s.end--
	}
	return s
}

// isSecret reports whether what stands below a secret's name is one. Where it may as
// well stand for something else, it has to look like one.
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
