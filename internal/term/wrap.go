package term

import (
	"strings"
	"unicode/utf8"
)

// WrapList joins words with commas, in lines of at most width columns. Lines after the first are two
// columns shorter, to leave room for an indent. A word that does not fit begins a new line. A word longer
// than a line is broken at its spaces, and cut if it has none. A width of 0 means unlimited.
func WrapList(title string, words []string, width int) (out []string) {
	if width <= 0 {
		return []string{title + strings.Join(words, ", ")}
	}
	line := title
	next := func() {
		if s := strings.TrimSpace(line); s != "" {
			out = append(out, Fit(s, width-2*min(len(out), 1)))
		}
		line = ""
	}
	fits := func(s string) bool { return Width(s) <= width-2*min(len(out), 1) }
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if i > 0 {
			line += " "
		}
		if !fits(line+w) && (i > 0 || Width(w) <= width-2) {
			next()
		}
		for j, piece := range strings.Split(w, " ") {
			if j > 0 {
				line += " "
			}
			if !fits(line + piece) {
				next()
			}
			line += piece
		}
	}
	next()
	return out
}

// Fold breaks a text at spaces into lines of at most width columns.
func Fold(s string, width int) (out []string) {
	line := ""
	for _, w := range strings.Split(s, " ") {
		if line != "" && Width(line+" "+w) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}

// FoldHard breaks a text at spaces, and within words that are wider than a line.
func FoldHard(s string, width int) (out []string) {
	for _, line := range Fold(s, width) {
		for width > 0 && Width(line) > width {
			n, _ := Fitting(line, width)
			if n == 0 { // a character is wider than a line
				_, n = utf8.DecodeRuneInString(line)
			}
			out, line = append(out, line[:n]), line[n:]
		}
		out = append(out, line)
	}
	return out
}

// Fitting returns how many bytes of a text fit into width columns, and how many columns
// they take. Combining marks stay with their base character.
func Fitting(s string, width int) (n, columnsUsed int) {
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		w := Width(string(r))
		if columnsUsed+w > width {
			break
		}
		columnsUsed += w
		n += size
	}
	return n, columnsUsed
}
