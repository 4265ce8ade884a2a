package diff

import (
	"regexp"
	"strconv"
)

// A preset knows what a kind of volatile value looks like.
type preset struct {
	name   string
	text   *regexp.Regexp
	number func(s string) bool // nil where no number is one
}

var presets = []preset{
	{
		name: "timestamps",
		text: regexp.MustCompile(`\d{4}-[01]\d-[0-3]\d(?:[T ][0-2]\d:[0-5]\d(?::[0-6]\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?` +
			`|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*(?: \d{1,2})?(?: \d{4})?` +
			`(?: [0-2]?\d:[0-5]\d:[0-5]\d)?(?: (?:GMT|UTC|[A-Z]{3,4}|[+-]\d{4}))?(?: \d{4})?` +
			`|\b[0-2]?\d:[0-5]\d:[0-5]\d(?:[.,]\d+)?(?: ?[AaPp][Mm])?` +
			`|\b1[0-9]{9}(?:[0-9]{3}){0,3}(?:\.\d+)?\b`),
		number: isEpoch,
	},
	{
		name: "uuids",
		text: regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`),
	},
	{
		name: "durations",
		text: regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|milliseconds?|minutes?|min|m|h|hours?)\b(?: ?\d+(?:\.\d+)? ?(?:ms|s|m|sec)\b)*`),
	},
}

// Presets lists what may stand after --ignore in place of a path: names of
// volatile values that are known by their looks.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, "@"+p.name)
	}
	return names
}

func presetNamed(name string) *preset {
	for i := range presets {
		if presets[i].name == name {
			return &presets[i]
		}
	}
	return nil
}

// isEpoch reports whether a number may be a time since 1970, from 2001 to 2033,
// in seconds or in thousandths, millionths or billionths of one.
func isEpoch(s string) bool {
	whole := s
	for i := range len(s) {
		if s[i] == '.' {
			whole = s[:i]
			break
		}
	}
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return false
	}
	for _, unit := range []uint64{1, 1e3, 1e6, 1e9} {
		if n >= 1e9*unit && n < 2e9*unit {
			return true
		}
	}
	return false
}
