package report

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/jsontree"
)

func TestWrapPieces(t *testing.T) {
	text := func(lines [][]jsontree.Piece) (out []string) {
		for _, line := range lines {
			s := ""
			for _, p := range line {
				if p.Differs {
					s += "[" + p.Text + "]"
				} else {
					s += p.Text
				}
			}
			out = append(out, s)
		}
		return out
	}
	pieces := []jsontree.Piece{{Text: "one "}, {Text: "two three", Differs: true}, {Text: "天気予報🌦"}, {Text: "e\u0301"}}
	for width, want := range map[int]string{
		0:  "one [two three]天気予報🌦e\u0301",
		6:  "one [tw]|[o thre]|[e]天気|予報🌦e\u0301",
		99: "one [two three]天気予報🌦e\u0301",
	} {
		if got := strings.Join(text(wrapPieces(pieces, width)), "|"); got != want {
			t.Errorf("%d columns: %s, want %s", width, got, want)
		}
	}
	for _, line := range wrapPieces(pieces, 1) {
		if n := piecesWidth(line); n > 2 {
			t.Errorf("%v takes %d columns", line, n)
		}
	}
}
