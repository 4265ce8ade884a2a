package jsontree

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// drawn returns rows as text, with the differing pieces in brackets.
func drawn(a, b string, around, most int) string {
	rows, more := Lines(a, b, around, most)
	var s strings.Builder
	for _, r := range rows {
		if r.Skipped > 0 {
			fmt.Fprintf(&s, "(%d) ", r.Skipped)
		}
		fmt.Fprintf(&s, "%d %s | %d %s\n", r.A, drawnPieces(r.Old), r.B, drawnPieces(r.New))
	}
	if more > 0 {
		fmt.Fprintf(&s, "%d more\n", more)
	}
	return strings.TrimSuffix(s.String(), "\n")
}

func drawnPieces(pieces []Piece) string {
	var s strings.Builder
	for _, p := range pieces {
		text := p.Text
		if p.LeftOut > 0 {
			text = fmt.Sprintf("…%d…", p.LeftOut)
		}
		if p.Differs {
			text = "[" + text + "]"
		}
		s.WriteString(text)
	}
	return strings.ReplaceAll(s.String(), "\n", "$")
}

func TestLines(t *testing.T) {
	lines := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "line %d\n", i+1)
		}
		return s.String()
	}
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"same", "same", ""},
		{"Sunny, 21 °C", "Sunny, 22 °C", "1 Sunny, [21] °C | 1 Sunny, [22] °C"},
		{"one two three", "one three", "1 one [two ]three | 1 one three"},
		{"a b c", "x y c", "1 [a b] c | 1 [x y] c"},
		{"a", "a\n", "1 a | 1 a[$]"},
		{"", "new", "0  | 1 [new]"},
		{"gone\n", "", "1 [gone$] | 0 "},
		{"naïve Überfluß", "naïve Überfluss", "1 naïve [Überfluß] | 1 naïve [Überfluss]"},
		{lines(9), strings.Replace(lines(9), "line 5", "line five", 1),
			"(3) 4 line 4$ | 4 \n5 line [5]$ | 5 line [five]$\n6 line 6$ | 6 "},
		{lines(5), strings.Replace(lines(5), "line 3\n", "", 1), "(1) 2 line 2$ | 2 \n3 [line 3$] | 0 \n4 line 4$ | 3 "},
		{"x\ny\n", "x\n1\n2\n3\ny\n", "1 x$ | 1 \n0  | 2 [1$]\n0  | 3 [2$]\n0  | 4 [3$]\n2 y$ | 5 "},
	} {
		if got := drawn(c.a, c.b, 1, 100); got != c.want {
			t.Errorf("%q and %q:\n%s\nwant:\n%s", c.a, c.b, got, c.want)
		}
	}
}

func TestLinesShortenLongTexts(t *testing.T) {
	long := strings.Repeat("same words here ", 1000)
	got := drawn(long+"old "+long, long+"new "+long, 1, 10)
	if len(got) > 500 || !strings.Contains(got, "[old]") || !strings.Contains(got, "[new]") || !strings.Contains(got, "…15920…") {
		t.Errorf("one word in 32 KB: %s", got)
	}
	got = drawn(strings.Repeat("€", 1000), strings.Repeat("¥", 1000), 1, 10)
	if len(got) > 1200 || strings.ContainsRune(got, '�') || !strings.Contains(got, "…") {
		t.Errorf("a character is cut, or nothing is: %s", got)
	}
	if got := drawn(strings.Repeat("a\n", 100), strings.Repeat("b\n", 100), 1, 3); !strings.HasSuffix(got, "\n97 more") {
		t.Errorf("100 rows, want 3:\n%s", got)
	}
}

// TestLinesLoseNothing reassembles both texts from the rows.
func TestLinesLoseNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		a, b := randomText(rng), randomText(rng)
		rows, more := Lines(a, b, 1000, 1000)
		var x, y strings.Builder
		for _, r := range rows {
			for _, p := range r.Old {
				x.WriteString(p.Text)
				if r.Same {
					y.WriteString(p.Text)
				}
			}
			for _, p := range r.New {
				y.WriteString(p.Text)
			}
		}
		if x.String() != a || y.String() != b || more != 0 {
			t.Fatalf("%q and %q became %q and %q, %d more", a, b, x.String(), y.String(), more)
		}
	}
}

func randomText(rng *rand.Rand) string {
	var s strings.Builder
	for range rng.IntN(30) {
		s.WriteString([]string{"a", "b", " ", "\n", "word", "ü", ",", "\xff", "  ", "x\ny"}[rng.IntN(10)])
	}
	return s.String()
}

// A line that is too long to be split into words is one word.
func TestLongLinesAreOneWord(t *testing.T) {
	for _, n := range []int{maxWords, maxWords + 2} {
		if got := len(tokens(strings.Repeat("a ", n/2), 0, 0)); (got == 1) != (n > maxWords) {
			t.Errorf("%d bytes have %d words", n, got)
		}
	}
}

// TestLongLines checks that the common prefix and suffix of two long lines are skipped,
// whatever they contain, and nothing else.
func TestLongLines(t *testing.T) {
	filler := strings.Repeat("naïve Überfluß, ", longLine/8)
	for _, c := range []struct{ a, b, old, new string }{
		{filler + "old " + filler, filler + "new " + filler, "[old]", "[new]"},
		{filler + "one old two" + filler, filler + "one two" + filler, "[old ]", ""},
		{"old " + filler, "new " + filler, "[old]", "[new]"},
		{filler + " old", filler + " new", "[old]", "[new]"},
		{filler + "ü", filler + "ö", "[ü]", "[ö]"},
		{filler, filler + filler, "", "more"},
		{strings.Repeat("a", longLine) + "b" + strings.Repeat("a", longLine), strings.Repeat("a", 2*longLine+1), "more", "more"},
	} {
		rows, _ := Lines(c.a, c.b, 0, 10)
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		for side, x := range map[string]struct {
			pieces []Piece
			want   string
			all    string
		}{"old": {rows[0].Old, c.old, c.a}, "new": {rows[0].New, c.new, c.b}} {
			differs, bytes := "", 0
			for _, p := range x.pieces {
				if bytes += len(p.Text) + p.LeftOut; p.Differs {
					differs += fmt.Sprintf("[%s]", p.Text)
				}
			}
			if bytes != len(x.all) {
				t.Errorf("%s: pieces of %d bytes, want %d", side, bytes, len(x.all))
			}
			if differs != x.want && (x.want != "more" || differs == "") {
				t.Errorf("%s: %.80s differs, want %s", side, differs, x.want)
			}
		}
	}
}
