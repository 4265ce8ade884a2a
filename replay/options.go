package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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
	// stood, and reports whether somebody else answers it. It is called while the
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
	if m < matches {
		return matchNames[m]
	}
	return fmt.Sprintf("match(%d)", uint8(m))
}

// ParseMatch is the inverse of [Match.String].
func ParseMatch(s string) (Match, error) {
	for m, name := range matchNames {
		if name == s {
			return Match(m), nil
		}
	}
	return 0, fmt.Errorf("unknown match %q (want exact, params, subset or method)", s)
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
	if r < repeats {
		return repeatNames[r]
	}
	return fmt.Sprintf("repeat(%d)", uint8(r))
}

// ParseRepeat is the inverse of [Repeat.String].
func ParseRepeat(s string) (Repeat, error) {
	for r, name := range repeatNames {
		if name == s {
			return Repeat(r), nil
		}
	}
	return 0, fmt.Errorf("unknown repeat %q (want last, loop or error)", s)
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
// recording. First says that the event is something that the client did.
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

// longest is a time that nobody waits for. It leaves room for sums.
const longest = 1000 * time.Hour

// rest is how long nothing may follow a notification.
func (p Pace) rest() time.Duration {
	if p.kind == paceBrisk {
		return briskLeast
	}
	return 0
}

// window is how much earlier than its time a step may come, if it stands before
// others in the recording, and how long the others wait for it.
func (p Pace) window() time.Duration {
	if p.kind == paceBrisk {
		return 2 * briskMost
	}
	return time.Millisecond
}
