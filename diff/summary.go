package diff

import (
	"fmt"
	"slices"
	"strings"
)

// Of each class the summary names maxClauses calls, and of each call maxInClause
// differences.
const (
	maxClauses  = 3
	maxInClause = 2
)

// summarize says in a sentence what changed, what matters most first.
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

// rest says how much is the same.
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

// kept says what was kept back.
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

// clause names the first differences of a class, those of one call together.
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
		who, what := d.clause()
		k := slices.IndexFunc(named, func(p clausePart) bool { return p.who == who && who != "" })
		switch {
		case k >= 0 && slices.Contains(named[k].whats, what):
		case k >= 0 && len(named[k].whats) < maxInClause:
			named[k].whats = append(named[k].whats, what)
		case k < 0 && len(named) < maxClauses:
			named = append(named, clausePart{who, []string{what}})
		default:
			more = true
		}
	}
	var parts []string
	for _, p := range named {
		parts = append(parts, strings.TrimPrefix(p.who+": "+strings.Join(p.whats, ", "), ": "))
	}
	if more {
		parts = append(parts, "and more")
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, "; ")
	}
	return s + "."
}

// A clausePart is what a clause says of one call.
type clausePart struct {
	who   string
	whats []string
}

// classCount is how many differences of a class there are, in words.
func classCount(c Class, n uint64) string {
	switch c {
	case Behaviour, Timing:
		return count(n, "difference") + " in " + c.String()
	case Expected:
		return count(n, "difference") + " expected by the revision"
	}
	return count(n, c.String()+" difference")
}

// clause says in a few words where it differs, "" if the words say that too, and
// how.
func (d *Difference) clause() (who, what string) {
	who, what = d.who(), d.What
	switch {
	case d.In == InSession && what == "":
		return d.Path, d.Kind.String()
	case d.In == InSession:
		return d.Path, what
	case d.Kind == Slower || d.Kind == Faster:
		what = d.Kind.String() + ", " + d.Durations()
	case d.What == neverPlayed:
		what = "never played"
	case d.In == InCall && d.Kind == Removed && d.A == d.CallA:
		what = "not asked any more"
	case d.In == InCall && d.Kind == Added && d.B == d.CallB:
		what = "asked now"
	case d.names:
		return "", what
	case what == "" && d.Message != "" && d.Path == "$.params" && d.Kind == Removed:
		return who, oneLine(d.Message, 60) + " is missing"
	case what == "" && d.Message != "" && d.Path == "$.params" && d.Kind == Added:
		return who, oneLine(d.Message, 60) + " is new"
	case what == "":
		what = d.part() + " " + d.Kind.String()
	}
	if d.Message != "" {
		what = oneLine(d.Message, 60) + ": " + what
	}
	if d.Times > 1 {
		what += fmt.Sprintf(" (%d times)", d.Times)
	}
	return who, what
}

// part is the path, within a definition for those.
func (d *Difference) part() string {
	if i := strings.Index(d.Path, `"].`); i >= 0 && strings.HasSuffix(d.Method, "/list") {
		return d.Path[i+len(`"].`):]
	}
	return d.Path
}

// who names the call, or of a definition what is defined.
func (d *Difference) who() string {
	if i := strings.Index(d.Path, `["`); i >= 0 && strings.HasSuffix(d.Method, "/list") {
		if end := strings.Index(d.Path[i+2:], `"]`); end >= 0 {
			return d.Path[i+2 : i+2+end]
		}
	}
	return strings.TrimSpace(d.Method + " " + oneLine(d.Subject, 60))
}

// count is a number with its noun.
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
