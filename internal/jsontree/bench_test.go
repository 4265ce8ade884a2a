package jsontree

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// document returns a typical result of a server: records with texts and numbers, about
// size bytes. Each record differs from that of another seed with a probability of
// perMille thousandths.
func document(size int, seed uint64, perMille int) string {
	base, change := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	b.WriteString(`{"rows":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		n := base.IntN(1e9)
		if change.IntN(1000) < perMille {
			n = change.IntN(1e9)
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"record %d","score":%d.5,"tags":["a","b%d"],"ok":true,"at":{"x":%d,"y":null}}`, i, n, n%1000, n%7, n%13)
	}
	b.WriteString("]}")
	return b.String()
}

func numbers(n, from int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(from + i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// quoted returns a value inside a string.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

var pathological = []struct {
	name string
	make func(size int) (a, b string)
}{
	{"same", func(n int) (string, string) { return document(n, 1, 0), document(n, 2, 0) }},
	{"one_percent", func(n int) (string, string) { return document(n, 1, 10), document(n, 2, 10) }},
	{"unrelated", func(n int) (string, string) { return document(n, 1, 1000), document(n, 2, 1000) }},
	{"shifted_by_one", func(n int) (string, string) { return numbers(n/8, 1e6), numbers(n/8, 1e6+1) }},
	{"reversed", func(n int) (string, string) {
		a := strings.Split(strings.Trim(numbers(n/8, 1e6), "[]"), ",")
		b := make([]string, len(a))
		for i := range a {
			b[len(a)-1-i] = a[i]
		}
		return "[" + strings.Join(a, ",") + "]", "[" + strings.Join(b, ",") + "]"
	}},
	{"two_values_only", func(n int) (string, string) {
		return "[" + strings.Repeat("1,2,", n/4) + "0]", "[" + strings.Repeat("2,1,1,", n/6) + "3]"
	}},
	{"deep", func(n int) (string, string) {
		levels, times := 9000, max(n/18000, 1)
		one := func(leaf string) string { return strings.Repeat("[", levels) + leaf + strings.Repeat("]", levels) }
		return "[" + strings.Repeat(one("1")+",", times) + "0]", "[" + strings.Repeat(one("2")+",", times) + "0]"
	}},
	{"deep_both_sides", func(n int) (string, string) { // two elements at each level, so that each has to be aligned
		levels := min(n/8, 9000)
		one := func(leaf string) string {
			return strings.Repeat(`[0,`, levels) + leaf + strings.Repeat(","+leaf+"]", levels)
		}
		return one("1"), one("2")
	}},
	{"json_in_text", func(n int) (string, string) {
		return quoted(document(n, 1, 10)), quoted(document(n, 2, 10))
	}},
	{"json_in_text_3_times", func(n int) (string, string) {
		wrap := func(s string) string {
			for range 3 {
				s = "[" + quoted(s) + "]"
			}
			return s
		}
		return wrap(document(n/8, 1, 10)), wrap(document(n/8, 2, 10))
	}},
	{"many_members", func(n int) (string, string) {
		var a, b strings.Builder
		for i := range n / 16 {
			fmt.Fprintf(&a, `,"k%08d":1`, i)
			fmt.Fprintf(&b, `,"k%08d":2`, n/16-i)
		}
		return "{" + a.String()[1:] + "}", "{" + b.String()[1:] + "}"
	}},
	{"one_name", func(n int) (string, string) {
		return "{" + strings.Repeat(`"a":1,`, n/6) + `"b":1}`, "{" + strings.Repeat(`"a":2,`, n/6) + `"b":1}`
	}},
}

// readWhole reads a text, and the JSON inside its strings.
func readWhole(b *testing.B, text string, inside int) {
	v := root(b, text)
	var look func(Value)
	look = func(v Value) {
		if v.Kind() == String && inside < maxInside && holdsJSON(v.text()) {
			readWhole(b, v.Text(), inside+1)
		}
		for child := range v.children() {
			look(child)
		}
	}
	if v.Kind() == String || v.Kind() == Array && v.Len() == 1 {
		look(v)
	}
}

// BenchmarkCompare compares two values; parse measures reading them, including the JSON
// in their strings.
func BenchmarkCompare(b *testing.B) {
	for _, p := range pathological {
		for _, size := range []int{1 << 10, 100 << 10, 1 << 20, 10 << 20} {
			if testing.Short() && size > 100<<10 {
				continue
			}
			x, y := p.make(size)
			name := fmt.Sprintf("%s/%dKB", p.name, size>>10)
			b.Run(name+"/parse", func(b *testing.B) {
				b.SetBytes(int64(len(x) + len(y)))
				for b.Loop() {
					readWhole(b, x, 0)
					readWhole(b, y, 0)
				}
			})
			b.Run(name+"/compare", func(b *testing.B) {
				v, w := root(b, x), root(b, y)
				b.SetBytes(int64(len(x) + len(y)))
				for b.Loop() {
					Compare(v, w, nil, func(*Change) bool { return true })
				}
			})
		}
	}
}

func BenchmarkLines(b *testing.B) {
	lines := func(n, step int) string {
		var s strings.Builder
		for i := 0; s.Len() < n; i++ {
			fmt.Fprintf(&s, "%d: the quick brown fox number %d jumps\n", i, i*step)
		}
		return s.String()
	}
	for _, size := range []int{1 << 10, 100 << 10, 10 << 20} {
		for _, c := range []struct{ name, a, b string }{
			{"unrelated_lines", lines(size, 1), lines(size, 3)},
			{"one_line_changed", lines(size, 1), strings.Replace(lines(size, 1), "fox", "cat", 1)},
			{"distinct_words", strings.ReplaceAll(lines(size, 1), "\n", " "), strings.ReplaceAll(lines(size, 3), "\n", " ")},
			{"one_endless_word", strings.Repeat("a", size), strings.Repeat("b", size)},
			{"blank_lines", strings.Repeat("\n\nx\n", size/4), strings.Repeat("\nx\n\n\n", size/5)},
		} {
			b.Run(fmt.Sprintf("%s/%dKB", c.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(c.a) + len(c.b)))
				for b.Loop() {
					Lines(c.a, c.b, 3, 1000)
				}
			})
		}
	}
}
