package replay

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestOptionNames(t *testing.T) {
	for m := range matches {
		if back, err := ParseMatch(m.String()); err != nil || back != m {
			t.Errorf("%v: %v, %v", m, back, err)
		}
	}
	for r := range repeats {
		if back, err := ParseRepeat(r.String()); err != nil || back != r {
			t.Errorf("%v: %v, %v", r, back, err)
		}
	}
	for _, text := range []string{"brisk", "instant", "recorded", "10x", "0.5x"} {
		if p, err := ParsePace(text); err != nil || p.String() != text {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	if p, err := ParsePace("1x"); err != nil || p != Recorded {
		t.Errorf("%v, %v", p, err)
	}
	for _, wrong := range []string{"", "2", "x", "0x", "-1x", "nanx", "infx", "1e9x", "fast"} {
		if p, err := ParsePace(wrong); err == nil || !strings.Contains(err.Error(), "want brisk") {
			t.Errorf("%q: %v, %v", wrong, p, err)
		}
	}
	for _, err := range []error{second(ParseMatch("Exact")), second(ParseRepeat(""))} {
		if err == nil || !strings.Contains(err.Error(), "want ") {
			t.Error(err)
		}
	}
	if matches.String() != "match(4)" || repeats.String() != "repeat(3)" || faultKinds.String() != "fault(9)" || noteKinds.String() != "note(19)" {
		t.Error(matches, repeats, faultKinds, noteKinds)
	}
}

func second[T any](_ T, err error) error { return err }

func TestPaceDelay(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		pace  Pace
		gap   time.Duration
		first bool
		want  time.Duration
	}{
		{Brisk, time.Hour, true, 0},
		{Brisk, time.Hour, false, briskMost},
		{Brisk, ms, false, ms},
		{Brisk, -ms, false, 0},
		{Instant, time.Hour, false, 0},
		{Recorded, time.Minute, true, time.Minute},
		{Recorded, time.Minute, false, time.Minute},
		{Pace(4), time.Minute, false, 15 * time.Second},
		{Pace(0.5), time.Minute, false, 2 * time.Minute},
		{Pace(1e-3), math.MaxInt64, false, longest},
	} {
		if got := c.pace.delay(c.gap, c.first); got != c.want {
			t.Errorf("%v after %v: %v, want %v", c.pace, c.gap, got, c.want)
		}
	}
}

// The kinds of notes that are failures, and those that are deviations.
func TestNoteKinds(t *testing.T) {
	var fails, deviates []string
	seen := map[string]bool{}
	for k := range noteKinds {
		if seen[k.String()] {
			t.Errorf("%v twice", k)
		}
		seen[k.String()] = true
		if k.Fails() {
			fails = append(fails, k.String())
		} else if k.Deviates() {
			deviates = append(deviates, k.String())
		}
	}
	if s := strings.Join(fails, " "); s != "miss used_up timeout" {
		t.Error(s)
	}
	if s := strings.Join(deviates, " "); s != "repeat relaxed response skipped cancelled left version" {
		t.Error(s)
	}
}

func TestParseFault(t *testing.T) {
	for text, want := range map[string]string{
		"delay=2s tools/call:forecast":         "delay=2s tools/call:forecast",
		"  drop   p=0.1 ":                      "drop p=0.1",
		"error":                                "error=-32603",
		"error=-32000 tools/call:* n=2":        "error=-32000 tools/call:* n=2",
		"disconnect resources/read every=5":    "disconnect resources/read every=5",
		"truncate * n=1 every=2 p=1":           "truncate * n=1 every=2 p=1",
		"malformed tools/call:a:b":             "malformed tools/call:a:b",
		"reorder notifications/progress":       "reorder notifications/progress",
		"duplicate resources/read:file:///x=1": "",
	} {
		f, err := ParseFault(text)
		if want == "" {
			// A word with = is a name unless it is one of the options.
			want = text
		}
		if err != nil || f.String() != want {
			t.Errorf("%q: %v, %v, want %s", text, f, err, want)
			continue
		}
		if reparsed, err := ParseFault(f.String()); err != nil || reparsed != f {
			t.Errorf("%v: read back as %v, %v", f, reparsed, err)
		}
	}
	for text, want := range map[string]string{
		"":               "empty fault",
		"explode":        `unknown fault "explode"`,
		"delay":          "delay needs a time",
		"delay=-1s":      "delay needs a time",
		"delay=2":        "delay needs a time",
		"error=x":        "must be an integer",
		"drop=1":         "drop takes no value",
		"drop n=0":       "is invalid",
		"drop n=x":       "is invalid",
		"drop p=2":       "is invalid",
		"drop p=nan":     "is invalid",
		"drop every=-1":  "is invalid",
		"drop a b":       `"b" is an unexpected word`,
		"drop a n=1 b=2": "unexpected word",
		"drop n=1 n=2":   `"n=2" repeats n`,

		"error notifications/progress": "error: no client sends notifications/progress",
		"status=503 roots/list n=2":    "status=503: no client sends roots/list",
	} {
		if f, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, f, err, want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x", true}, {"a*", "ab", true}, {"*b", "ab", true}, {"a*b", "ab", true},
		{"a*b", "acb", true}, {"a*b", "acbc", false}, {"a*a", "a", false}, {"*a*", "bab", true}, {"*a*b*", "xbxa", false}, {"a**b", "ab", true},
		{strings.Repeat("*a", 50), strings.Repeat("a", 10_000) + "b", false},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("%.20s, %.20s: %v", c.pattern, c.s, got)
		}
	}
}

// Chance depends on the seed, each fault on its own count, and adding a fault does not change when
// the others strike.
func TestChances(t *testing.T) {
	strikes := func(seed uint64, faults ...string) string {
		var opt Options
		opt.Seed = seed
		for _, text := range faults {
			f, err := ParseFault(text)
			if err != nil {
				t.Fatal(err)
			}
			opt.Faults = append(opt.Faults, f)
		}
		c := newChances(&opt)
		var b strings.Builder
		for range 60 {
			switch f := c.pick("a", "n", true, false); {
			case f == nil:
				b.WriteByte('.')
			default:
				b.WriteByte(f.Kind.String()[1])
			}
		}
		return b.String()
	}
	one := strikes(1, "drop p=0.3")
	if second := strikes(1, "drop p=0.3"); second != one {
		t.Errorf("%s, %s", one, second)
	}
	if other := strikes(2, "drop p=0.3"); other == one {
		t.Errorf("seed 2 as seed 1: %s", one)
	}
	if n := strings.Count(one, "r"); n < 8 || n > 30 {
		t.Errorf("%d of 60: %s", n, one)
	}
	if got := strikes(0, "drop n=2", "error every=3 a:n", "delay=1s b"); got[:6] != ".rr..r" {
		t.Error(got) // drop the second, error (r as well) each third
	}
	if got := strikes(0, "drop n=3", "error n=2"); got[:4] != ".rr." {
		t.Error(got)
	}
	both := strikes(1, "drop p=0.3", "error n=1 b")
	if both != one {
		t.Errorf("%s, %s", one, both)
	}
}
