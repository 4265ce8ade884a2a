package view

import (
	"encoding/binary"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decimal returns the one spelling that all spellings of a JSON number's value
// share. No float is involved. An exponent beyond any sense is left as it is.
func decimal(n string) string {
	mantissa, power, exponent := n, int64(0), ""
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		mantissa, exponent = n[:i], n[i+1:]
		var err error
		if power, err = strconv.ParseInt(exponent, 10, 64); err != nil || len(exponent) > 18 {
			return n
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0" // -0 is 0
	}
	short := strings.TrimRight(digits, "0")
	power += int64(len(digits)-len(short)) - int64(len(fraction))
	sign := ""
	if negative {
		sign = "-"
	}
	return sign + short + "e" + strconv.FormatInt(power, 10)
}

// digest feeds a decoded JSON value to a hash, so that equal values, however
// they are spelled, and no others, give the same.
func digest(h hash.Hash, v any) {
	text := func(class byte, s string) {
		h.Write(binary.BigEndian.AppendUint64([]byte{class}, uint64(len(s))))
		h.Write([]byte(s))
	}
	switch v := v.(type) {
	case map[string]any:
		h.Write(binary.BigEndian.AppendUint64([]byte{'{'}, uint64(len(v))))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text('k', name)
			digest(h, v[name])
		}
	case []any:
		h.Write(binary.BigEndian.AppendUint64([]byte{'['}, uint64(len(v))))
		for _, e := range v {
			digest(h, e)
		}
	case string:
		text('s', v)
	case json.Number:
		text('n', decimal(string(v)))
	case bool:
		text('b', strconv.FormatBool(v))
	default:
		text('0', "")
	}
}
