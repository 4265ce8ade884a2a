package redact

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// A charset is a set of bytes.
type charset [256]bool

func newCharset(ranges string) *charset {
	var c charset
	for i := 0; i < len(ranges); i += 2 {
		for b := int(ranges[i]); b <= int(ranges[i+1]); b++ {
			c[b] = true
		}
	}
	return &c
}

const asciiAlnum = "09azAZ"

var (
	alnum  = newCharset(asciiAlnum)
	word   = newCharset(asciiAlnum + "__--")
	urlish = newCharset(asciiAlnum + "__--++//==@@..")
)

// charsets are the sets that shapes.txt names.
var charsets = map[string]*charset{
	"digit": newCharset("09"), "hex": newCharset("09afAF"), "alnum": alnum, "word": word, "urlish": urlish,
	"dotted": newCharset(asciiAlnum + "__--..=="), "coded": newCharset(asciiAlnum + "++//=="), "tilde": newCharset(asciiAlnum + "__--..~~"),
}

// A shape is the form of the keys of a service: a prefix, matched exactly, and at least
// a given number of bytes of a set.
type shape struct {
	rule, prefix string
	body         *charset
	least        int
	// barred are the bytes that must not precede a short prefix, so that it does not match
	// inside a word.
	barred *charset
	// head is the set of the count bytes between the prefix and link, which precedes
	// the body; nil if there are none.
	head  *charset
	count int
	link  string
	// lead is the set of the few to many bytes before a prefix in the middle of a secret,
	// nil for none.
	lead      *charset
	few, many int
}

//go:embed shapes.txt
var shapesText string

// parseShapes reads shapes.txt, which describes its format.
func parseShapes(text string) (all []shape, err error) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		s, err := parseShape(words)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parseShape(words []string) (s shape, err error) {
	set := func(name string) *charset {
		c := charsets[name]
		if c == nil {
			err = fmt.Errorf("no set %q", name)
		}
		return c
	}
	number := func(text string) int {
		n, wrong := strconv.Atoi(text)
		if wrong != nil || n < 0 || n > 300 {
			err = fmt.Errorf("invalid number %q", text)
		}
		return n
	}
	if len(words) < 5 {
		return s, fmt.Errorf("%d fields, want 5 or more", len(words))
	}
	s = shape{rule: words[0], prefix: words[1], body: set(words[2]), least: number(words[3])}
	switch words[4] {
	case "-":
	case "word":
		s.barred = alnum
	case "apart":
		s.barred = barredApart
	default:
		return s, fmt.Errorf("%q is not -, word or apart", words[4])
	}
	switch more := words[5:]; {
	case len(more) == 0:
	case more[0] == "then" && len(more) == 4:
		s.head, s.count, s.link = s.body, s.least, more[1]
		own := charset{}
		if second := set(more[2]); second != nil {
			own = *second
		}
		s.body, s.least = &own, number(more[3]) // its own copy of the set, see runs
	case more[0] == "after" && (len(more) == 3 || len(more) == 4):
		s.lead, s.few = set(more[1]), number(more[2])
		s.many = number(more[len(more)-1])
	default:
		err = fmt.Errorf("unknown end %q", more)
	}
	return s, err
}

var barredApart = newCharset(asciiAlnum + "++//__--..")

// runs caches, for each set, the end of the run in which the last secret began, so that the
// time is linear even for a text of prefixes.
type runs map[*charset]int

// end returns the end of the run at an offset. Offsets must ascend.
func (r runs) end(set *charset, text []byte, at int) int {
	if end := r[set]; at < end {
		return end
	}
	for at < len(text) && set[text[at]] {
		at++
	}
	r[set] = at
	return at
}

// match finds the secret of the shape whose prefix is at an offset. It returns an empty
// range if there is none.
func (s *shape) match(text []byte, at int, r runs) (from, to int) {
	if !s.follows(text[at:]) || s.barred != nil && at > 0 && s.barred[text[at-1]] {
		return 0, 0
	}
	body := at + len(s.prefix) + s.count + len(s.link)
	to = r.end(s.body, text, body)
	for to > body && text[to-1] == '.' { // the end of a sentence
		to--
	}
	if to-body < s.least {
		return 0, 0
	}
	from = at
	for s.lead != nil && from > 0 && at-from < s.many && s.lead[text[from-1]] {
		from--
	}
	if at-from < s.few {
		return 0, 0
	}
	return from, to
}

// Keys finds JSON Web Tokens and the keys of services in texts. It is immutable, so several goroutines may use it.
type Keys struct {
	prefixes *automaton // eyJ, and those of the shapes
	shapes   []shape
}

// NewKeys returns a Keys.
func NewKeys() *Keys {
	shapes, err := parseShapes(shapesText)
	if err != nil {
		panic("redact: " + err.Error())
	}
	words := []string{"eyj"}
	for _, s := range shapes {
		words = append(words, s.prefix)
	}
	return &Keys{newAutomaton(words), shapes}
}

// Find returns the ranges of the keys in a text, in order.
func (k *Keys) Find(text []byte) (found [][2]int) {
	ends := runs{}
	k.prefixes.each(text, func(w int32, start, end int) {
		from, to := start, 0
		if w == 0 {
			to = jwtEnd(text, start, ends)
		} else {
			from, to = k.shapes[w-1].match(text, start, ends)
		}
		switch n := len(found); {
		case from >= to:
		case n > 0 && from < found[n-1][1]:
			found[n-1][1] = max(to, found[n-1][1])
		default:
			found = append(found, [2]int{from, to})
		}
	})
	return found
}

// follows reports whether a text begins with the prefix and enough bytes after it.
func (s *shape) follows(text []byte) bool {
	body := len(s.prefix) + s.count + len(s.link)
	if len(text) < body+s.least || string(text[:len(s.prefix)]) != s.prefix {
		return false
	}
	if s.head != nil {
		link := body - len(s.link)
		if !s.head.all(text[len(s.prefix):link]) || string(text[link:body]) != s.link {
			return false
		}
	}
	return s.body.all(text[body : body+s.least])
}

// all reports whether all bytes of a text are in the set.
func (c *charset) all(text []byte) bool {
	for _, b := range text {
		if !c[b] {
			return false
		}
	}
	return true
}
