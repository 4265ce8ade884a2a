package filter

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// A unit is how the numbers of a key are written.
type unit struct {
	parse func(string) (n uint64, ok bool)
	// name is the name of such a number in errors, and help explains how to write one.
	name, help string
	// measured is set if equality is of no use, so that a comparison is required.
	measured bool
}

// counts are plain numbers. A frame may be written as in a listing: #7.
var counts = unit{
	name: "number", help: "write it in digits, as in 17",
	parse: func(s string) (uint64, bool) {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 10, 64)
		return n, err == nil
	},
}

// statuses are HTTP statuses (RFC 9110, section 15).
var statuses = unit{
	name: "HTTP status", help: "write three digits, as in 404, or 4xx for 400 to 499",
	parse: func(s string) (uint64, bool) {
		n, err := strconv.ParseUint(s, 10, 64)
		return n, err == nil && 100 <= n && n <= 999
	},
}

// durations are in nanoseconds, as [time.ParseDuration] reads them, with days.
var durations = unit{
	measured: true, name: "duration", help: "write a number with a unit: 500ms, 1.5s, 1m30s, 2h, 3d",
	parse: func(s string) (uint64, bool) {
		days := uint64(0)
		if before, after, ok := strings.Cut(s, "d"); ok {
			var err error
			if days, err = strconv.ParseUint(before, 10, 16); err != nil {
				return 0, false
			}
			if s = after; s == "" {
				s = "0"
			}
		}
		d, err := time.ParseDuration(s)
		return days*uint64(24*time.Hour) + uint64(d), err == nil && d >= 0 && s[0] != '+'
	},
}

// sizes are in bytes. A unit of one letter is a power of 1024.
var sizes = unit{
	measured: true, name: "size", help: "write a number, with a unit if it is large: 4096, 64KiB, 1.5MB",
	parse: func(s string) (uint64, bool) {
		end := strings.LastIndexAny(s, "0123456789") + 1
		factor := sizeUnits[strings.ToLower(strings.TrimSpace(s[end:]))]
		n, ok := new(big.Rat).SetString(s[:end])
		if factor == 0 || !ok || strings.Trim(s[:end], "0123456789.") != "" {
			return 0, false
		}
		n.Mul(n, new(big.Rat).SetUint64(factor))
		bytes := new(big.Int).Quo(n.Num(), n.Denom())
		return bytes.Uint64(), bytes.IsInt64()
	},
}

var sizeUnits = map[string]uint64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// digits reports whether s consists of digits.
func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// number compiles a value of a key of numbers.
func (p *parser) number(k *key, v *value) (*node, *Error) {
	lo, hi, err := p.span(k, v)
	return testNode(func(it *Item) bool {
		n, ok := k.number(it)
		return ok && lo <= n && n <= hi
	}), err
}

// span returns the smallest and the largest number that match a value; lo is
// greater than hi if there are none.
func (p *parser) span(k *key, v *value) (lo, hi uint64, err *Error) {
	text := strings.TrimSpace(v.text)
	low, high, isRange := strings.Cut(text, "..")
	if k.unit == &statuses && v.cmp == "" && len(text) == 3 && '1' <= text[0] && text[0] <= '9' && strings.EqualFold(text[1:], "xx") {
		low, high, isRange = text[:1]+"00", text[:1]+"99", true
	}
	wrong := func(problem, help string) (uint64, uint64, *Error) {
		return 0, 0, p.wrong(v.from, v.to, problem, help)
	}
	switch {
	case v.form == pattern:
		return wrong(k.name+": does not support regular expressions", "try "+k.examples[0])
	case isRange && v.cmp != "":
		return wrong("comparison with a range", "leave out the "+shown(v.cmp))
	case isRange && low == "" && high == "":
		return wrong("range without ends", "try "+k.examples[len(k.examples)-1])
	case isRange:
		lo, hi = 0, math.MaxUint64
		if low != "" {
			lo, err = p.parseNumber(k.unit, v, low)
		}
		if high != "" && err == nil {
			hi, err = p.parseNumber(k.unit, v, high)
		}
		if err == nil && lo > hi {
			return wrong("empty range", "write the smaller end first: "+escape.String(high)+".."+escape.String(low))
		}
		return lo, hi, err
	}
	n, err := p.parseNumber(k.unit, v, text)
	switch {
	case err != nil:
		return 0, 0, err
	case v.cmp == ">" && n == math.MaxUint64, v.cmp == "<" && n == 0:
		return 1, 0, nil
	case v.cmp == ">":
		return n + 1, math.MaxUint64, nil
	case v.cmp == ">=":
		return n, math.MaxUint64, nil
	case v.cmp == "<":
		return 0, n - 1, nil
	case v.cmp == "<=":
		return 0, n, nil
	case v.cmp == "=", v.cmp == "" && !k.unit.measured:
		return n, n, nil
	case v.cmp == "":
		t := escape.String(shortened(text))
		return wrong(k.name+": needs a comparison", "write "+k.name+":>"+t+" or "+k.name+":<"+t+", or a range")
	}
	return 0, 0, p.wrong(v.from, v.from+len(v.cmp), "unknown comparison "+shown(v.cmp), "use one of > >= < <= =")
}

// parseNumber reads a number in a value.
func (p *parser) parseNumber(u *unit, v *value, text string) (uint64, *Error) {
	n, ok := u.parse(text)
	if ok {
		return n, nil
	}
	from, to := v.from+len(v.cmp), v.to
	if i := strings.Index(p.q[from:to], text); text != "" && i >= 0 {
		from, to = from+i, from+i+len(text)
	} else {
		from = v.from
	}
	problem, help := "invalid "+u.name, u.help
	if u == &durations && digits(text) {
		problem, help = "missing unit in", "write "+text+"ms or "+text+"s"
	}
	return 0, p.wrong(from, to, problem+" "+shown(text), help)
}
