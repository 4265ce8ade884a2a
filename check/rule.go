package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Class is the severity of a violation. Larger is worse.
type Class uint8

const (
	// Observation is a matter of security, performance or hygiene, or something that the
	// traffic only suggests.
	Observation Class = iota + 1
	// Should is a recommendation of the specification.
	Should
	// Must is a requirement of the specification.
	Must
	// ClientBreaking makes common SDKs lose a call, a list or the connection.
	ClientBreaking
)

// Classes are the names of the classes, worst first.
var Classes = []string{"client-breaking", "must", "should", "observation"}

// String returns the name of the class.
func (c Class) String() string {
	if c < Observation || c > ClientBreaking {
		return "none"
	}
	return Classes[ClientBreaking-c]
}

// ParseClass is the inverse of [Class.String].
func ParseClass(s string) (Class, error) {
	if i := slices.Index(Classes, s); i >= 0 {
		return ClientBreaking - Class(i), nil
	}
	return 0, fmt.Errorf("unknown class %q (want %s)", s, strings.Join(Classes, ", "))
}

// A Rule is one requirement.
type Rule struct {
	// ID names the rule: a family and a number, as in rpc-08. Ids are stable, and those of
	// removed rules are not reused.
	ID string
	// Class is the class, with revisions if it depends on them: "must@B-E observation@A".
	Class string
	// In are the revisions in which the rule is judged, such as "A-E" or "A,C-E": A is
	// 2024-11-05, B 2025-03-26, C 2025-06-18, D 2025-11-25 and E 2026-07-28.
	In string
	// Side is the side that is bound: client, server or both.
	Side string
	// Transport is the transport on which the rule is judged: any, stdio, http, or sse for HTTP+SSE.
	Transport string
	// Text is the requirement; for an observation it may be the problem instead.
	Text string
	// Source names the pages of the specification, by revision: "B-D:basic/transports#stdio".
	Source string
	// Fix is advice on how to fix a violation, in one line.
	Fix string
	// New returns the functions that judge one session. They keep their state, which must be
	// bounded, in variables of New. New is nil for rules that compare with a lock.
	New func(s *Session) Hooks

	// classes are the classes by revision, set when the rule is registered.
	classes [5]Class
}

// Hooks are the functions of a rule for one session. Each may be nil. A function reports its
// verdict to v: no call means that the rule does not apply.
type Hooks struct {
	// Message judges a message that the bound side sent and that On selects.
	Message func(m *Message, v *Verdict)
	// On selects messages by kind, and by method if one is given: "request", "notification",
	// "result" and "error", or "message" for all of these; "invalid" for anything that is not
	// a message; "batch" for a batch before its elements. "result tools/list" is the result
	// of a tools/list. "request elicitation/create" also selects entries of inputRequests,
	// and "result elicitation/create" entries of inputResponses (2026-07-28).
	On []string
	// Watch sees all messages of both sides, before Message, to keep state.
	Watch func(m *Message)
	// Frame judges a frame, of any lane. It is called in any revision.
	Frame func(e *session.Entry, v *Verdict)
	// Exchange judges an HTTP exchange that has ended, or is open at the end of the recording.
	Exchange func(x *Exchange, v *Verdict)
	// Call judges a call that has ended, or is open at the end of the recording.
	Call func(c *session.Call, v *Verdict)
	// End judges the session at the end of the recording.
	End func(v *Verdict)
}

// each returns New for a rule without state: judge judges the messages that on selects.
func each(judge func(m *Message, v *Verdict), on ...string) func(*Session) Hooks {
	return func(*Session) Hooks { return Hooks{On: on, Message: judge} }
}

// eachFrame and eachExchange are like each for a rule that judges frames or exchanges.
func eachFrame(judge func(e *session.Entry, v *Verdict)) func(*Session) Hooks {
	return func(*Session) Hooks { return Hooks{Frame: judge} }
}

func eachExchange(judge func(x *Exchange, v *Verdict)) func(*Session) Hooks {
	return func(*Session) Hooks { return Hooks{Exchange: judge} }
}

// revisions are the revisions that rules denote by the letters A to E.
var revisions = jsonrpc.Revisions[:5]

// indexOf returns the index of a revision in Rule.classes, or -1.
func indexOf(rev jsonrpc.Revision) int {
	switch rev { // a search would take a fifth of the time of a whole check
	case jsonrpc.Rev20241105:
		return 0
	case jsonrpc.Rev20250326:
		return 1
	case jsonrpc.Rev20250618:
		return 2
	case jsonrpc.Rev20251125:
		return 3
	case jsonrpc.Rev20260728:
		return 4
	}
	return -1
}

