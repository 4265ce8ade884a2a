package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/internal/jsontree"
)

// Options say how a script is matched and played. The zero value matches exactly,
// repeats the last answer of a key that is used up, and plays briskly.
type Options struct {
	// Match is how far a request may differ from the recorded one.
	Match Match
	// Ignore are members of params that may differ anyway.
	Ignore []Path
	// Repeat says what happens when the recorded requests of a key are used up.
	Repeat Repeat
	// Pace says when steps are due.
	Pace Pace
	// Faults are what is to go wrong, in the order in which they are tried; Seed
	// is for those that happen by chance.
	Faults []Fault
	Seed   uint64
	// GateTimeout is how long the client may take to answer a request of the
	// server's; 0 means DefaultGateTimeout.
	GateTimeout time.Duration
	// Elsewhere, if set, is offered each request that nothing recorded fits, as it
	// stood, and reports whether it will be answered there. It is called while the
	// session takes the message in, and must not wait for anything. It is for
	// sessions on one duplex stream.
	Elsewhere func(raw []byte) bool
}

// DefaultGateTimeout is how long a client may take to answer. People answer too,
// and some of them take their time.
const DefaultGateTimeout = 5 * time.Minute

// A Match says how far a request may differ from the recorded one that it gets the
// answer of. Each level includes those before.
type Match uint8

const (
	// MatchExact takes a request with the same key.
	MatchExact Match = iota
	// MatchParams leaves _meta out.
	MatchParams
	// MatchSubset takes a request that has all that the recorded one had, with
	// the same values, and maybe more.
	MatchSubset
	// MatchMethod takes one of the same method, of the same tool, prompt or
	// resource if there is one.
	MatchMethod
	matches
)

var matchNames = [matches]string{"exact", "params", "subset", "method"}

// String returns the level's stable name: exact, params, subset or method.
func (m Match) String() string {
	return nameOfKind(matchNames[:], "match", uint8(m))
}

// ParseMatch is the inverse of [Match.String].
func ParseMatch(s string) (Match, error) {
	m, err := kindOfName(matchNames[:], "match", s)
	return Match(m), err
}

// A Repeat says what a request gets when all recorded ones of its key have been
// used in the session.
type Repeat uint8

const (
	// RepeatLast plays the last one again.
	RepeatLast Repeat = iota
	// RepeatLoop begins again with the first one.
	RepeatLoop
	// RepeatError takes the request for one that was not recorded.
	RepeatError
	repeats
)

var repeatNames = [repeats]string{"last", "loop", "error"}

// String returns the stable name: last, loop or error.
func (r Repeat) String() string {
	return nameOfKind(repeatNames[:], "repeat", uint8(r))
}

// ParseRepeat is the inverse of [Repeat.String].
func ParseRepeat(s string) (Repeat, error) {
	r, err := kindOfName(repeatNames[:], "repeat", s)
	return Repeat(r), err
}

// nameOfKind is the name of one of some kinds of something.
func nameOfKind(names []string, of string, kind uint8) string {
	if int(kind) < len(names) {
		return names[kind]
	}
	return fmt.Sprintf("%s(%d)", of, kind)
}

// kindOfName is the inverse of nameOfKind.
func kindOfName(names []string, of, name string) (int, error) {
	kind := slices.Index(names, name)
	if last := len(names) - 1; kind < 0 {
		return 0, fmt.Errorf("unknown %s %q (want %s or %s)", of, name, strings.Join(names[:last], ", "), names[last])
	}
	return kind, nil
}

// A Pace says how much of the recorded time passes between two steps. The zero
// value is brisk.
type Pace struct {
	// kind is one of the three, speed the factor of a recorded one.
	kind  paceKind
	speed float64
}

type paceKind uint8

const (
	paceBrisk paceKind = iota
	paceInstant
	paceRecorded
)

// The paces. Brisk answers at once; what follows keeps its distance, up to
// briskMost, and what follows a notification at least briskLeast: clients lose
// the last progress when they read it together with the answer. Instant keeps no
// distance, Recorded the recorded one.
var (
	Brisk    = Pace{}
	Instant  = Pace{kind: paceInstant}
	Recorded = Pace{kind: paceRecorded, speed: 1}
)

const (
	briskLeast = 2 * time.Millisecond
	briskMost  = 4 * time.Millisecond
	// briskApart is how far apart the answers are that wait for their turn on connections
	// of their own. It must not be more than the window.
	briskApart = 2 * briskMost
)

