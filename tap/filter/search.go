package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Found is the set of the texts and regular expressions of a filter that a payload
// holds, a bit each. The zero value is the empty set. It is valid for the filter
// that returned it.
type Found []uint64

// Add adds what another payload holds, such as a further message of a call. It
// copies other.
func (found *Found) Add(other Found) {
	for i, bits := range other {
		if i == len(*found) {
			*found = append(*found, 0)
		}
		(*found)[i] |= bits
	}
}

func (found *Found) set(bit int) {
	for bit/64 >= len(*found) {
		*found = append(*found, 0)
	}
	(*found)[bit/64] |= 1 << (bit % 64)
}

func (found Found) has(bit int) bool {
	return bit/64 < len(found) && found[bit/64]>>(bit%64)&1 != 0
}

// A payloadText is a text or a regular expression that is searched for in
// payloads.
type payloadText struct {
	glob glob // if re is nil
	re   *regexp.Regexp
}

// views is the number of forms in which a payload is searched: as it is, with the escapes
// of JSON strings replaced, and with those of JSON inside a JSON string replaced as well.
const views = 3

// Search returns which texts and regular expressions of the filter the payload holds.
func (f *Filter) Search(payload []byte) (found Found) {
	left := len(f.texts)
	view := payload
	for i := 0; i < views && left > 0; i++ {
		if i > 0 {
			if bytes.IndexByte(view, '\\') < 0 {
				break
			}
			view = unescape(view)
		}
		var folded []byte
		for bit, text := range f.texts {
			ok := found.has(bit)
			switch {
			case ok:
				continue
			case text.re != nil:
				ok = text.re.Match(view)
			default:
				if folded == nil {
					folded = fold(view)
				}
				ok = text.glob.within(folded)
			}
			if ok {
				found.set(bit)
				left--
			}
		}
	}
	return found
}

// A glob is a text in which a star stands for any characters or none. It has the
// folded texts between the stars; they may be empty.
type glob [][]byte

// newGlob returns the glob of a value. Stars in a quoted value are literal.
func newGlob(v *value) (g glob) {
	parts := []string{v.text}
	if v.form == bare {
		parts = strings.Split(v.text, "*")
	}
	for _, s := range parts {
		g = append(g, fold([]byte(s)))
	}
	return g
}

// within reports whether the glob matches a part of a folded text.
func (g glob) within(folded []byte) bool {
	for _, part := range g {
		i := bytes.Index(folded, part)
		if i < 0 {
			return false
		}
		folded = folded[i+len(part):]
	}
	return true
}

// is reports whether the glob matches all of a folded text.
func (g glob) is(folded []byte) bool {
	last := len(g) - 1
	if last == 0 {
		return bytes.Equal(folded, g[0])
	}
	n := len(folded) - len(g[last])
	return n >= len(g[0]) && bytes.HasPrefix(folded, g[0]) && bytes.HasSuffix(folded, g[last]) &&
		g[1:last].within(folded[len(g[0]):n])
}

// fold replaces each character by the smallest of those that differ from it only by case,
// and letters of ASCII by lower case, so that folded texts are equal if [strings.EqualFold]
// reports that the texts are. Bytes that are not UTF-8 are unchanged.
func fold(b []byte) []byte {
	folded := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		c := b[i]
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
		}
		i += size
		switch {
		case 'A' <= c && c <= 'Z':
			folded = append(folded, c+'a'-'A')
		case size == 1:
			folded = append(folded, c)
		default:
			folded = utf8.AppendRune(folded, foldRune(r))
		}
	}
	return folded
}

func foldRune(r rune) rune {
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// unescape replaces the escapes of JSON strings. Everything else is unchanged.
func unescape(b []byte) []byte {
	var text []byte
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return append(text, b...)
		}
		text = append(text, b[:i]...)
		r, n := jsonrpc.Unescape(b[i:])
		if n == 0 {
			r, n = '\\', 1
		}
		text = utf8.AppendRune(text, r)
		b = b[i+n:]
	}
}

// payload compiles a value of a term without a key.
func (p *parser) payload(v *value) (*node, *Error) {
	text := payloadText{}
	switch {
	case v.form == pattern:
		var err *Error
		if text.re, err = p.regexp(v, "(?m)"); err != nil {
			return nil, err
		}
	case v.form == bare && strings.Trim(v.text, "*") == "":
		return testNode(func(*Item) bool { return true }), nil
	default:
		text.glob = newGlob(v)
	}
	p.f.needs |= NeedPayload
	p.f.texts = append(p.f.texts, text)
	return &node{op: opPayload, bit: len(p.f.texts) - 1}, nil
}

// text compiles a value of a key of text.
func (p *parser) text(k *key, v *value) (*node, *Error) {
	g := newGlob(v)
	is := func(s string) bool { return s != "" && g.is(fold([]byte(s))) }
	if v.form == pattern {
		re, err := p.regexp(v, "")
		if err != nil {
			return nil, err
		}
		is = func(s string) bool { return s != "" && re.MatchString(s) }
	}
	if k.texts != nil {
		return testNode(func(it *Item) bool { return slices.ContainsFunc(k.texts(it), is) }), nil
	}
	return testNode(func(it *Item) bool { return is(k.text(it)) }), nil
}

// id compiles a value of id:. A quoted value is a string. A bare one is a number
// or null if it can be, and a string otherwise. Patterns match all of them.
func (p *parser) id(v *value) (*node, *Error) {
	if v.form == pattern {
		re, err := p.regexp(v, "")
		return testNode(func(it *Item) bool {
			id, _ := idText(it.ID)
			return len(it.ID) > 0 && re.Match(id)
		}), err
	}
	if v.form == bare && (v.text == "null" || isNumber(v.text)) {
		return testNode(func(it *Item) bool { return string(it.ID) == v.text }), nil
	}
	g := newGlob(v)
	return testNode(func(it *Item) bool {
		id, isString := idText(it.ID)
		return len(it.ID) > 0 && (isString || len(g) > 1) && g.is(fold(id))
	}), nil
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	return (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// idText returns an id without its quotes and escapes.
func idText(id []byte) (text []byte, isString bool) {
	if len(id) < 2 || id[0] != '"' {
		return id, false
	}
	return unescape(bytes.TrimSuffix(id[1:], []byte(`"`))), true // it may be cut off
}

// regexp compiles a regular expression, with flags before it.
func (p *parser) regexp(v *value, flags string) (*regexp.Regexp, *Error) {
	_, err := syntax.Parse(v.text, syntax.Perl) // without the flags, as errors quote it
	if err == nil {
		var re *regexp.Regexp
		if re, err = regexp.Compile(flags + v.text); err == nil {
			return re, nil
		}
	}
	from, to := v.from+strings.IndexByte(p.q[v.from:v.to], '/')+1, v.to-1
	problem, help := "bad regular expression", `a backslash before a character makes it literal, and "…" a whole text`
	var bad *syntax.Error
	if errors.As(err, &bad) {
		problem += ": " + bad.Code.String()
		if i := strings.Index(p.q[from:to], bad.Expr); i >= 0 && bad.Expr != "" {
			from, to = from+i, from+i+len(bad.Expr)
		}
		switch bad.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape:
			help = "RE2 has no look-around and no backreferences, see https://golang.org/s/re2syntax"
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			help = "at most 1000 repetitions are allowed"
		}
	}
	return nil, p.wrong(from, to, problem, help)
}
