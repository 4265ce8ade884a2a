package diff

import (
	"fmt"
	"strings"
)

// maxClauses is how many differences of a class the summary names.
const maxClauses = 3

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
	return strings.Join(parts, " ") + " " + r.rest()
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

// clause names the first differences of a class.
func (r *Report) clause(c Class, n uint64) string {
	head := map[Class]string{
		Breaking: "%d breaking", Behaviour: "%d in behaviour", Expected: "%d expected by the revision", Timing: "%d in timing", Cosmetic: "%d cosmetic",
	}[c]
	s := fmt.Sprintf(head, n)
	if c == Cosmetic || c == Expected {
		return s + "."
	}
	var named []string
	seen := map[string]bool{}
	more := 0
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Class != c {
			continue
		}
		text := d.clause()
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(named) == maxClauses {
			more++
			continue
		}
		named = append(named, text)
	}
	if len(named) > 0 {
		s += ": " + strings.Join(named, "; ")
	}
	if more > 0 {
		s += "; and more"
	}
	return s + "."
}

// clause says in a few words what differs.
func (d *Difference) clause() string {
	who := d.who()
	if d.Message != "" {
		who = strings.TrimSpace(who + " " + oneLine(d.Message, 60))
	}
	what := d.What
	switch {
	case d.In == InSession:
		who = d.Path
	case d.Kind == Slower || d.Kind == Faster:
		what = fmt.Sprintf("%s, %s instead of %s", d.Kind, rounded(d.NewTime), rounded(d.OldTime))
	case d.In == InCall && d.Kind == Removed && d.A == d.CallA:
		what = "not asked any more"
	case d.In == InCall && d.Kind == Added && d.B == d.CallB:
		what = "asked now"
	case d.names:
		return what
	}
	if what == "" {
		what = d.Path + " " + d.Kind.String()
	}
	if d.Times > 1 {
		what += fmt.Sprintf(" (%d times)", d.Times)
	}
	return strings.TrimPrefix(who+": "+what, ": ")
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