// Speed is the recorded pace some times faster: 2 takes half the time. The factor
// must be above 0.
func Speed(factor float64) Pace { return Pace{kind: paceRecorded, speed: factor} }

// ParsePace reads brisk, instant, recorded, or a speed such as 10x or 0.5x.
func ParsePace(s string) (Pace, error) {
	switch s {
	case "brisk":
		return Brisk, nil
	case "instant":
		return Instant, nil
	case "recorded":
		return Recorded, nil
	}
	number, x := strings.CutSuffix(s, "x")
	f, err := strconv.ParseFloat(number, 64)
	if !x || err != nil || !(f >= 1e-3 && f <= 1e6) {
		return Pace{}, fmt.Errorf("unknown pace %q (want brisk, instant, recorded, or a speed such as 10x or 0.5x)", s)
	}
	return Speed(f), nil
}

// String is the inverse of [ParsePace].
func (p Pace) String() string {
	switch {
	case p.kind == paceBrisk:
		return "brisk"
	case p.kind == paceInstant:
		return "instant"
	case p.speed == 1:
		return "recorded"
	}
	return strconv.FormatFloat(p.speed, 'f', -1, 64) + "x"
}

// delay is how long after an event a step is due that came gap after it in the
// recording. First reports that the event is something that the client did.
func (p Pace) delay(gap time.Duration, first bool) time.Duration {
	switch {
	case gap < 0 || p.kind == paceInstant:
		return 0
	case p.kind == paceRecorded:
		if d := float64(gap) / p.speed; d < float64(longest) {
			return time.Duration(d)
		}
		return longest
	case first:
		return 0
	}
	return min(gap, briskMost)
}

// Gap is how much of the time between two things that one side did passes at this
// pace.
func (p Pace) Gap(recorded time.Duration) time.Duration { return p.delay(recorded, false) }

// longest is a time beyond any session. It leaves room for sums.
const longest = 1000 * time.Hour

// rest is how long nothing may follow a notification.
func (p Pace) rest() time.Duration {
	if p.kind == paceBrisk {
		return briskLeast
	}
	return 0
}

// apart is how long nothing may be written on one connection after something was on
// another, which came so long before it in the recording.
func (p Pace) apart(recorded time.Duration) time.Duration {
	switch p.kind {
	case paceBrisk:
		return briskApart
	case paceInstant:
		return 0
	}
	return min(p.delay(max(recorded, 0), false), p.window())
}

// window is how much earlier than its time a step may come, if it stands before
// others in the recording, and how long the others wait for it.
func (p Pace) window() time.Duration {
	if p.kind == paceBrisk {
		return 2 * briskMost
	}
	return time.Millisecond
}

// A Path leads to members of a request's params, from the message on.
type Path jsonpath.Pattern

// ParsePath reads a path to a member of params in the dialect of package jsonpath, such as
// $.params.arguments.when or $.params.messages[*].id.
func ParsePath(text string) (Path, error) {
	if !strings.HasPrefix(text, "$") {
		write := "such as $.params.arguments.when"
		if now, err := jsonpath.Parse("$.params." + strings.TrimPrefix(text, "params.")); err == nil && !strings.HasPrefix(text, "/") {
			write = "write " + now.String()
		}
		return nil, fmt.Errorf("path %q: a path begins with $.params (%s)", text, write)
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", text, err)
	}
	below, ok := strings.CutPrefix(p.String(), "$.params")
	if !ok {
		below, ok = strings.CutPrefix(p.String(), `$["params"]`)
	}
	if !ok || below == "" || below[0] != '.' && below[0] != '[' {
		return nil, fmt.Errorf("path %q: want one below $.params, such as $.params.arguments.when", text)
	}
	return Path(p), nil
}

// String is the inverse of [ParsePath].
func (p Path) String() string { return jsonpath.Pattern(p).String() }

// leadsTo reports whether it leads to a place, which is named from params on.
func (p Path) leadsTo(at jsontree.Path) bool { return jsonpath.Pattern(p[1:]).Exactly(at) }

// Ignored reports which of the paths of [Options].Ignore have led to something, in what was
// recorded or in what the client asked, by their places there.
func (s *Session) Ignored() []bool {
	all := slices.Clone(s.keyer.matched)
	for i := range all {
		all[i] = all[i] || s.script.matched[i]
	}
	return all
}
