package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestMatch compares lists of many lengths, which are parted or not, with the plain way
// to say what is paired.
func TestMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var x matcher // one for all, as its memory is used again
	for _, n := range []int{0, 1, 7, partSize - 1, partSize, 3*partSize + 5, 1, 9 * partSize, 10} {
		for _, m := range []int{0, 1, n / 2, n, 2 * n} {
			for _, kinds := range []int{1, 2, n/3 + 1, 4*n + 1} {
				list := func(n int) []uint64 {
					all := make([]uint64, n)
					for i := range all {
						all[i] = mix(uint64(r.IntN(kinds)), 1)
					}
					return all
				}
				a, b := list(n), list(m)
				for _, once := range []bool{true, false} {
					if got, want := x.match(a, b, once), plainMatch(a, b, once); !slices.Equal(got, want) {
						t.Fatalf("%d and %d of %d kinds, once %v: they are paired otherwise", n, m, kinds, once)
					}
				}
			}
		}
	}
}

func plainMatch(a, b []uint64, once bool) []int32 {
	inA, inB := map[uint64]int{}, map[uint64][]int32{}
	for _, h := range a {
		inA[h]++
	}
	for j, h := range b {
		inB[h] = append(inB[h], int32(j))
	}
	toB := make([]int32, len(a))
	for i, h := range a {
		toB[i] = -1
		switch at := inB[h]; {
		case once && inA[h] == 1 && len(at) == 1:
			toB[i] = at[0]
		case !once && len(at) > 0:
			toB[i], inB[h] = at[0], at[1:]
		}
	}
	return toB
}

// TestLongLines: what two long lines begin and end with is passed over, whatever stands
// in it, and nothing else is.
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
		rows, _ := Hunks(c.a, c.b, 0, 10)
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
				if bytes += len(p.Text) + p.Bytes; p.Differs {
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

// TestSingleChildren goes down thousands of levels that have a single child, which
// change in name, in kind, or in what a member is hidden by.
func TestSingleChildren(t *testing.T) {
	deep := func(open, inner, end string) string {
		return strings.Repeat(open, 3000) + inner + strings.Repeat(end, 3000)
	}
	for _, c := range []struct{ a, b, want string }{
		{deep("[", "1", "]"), deep("[", "2", "]"), "changed 1 2 at depth 3000"},
		{deep(`{"a":`, "1", "}"), deep(`{"a":`, "2", "}"), "changed 1 2 at depth 3000"},
		{deep(`{"a":[`, "1", "]}"), deep(`{"a":[`, "[]", "]}"), "removed 1  at depth 6000; added  [] at depth 6000"},
		{deep(`{"a":0,"a":`, "1", "}"), deep(`{"a":`, "2", "}"), "changed 1 2 at depth 3000"},
		{deep("[", `{"b":1}`, "]"), deep("[", `{"c":1}`, "]"), "removed 1  at depth 3001; added  1 at depth 3001"},
		{deep("[", `{"name":"x","v":1}`, "]"), deep("[", `{"name":"y","v":1}`, "]"), `removed {"name":"x","v":1}  at depth 3000; added  {"name":"y","v":1} at depth 3000`},
		{deep("[", "1.0", "]"), deep("[", "1", "]"), "respelled 1.0 1 at depth 3000"},
	} {
		var got []string
		repeated := 0
		path := Path{To("result")}
		Compare(root(t, c.a), root(t, c.b), path, func(x *Change) bool {
			if x.Kind == Repeated {
				repeated++
				return true
			}
			got = append(got, fmt.Sprintf("%s %s %s at depth %d", x.Kind, x.A.Raw(), x.B.Raw(), len(x.Path)-1))
			return true
		})
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%.30s: %.300q, want %q", c.a, got, c.want)
		}
		if want := strings.Count(c.a, `"a":0`); repeated != want {
			t.Errorf("%.30s: %d names are repeated on one side, want %d", c.a, repeated, want)
		}
	}
}
