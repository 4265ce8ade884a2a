package diff

import (
	"fmt"
	"slices"
	"strings"
)

// The summary names up to maxClauses calls of each class, and up to maxInClause differences
// of each call.
const (
	maxClauses  = 3
	maxInClause = 2
)

// summarize summarizes the report as text, the highest class first.
func (r *Report) summarize() string {
	if _, differs := r.Worst(); !differs {
		s := fmt.Sprintf("No differences in %s", count(r.Calls, "call"))
		if r.Calls == 0 {
			s = "No differences, and no calls"
		}
		return s + r.kept() + "."
	}
	var parts []string
	for c := int(Classes) - 1; c >= 0; c-- {
		if n := r.Counts[c]; n > 0 {
			parts = append(parts, r.clause(Class(c), n))
		}
	}
	return strings.TrimSpace(strings.Join(parts, " ") + " " + r.rest())
}

// rest describes how many calls are the same.
func (r *Report) rest() string {
	if r.Calls == 0 {
		return strings.TrimPrefix(r.kept()+".", ".")
	}
	verb := "behave"
	if r.Same+r.Alike == 1 || r.Calls == 1 {
		verb = "behaves"
	}
	return fmt.Sprintf("%d of %s %s the same%s.", r.Same+r.Alike, count(r.Calls, "call"), verb, r.kept())
}

// kept describes what was left out.
func (r *Report) kept() string {
	var parts []string
	if r.Noise > 0 {
		parts = append(parts, count(r.Noise, "difference")+" left out as noise")
	}
	if r.Ignored > 0 {
		parts = append(parts, fmt.Sprintf("%d ignored", r.Ignored))
	}
	if r.TooLarge > 0 {
		parts = append(parts, count(uint64(r.TooLarge), "message")+" too large to be compared")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// clause describes the first differences of a class by call.
func (r *Report) clause(c Class, n uint64) string {
	s := classCount(c, n)
	if c == Cosmetic || c == Expected {
		return s + "."
	}
	var named []clausePart
	more := false
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Class != c {
			continue
		}
		call, what := d.clause()
		k := slices.IndexFunc(named, func(p clausePart) bool { return p.call == call && (call != "" || p.whats[0] == what) })
		switch {
		case k >= 0 && slices.Contains(named[k].whats, what):
		case k >= 0 && len(named[k].whats) < maxInClause:
			named[k].whats = append(named[k].whats, what)
		case k < 0 && len(named) < maxClauses:
			named = append(named, clausePart{call, []string{what}})
		default:
			more = true
		}
	}
	var parts []string
	for _, p := range named {
		parts = append(parts, strings.TrimPrefix(p.call+": "+strings.Join(p.whats, ", "), ": "))
	}
	if more {
		parts = append(parts, "and more")
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, "; ")
	}
	return s + "."
}

// A clausePart is the part of a clause about one call.
type clausePart struct {
	call  string
	whats []string
}

// classCount returns the number of differences of a class in words.
func classCount(c Class, n uint64) string {
	switch c {
	case Behaviour, Timing:
		return count(n, "difference") + " in " + c.String()
	case Expected:
		return count(n, "difference") + " expected by the revision"
	}
	return count(n, c.String()+" difference")
}

// clause describes the difference in a few words. call is "" if what names it.
func (d *Difference) clause() (call, what string) {
	call, what = d.call(), d.What
	switch {
	case d.In == InSession && what == "":
		return d.Path, d.Kind.String()
	case d.In == InSession:
		return d.Path, what
	case d.Kind == Slower || d.Kind == Faster:
		what = d.Kind.String() + ", " + d.Durations()
	case d.What == neverPlayed:
		what = neverPlayed
	case d.In == InCall && d.Kind == Removed && d.A == d.CallA:
		what = "no longer sent"
	case d.In == InCall && d.Kind == Added && d.B == d.CallB:
		what = "new request"
	case d.names:
		return "", what
	case what == "" && d.Message != "" && d.Path == "$.params" && d.Kind == Removed:
		return call, oneLine(d.Message, 60) + " is missing"
	case what == "" && d.Message != "" && d.Path == "$.params" && d.Kind == Added:
		return call, oneLine(d.Message, 60) + " is new"
	case what == "":
		what = d.part() + " " + d.Kind.String()
	}
	if d.Message != "" {
		what = oneLine(d.Message, 60) + ": " + what
	}
	if d.Times > 1 {
		what += fmt.Sprintf(" (%d times)", d.Times)
	}
	return call, what
}

// part returns the path, relative to its definition if it is in one.
func (d *Difference) part() string {
	if i := strings.Index(d.Path, `"].`); i >= 0 && strings.HasSuffix(d.Method, "/list") {
		return d.Path[i+len(`"].`):]
	}
	return d.Path
}

// call returns the name of the call, or of the definition, that contains the difference.
func (d *Difference) call() string {
	if i := strings.Index(d.Path, `["`); i >= 0 && strings.HasSuffix(d.Method, "/list") {
		if end := strings.Index(d.Path[i+2:], `"]`); end >= 0 {
			return d.Path[i+2 : i+2+end]
		}
	}
	return strings.TrimSpace(d.Method + " " + oneLine(d.Subject, 60))
}

// count returns a number with its noun.
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
