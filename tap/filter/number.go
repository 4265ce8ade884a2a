package filter

import (
	"math"
	"strings"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// A unit is how the numbers of a key are written.
type unit struct {
	// parse reads a number. What is wrong with it is said in words: the problem
	// goes after the number itself, the help stands alone.
	parse func(s string) (n uint64, problem, help string)
	// measured says that the number is known only about, so that it makes no
	// sense to look for one.
	measured bool
	// family reads what stands for a span of numbers, such as 4xx.
	family func(s string) (span, bool)
}

// A span holds the numbers from lo to hi, both included; none if lo > hi.
type span struct{ lo, hi uint64 }

var emptySpan = span{1, 0}

// compileNumber compiles a value of a key of numbers.
func compileNumber(p *parser, k *key, v *value) (func(*Item) bool, *Error) {
	s, err := p.span(k, v)
	if err != nil {
		return nil, err
	}
	return func(it *Item) bool {
		n, ok := k.number(it)
		return ok && s.lo <= n && n <= s.hi
	}, nil
}

func (p *parser) span(k *key, v *value) (span, *Error) {
	text := strings.TrimSpace(v.text)
	if v.form == pattern {
		return span{}, p.wrong(v.from, v.to, k.name+": takes numbers, no regular expression", "try "+k.example())
	}
	if low, high, ok := strings.Cut(text, ".."); ok {
		return p.between(k, v, low, high)
	}
	if v.cmp == "" && k.unit.family != nil {
		if s, ok := k.unit.family(text); ok {
			return s, nil
		}
	}
	n, err := p.number(k, v, text)
	if err != nil {
		return span{}, err
	}
	switch v.cmp {
	case ">":
		if n == math.MaxUint64 {
			return emptySpan, nil
		}
		return span{n + 1, math.MaxUint64}, nil
	case ">=":
		return span{n, math.MaxUint64}, nil
	case "<":
		if n == 0 {
			return emptySpan, nil
		}
		return span{0, n - 1}, nil
	case "<=":
		return span{0, n}, nil
	case "=":
		return span{n, n}, nil
	case "":
		if !k.unit.measured {
			return span{n, n}, nil
		}
		t := escape.Escape(shortened(text))
		return span{}, p.wrong(v.from, v.to, k.name+": needs a comparison", "write "+k.name+":>"+t+" or "+k.name+":<"+t+", or a range")
	}
	return span{}, p.wrong(v.from, v.from+len(v.cmp), "unknown comparison "+shown(v.cmp), "there are > >= < <= and =")
}

// between reads a range. Either end may be missing.
func (p *parser) between(k *key, v *value, low, high string) (span, *Error) {
	if v.cmp != "" {
		return span{}, p.wrong(v.from, v.to, "a comparison with a range", "leave out the "+shown(v.cmp))
	}
	s := span{0, math.MaxUint64}
	var err *Error
	if low == "" && high == "" {
		return span{}, p.wrong(v.from, v.to, "a range without ends", "try "+k.examples[len(k.examples)-1])
	}
	if low != "" {
		if s.lo, err = p.number(k, v, low); err != nil {
			return span{}, err
		}
	}
	if high != "" {
		if s.hi, err = p.number(k, v, high); err != nil {
			return span{}, err
		}
	}
	if s.lo > s.hi {
		return span{}, p.wrong(v.from, v.to, "a range that holds nothing", "write the smaller end first: "+escape.Escape(high)+".."+escape.Escape(low))
	}
	return s, nil
}

func (p *parser) number(k *key, v *value, text string) (uint64, *Error) {
	n, problem, help := k.unit.parse(text)
	if problem == "" {
		return n, nil
	}
	from := v.from + len(v.cmp)
	if i := strings.Index(p.q[from:v.to], text); text != "" && i >= 0 {
		return 0, p.wrong(from+i, from+i+len(text), shown(text)+" "+problem, help)
	}
	return 0, p.wrong(v.from, v.to, shown(text)+" "+problem, help)
}
