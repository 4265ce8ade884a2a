package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/replay/client"
)

// TestEscaped checks that texts of a server cannot move the cursor, in either format.
func TestEscaped(t *testing.T) {
	r := Report{Of: "notes"}
	for range maxNotes + 2 {
		r.Notes = append(r.Notes, client.Note{Kind: client.NoteUnknown, Method: "x\x1b[2J", Text: "it asked x\x1b[2J\r\n\u202e"})
	}
	var text, lines bytes.Buffer
	if err := r.Text(&term.Printer{W: &text}); err != nil {
		t.Fatal(err)
	}
	if err := r.JSON(&term.Printer{W: &lines}); err != nil {
		t.Fatal(err)
	}
	if s := text.String() + lines.String(); strings.ContainsAny(s, "\x1b\r\u202e") {
		t.Errorf("%q", s)
	}
	if n := strings.Count(text.String(), "\n"); n != maxNotes+3 || !strings.Contains(text.String(), "and 2 more, see --json") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
	if n := strings.Count(lines.String(), "\n"); n != maxNotes+3 {
		t.Errorf("%d lines of JSON", n)
	}
}
