package filter

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// counts are plain numbers. The numbers of frames may be written as in a
// listing, as #7.
var counts = unit{parse: func(s string) (uint64, string, string) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 10, 64)
	if err != nil {
		return 0, "is no number", "write it in digits, as in 17"
	}
	return n, "", ""
}}

// statuses are those of HTTP (RFC 9110 section 15).
var statuses = unit{
	parse: func(s string) (uint64, string, string) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n < 100 || n > 999 {
			return 0, "is no HTTP status", "write three digits, as in 404, or 4xx for 400 to 499"
		}
		return n, "", ""
	},
	family: func(s string) (span, bool) {
		if len(s) != 3 || s[0] < '1' || s[0] > '9' || !strings.EqualFold(s[1:], "xx") {
			return span{}, false
		}
		n := uint64(s[0]-'0') * 100
		return span{n, n + 99}, true
	},
}

// durations are as Go writes them, with days, in nanoseconds.
var durations = unit{measured: true, parse: func(s string) (uint64, string, string) {
	const help = "write a number with a unit: 500ms, 1.5s, 1m30s, 2h, 3d"
	if digits(s) && strings.Trim(s, "0") != "" {
		return 0, "has no unit", "write " + s + "ms or " + s + "s"
	}
	rest, days := s, uint64(0)
	if before, after, ok := strings.Cut(s, "d"); ok {
		var err error
		if days, err = strconv.ParseUint(before, 10, 16); err != nil {
			return 0, "is no duration", help
		}
		if rest = after; rest == "" {
			rest = "0"
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || strings.HasPrefix(rest, "+") {
		return 0, "is no duration", help
	}
	return days*uint64(24*time.Hour) + uint64(d), "", ""
}}

// sizes are in bytes. A unit of one letter counts in 1024s, as its users on a
// command line mean it.
var sizes = unit{measured: true, parse: func(s string) (uint64, string, string) {
	const help = "write a number, with a unit if it is large: 4096, 64KiB, 1.5MB"
	end := strings.LastIndexAny(s, "0123456789.") + 1
	factor := sizeUnits[strings.ToLower(strings.TrimSpace(s[end:]))]
	n, ok := scaled(s[:end], factor)
	if !ok {
		return 0, "is no size", help
	}
	return n, "", ""
}}

var sizeUnits = map[string]uint64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// scaled multiplies a decimal number, which no float has to round.
func scaled(number string, factor uint64) (uint64, bool) {
	whole, fraction, point := strings.Cut(number, ".")
	if factor == 0 || !digits(whole+fraction) || point && fraction == "" {
		return 0, false
	}
	if len(fraction) > 6 {
		fraction = fraction[:6]
	}
	n, err := strconv.ParseUint("0"+whole, 10, 64)
	if err != nil || n > math.MaxInt64/factor/2 {
		return 0, false
	}
	part, power := uint64(0), uint64(1)
	for _, c := range fraction {
		part, power = part*10+uint64(c-'0'), power*10
	}
	return n*factor + part*factor/power, true // part < 1e6, so this stays below 1<<60
}

// digits reports whether s is made of digits.
func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
