package redact

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// sample makes a key of a shape, or one that is short bytes too short.
func (p *planter) sample(s *shape, short int) string {
	of := func(set *charset, n int) string {
		var all []byte
		for c := range 256 {
			if set != nil && set[c] && alnum[c] && c != '0' { // what ends in a sign may end before it
				all = append(all, byte(c))
			}
		}
		if len(all) == 0 {
			return ""
		}
		return p.of(string(all), n)
	}
	few, count, least := s.few, s.count, s.least
	switch {
	case least > 0:
		least -= short
	case few > 0:
		few -= short
	}
	return of(s.lead, few) + s.prefix + of(s.head, count) + s.link + of(s.body, least)
}

// Each line of shapes.txt finds a key of its form in any place, and ignores texts that are
// shorter, have another case, or are part of a longer word.
func TestShapes(t *testing.T) {
	shapes, err := parseShapes(shapesText)
	if err != nil || len(shapes) < 200 {
		t.Fatal(len(shapes), err)
	}
	p := &planter{rand.New(rand.NewPCG(11, 12))}
	r := New(testOptions())
	frame := func(raw string, lane tap.Lane) string {
		r.Again()
		r.known = known{}
		return string(r.Frame(&tap.Frame{Seq: 1, Lane: lane, Raw: []byte(raw)}))
	}
	places := func(text string) map[string]tap.Lane {
		return map[string]tap.Lane{
			answer(`{"type":"text","text":"It is ` + text + `, see there."}`):                          tap.ToClient,
			`{"event":"request","method":"POST","target":"/mcp","header":[["X-Note","` + text + `"]]}`: tap.Lifecycle,
			`{"event":"request","method":"GET","target":"/mcp?q=` + text + `&n=1","header":[]}`:        tap.Lifecycle,
			"at " + text + "\n": tap.Stderr,
		}
	}
	for i := range shapes {
		s := &shapes[i]
		name := s.rule + " " + s.prefix
		key := p.sample(s, 0)
		for raw, lane := range places(key) {
			got := frame(raw, lane)
			if strings.Contains(got, key) || !strings.Contains(got, prefix) {
				t.Errorf("%s: left in %s", name, got)
			}
			if json.Valid([]byte(raw)) != json.Valid([]byte(got)) {
				t.Errorf("%s: %s became %s", name, raw, got)
			}
			for _, f := range r.Findings() {
				if f.Rule != s.rule {
					t.Errorf("%s is found as %s", name, f.Rule)
				}
			}
		}
		misses := []string{p.sample(s, 1)}
		if s.prefix != strings.ToUpper(s.prefix) && s.lead == nil {
			misses = append(misses, strings.ToUpper(key[:len(s.prefix)])+key[len(s.prefix):])
		}
		if s.barred != nil {
			misses = append(misses, "x"+key)
		}
		for _, miss := range misses {
			for raw, lane := range places(miss) {
				if got := frame(raw, lane); got != raw {
					t.Errorf("%s: %s became %s", name, raw, got)
				}
			}
		}
	}
}

// A mistake in a line is an error, not a rule that finds nothing.
func TestShapesThatAreWrong(t *testing.T) {
	for _, line := range []string{
		"a", "a b alnum 3", "a b what 3 -", "a b alnum x -", "a b alnum 3 so", "a b alnum 3 - then", "a b alnum 3 - then . what 3",
		"a b alnum 3 - after alnum", "a b alnum 3 - before alnum 2", "a b alnum 999 -",
	} {
		if all, err := parseShapes(line); err == nil {
			t.Errorf("%s: %+v", line, all)
		}
	}
}
