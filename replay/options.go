package replay

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsonpath"
)

// Options control how a script is matched and played. The zero value matches exactly, repeats
// the last answer of a key that is used up, and plays at the pace [Brisk].
type Options struct {
	// Match is how much a request may differ from the recorded one.
	Match Match
	// Ignore selects members of params that may differ.
	Ignore []Path
	// Repeat applies when the recorded requests of a key are used up.
	Repeat Repeat
	// Pace sets when steps are due.
	Pace Pace
	// Faults are the faults to inject; the first that applies wins. Seed seeds those with a
	// Chance.
	Faults []Fault
	Seed   uint64
	// GateTimeout is how long the client may take to answer a server request; 0 means
	// [DefaultGateTimeout].
	GateTimeout time.Duration
	// Forward, if not nil, is called with each request that matches no recorded one, and
	// reports whether it accepted the request. It is called by [Session.Receive] and must not
	// block. It requires a session on a duplex stream.
	Forward func(raw []byte) bool
}

// DefaultGateTimeout is the default of [Options].GateTimeout. It leaves a person time to answer.
const DefaultGateTimeout = 5 * time.Minute

// A Match is how much a request may differ from the recorded one whose answer it gets. Each
// level includes those before it.
type Match uint8

const (
	MatchExact  Match = iota // the same key
	MatchParams              // _meta may differ
	// MatchSubset: the request has at least the recorded params, with the same values.
	MatchSubset
	// MatchMethod: the same method, and the same tool, prompt or resource if there is one.
	MatchMethod
	matches
)

var matchNames = [matches]string{"exact", "params", "subset", "method"}

// String returns the stable name: exact, params, subset or method.
func (m Match) String() string { return nameOfKind(matchNames[:], "match", uint8(m)) }

// ParseMatch is the inverse of [Match.String].
func ParseMatch(s string) (Match, error) {
	m, err := kindOfName(matchNames[:], "match", s)
	return Match(m), err
}

// A Repeat is what a request gets once all recorded requests with its key have been used.
type Repeat uint8

const (
	RepeatLast  Repeat = iota // the last answer, repeated
	RepeatLoop                // the answers, starting over from the first
	RepeatError               // an error, as for a request that was not recorded
	repeats
)

var repeatNames = [repeats]string{"last", "loop", "error"}

// String returns the stable name: last, loop or error.
func (r Repeat) String() string { return nameOfKind(repeatNames[:], "repeat", uint8(r)) }

// ParseRepeat is the inverse of [Repeat.String].
func ParseRepeat(s string) (Repeat, error) {
	r, err := kindOfName(repeatNames[:], "repeat", s)
	return Repeat(r), err
}

// nameOfKind returns the name of a kind.
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

// A Pace determines how much of the recorded time passes between two steps. It is a speed
// relative to the recording, so 2 takes half the time, or Brisk.
type Pace float64

// The paces. Brisk answers immediately and keeps a gap before each further step: at most
// briskMost, and after a notification at least briskLeast, because clients lose the last progress
// if they read it together with the answer. Instant keeps no gaps, Recorded the recorded ones.
var (
	Brisk    Pace
	Instant  = Pace(math.Inf(1))
	Recorded = Pace(1)
)

const (
	briskLeast = 2 * time.Millisecond
	briskMost  = 4 * time.Millisecond
)

// ParsePace parses brisk, instant, recorded, or a speed such as 10x or 0.5x.
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
		return Brisk, fmt.Errorf("unknown pace %q (want brisk, instant, recorded, or a speed such as 10x or 0.5x)", s)
	}
	return Pace(f), nil
}

// String is the inverse of [ParsePace].
func (p Pace) String() string {
	switch p {
	case Brisk:
		return "brisk"
	case Instant:
		return "instant"
	case Recorded:
		return "recorded"
	}
	return strconv.FormatFloat(float64(p), 'f', -1, 64) + "x"
}

// delay returns how long after an event a step is due if it came gap after it in the recording.
// First reports that the client caused the event.
func (p Pace) delay(gap time.Duration, first bool) time.Duration {
	switch {
	case gap < 0, p == Brisk && first:
		return 0
	case p == Brisk:
		return min(gap, briskMost)
	}
	return time.Duration(min(float64(gap)/float64(p), float64(longest)))
}

// Gap returns the time between two messages of one side at the pace, given the recorded time.
func (p Pace) Gap(recorded time.Duration) time.Duration { return p.delay(recorded, false) }

// longest is longer than any session, and short enough for sums.
const longest = 1000 * time.Hour

// apart returns how long after a write on one connection nothing may be written on another,
// given the recorded time between the writes.
func (p Pace) apart(recorded time.Duration) time.Duration {
	if p == Brisk {
		return p.window()
	}
	return min(p.delay(recorded, false), p.window())
}

// window returns how close to due a step must be to hold back the steps after it, so that the
// recorded order is kept.
func (p Pace) window() time.Duration {
	if p == Brisk {
		return 2 * briskMost
	}
	return time.Millisecond
}

// A Path selects members of the params of a request. It starts at the message.
type Path = jsonpath.Pattern

// ParsePath parses a path to a member of params in the dialect of package jsonpath, such as
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
	return p, nil
}

// Ignored reports which of the paths of [Options].Ignore matched something in the recording
// or in a request of the client, by index.
func (s *Session) Ignored() []bool {
	all := slices.Clone(s.keyer.matched)
	for i := range all {
		all[i] = all[i] || s.script.matched[i]
	}
	return all
}
