package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff/load"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/replay/client"
)

// TestReplayHeadIsEscaped: what a server says cannot move the cursor of whoever reads
// about it, in neither form.
func TestReplayHeadIsEscaped(t *testing.T) {
	r := replayer{o: &replayOptions{}, from: &load.Recording{Name: "notes"}}
	for range maxReplayNotes + 2 {
		r.notes = append(r.notes, client.Note{Kind: client.NoteUnknown, Method: "x\x1b[2J", Text: "it asked x\x1b[2J\r\n\u202e"})
	}
	var text, lines bytes.Buffer
	if err := r.textHead(&term.Printer{W: &text}); err != nil {
		t.Fatal(err)
	}
	if err := r.jsonHead(&term.Printer{W: &lines}); err != nil {
		t.Fatal(err)
	}
	if s := text.String() + lines.String(); strings.ContainsAny(s, "\x1b\r\u202e") {
		t.Errorf("%q", s)
	}
	if n := strings.Count(text.String(), "\n"); n != maxReplayNotes+3 || !strings.Contains(text.String(), "and 2 more, see --json") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
	if n := strings.Count(lines.String(), "\n"); n != maxReplayNotes+3 {
		t.Errorf("%d lines of JSON", n)
	}
}
