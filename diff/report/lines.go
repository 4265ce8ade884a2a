package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// A Line is one line of what is there before and after.
type Line struct {
	// Op is '-' for before, '+' for after, ' ' for what is the same.
	Op   byte
	Text []jsontree.Piece // escaped
}

// Lines lists what is there before and after, escaped: of long texts the lines
// that differ, else the values in short.
func Lines(d *diff.Difference) (lines []Line) {
	if len(d.Rows) == 0 {
		return values(d)
	}
	var old, now []Line
	flush := func() {
		lines = append(append(lines, old...), now...)
		old, now = nil, nil
	}
	for _, r := range d.Rows {
		if r.Skipped > 0 || r.Same {
			flush()
		}
		if r.Skipped > 0 {
			lines = append(lines, Line{' ', []jsontree.Piece{{Text: fmt.Sprintf("… %d lines are the same", r.Skipped), LeftOut: true}}})
		}
		if r.Same {
			lines = append(lines, Line{' ', Pieces(r.Old)})
			continue
		}
		if r.A > 0 {
			old = append(old, Line{'-', Pieces(r.Old)})
		}
		if r.B > 0 {
			now = append(now, Line{'+', Pieces(r.New)})
		}
	}
	flush()
	if d.MoreRows > 0 {
		lines = append(lines, Line{' ', []jsontree.Piece{{Text: fmt.Sprintf("… %d more lines", d.MoreRows), LeftOut: true}}})
	}
	return lines
}

// values are both values in short.
func values(d *diff.Difference) (lines []Line) {
	if d.Kind == diff.Moved {
		return []Line{{' ', []jsontree.Piece{{Text: Value(d.Old, d.OldSize)}}}}
	}
	if d.Old != "" {
		lines = append(lines, Line{'-', []jsontree.Piece{{Text: Value(d.Old, d.OldSize), Differs: true}}})
	}
	if d.New != "" {
		lines = append(lines, Line{'+', []jsontree.Piece{{Text: Value(d.New, d.NewSize), Differs: true}}})
	}
	return lines
}

// Value is an excerpt of a value, escaped, with how long the whole is if it was
// cut.
func Value(excerpt string, size int) string {
	s := escape.Escape(excerpt)
	if strings.HasSuffix(excerpt, "…") && size > len(excerpt) {
		s += fmt.Sprintf(" (%d bytes)", size)
	}
	return s
}

// Pieces are the pieces of a line, escaped, without the end of the line unless
// that is what differs. What is left out says how much.
func Pieces(pieces []jsontree.Piece) []jsontree.Piece {
	out := make([]jsontree.Piece, 0, len(pieces))
	for i, p := range pieces {
		text := p.Text
		switch {
		case p.LeftOut:
			text = fmt.Sprintf("…%d bytes…", p.Bytes)
		case i == len(pieces)-1 && (!p.Differs || text != "\n"):
			text = strings.TrimSuffix(text, "\n")
		}
		if !p.LeftOut {
			text = escape.Escape(strings.ReplaceAll(text, "\t", "    "))
		}
		if text != "" {
			out = append(out, jsontree.Piece{Text: text, Differs: p.Differs, LeftOut: p.LeftOut})
		}
	}
	return out
}

// String is the line as text, without what marks the pieces.
func (l Line) String() string {
	var b strings.Builder
	b.WriteByte(l.Op)
	b.WriteByte(' ')
	for _, p := range l.Text {
		b.WriteString(p.Text)
	}
	return b.String()
}

// roundTo is what a time is rounded to, so that it has three digits or so.
func roundTo(d time.Duration) time.Duration {
	for unit := time.Microsecond; unit < time.Second; unit *= 10 {
		if d.Abs() < 1000*unit {
			return unit
		}
	}
	return time.Second
}