// known returns rev, or "" for an unknown revision, as if none had been named. The dialect
// counts as known, but has no rules.
func known(rev jsonrpc.Revision) jsonrpc.Revision {
	if indexOf(rev) < 0 && rev != jsonrpc.Dialect {
		return ""
	}
	return rev
}

// parseRevisions returns the indexes of the revisions in a list of letters and ranges of letters.
func parseRevisions(list string) (all []int) {
	for part := range strings.SplitSeq(list, ",") {
		for c := part[0]; c <= part[len(part)-1]; c++ {
			all = append(all, int(c-'A'))
		}
	}
	return all
}

// prepare parses Class and In. It panics on a mistake in them, which a test would find.
func (r *Rule) prepare() {
	in := parseRevisions(r.In)
	for part := range strings.FieldsSeq(r.Class) {
		name, at, _ := strings.Cut(part, "@")
		class, err := ParseClass(name)
		if err != nil {
			panic(err)
		}
		for _, i := range parseRevisions(cmp.Or(at, r.In)) {
			r.classes[i] = class
		}
	}
	for i, class := range r.classes {
		if (class != 0) != slices.Contains(in, i) {
			panic(fmt.Errorf("%s: class %q does not cover the revisions %s", r.ID, r.Class, r.In))
		}
	}
}

// ClassIn returns the class in a revision, or 0 if the rule is not judged in it. If the revision
// is not known, it returns the mildest class of all revisions.
func (r *Rule) ClassIn(rev jsonrpc.Revision) Class {
	if rev == "" {
		return slices.Min(r.classes[:])
	}
	if i := indexOf(rev); i >= 0 {
		return r.classes[i]
	}
	return 0
}

// RevisionNames returns the revisions in which the rule is judged, oldest first.
func (r *Rule) RevisionNames() (names []string) {
	for _, rev := range revisions {
		if r.ClassIn(rev) != 0 {
			names = append(names, string(rev))
		}
	}
	return names
}

// ClassText returns Class with the names of revisions.
func (r *Rule) ClassText() string { return named(strings.ReplaceAll(r.Class, " ", ", ")) }

// SourceText returns Source with the names of revisions.
func (r *Rule) SourceText() string { return named(r.Source) }

// revisionList matches a list of revisions before the page of a source or after a class.
var revisionList = regexp.MustCompile(`\b[A-E](-[A-E])?(,[A-E](-[A-E])?)*:|@[A-E](-[A-E])?\b`)

func named(text string) string {
	return revisionList.ReplaceAllStringFunc(text, func(list string) string {
		lead, tail := "", " "
		if list[0] == '@' {
			lead, tail = " in ", ""
		}
		var names strings.Builder
		for _, c := range strings.Trim(list, "@:") {
			switch c {
			case '-':
				names.WriteString(" to ")
			case ',':
				names.WriteString(", ")
			default:
				names.WriteString(string(revisions[c-'A']))
			}
		}
		return lead + names.String() + tail
	})
}

// Worst returns the worst class of the rule in any revision.
func (r *Rule) Worst() Class { return slices.Max(r.classes[:]) }

// binds reports whether the rule binds the sender of a lane.
func (r *Rule) binds(lane tap.Lane) bool {
	return r.Side == "both" || r.Side == "client" && lane == tap.ToServer || r.Side == "server" && lane == tap.ToClient
}

// applies reports whether the rule is judged on the transport of a session.
func (r *Rule) applies(transport string) bool {
	return r.Transport == "any" || r.Transport == transport || r.Transport == "http" && transport == "sse"
}

// families lists all declared rules by family.
var families = [][]Rule{
	rulesRPC, rulesApp, rulesAuth, rulesCapability, rulesClient, rulesDeprecated, rulesDrift, rulesExtension, rulesFeature, rulesFlow,
	rulesHTTP, rulesHTTPSession, rulesStream, rulesInit, rulesMRTR, rulesNegotiation, rulesPerformance, rulesSecurity, rulesStdio, rulesSubscription, {ruleSchema}, rulesSchema, rulesPin, rulesTask, rulesType,
}

// Rules returns all rules, ordered by family and number. The rules are shared.
var Rules = sync.OnceValue(func() []*Rule {
	var all []*Rule
	for _, family := range families {
		for i := range family {
			family[i].prepare()
			all = append(all, &family[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
})

// Lookup returns the rule with an id, or nil.
func Lookup(id string) *Rule {
	for _, r := range Rules() {
		if r.ID == id {
			return r
		}
	}
	return nil
}
