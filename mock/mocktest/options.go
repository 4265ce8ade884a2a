package mocktest

import (
	"errors"
	"time"

	"github.com/mcptap/mcptap/replay"
)

type config struct {
	replay         replay.Options
	strict, verify bool
	session        int
}

func (c *config) fails(kind replay.NoteKind) bool {
	return kind.Fails() || c.strict && kind.Deviates()
}

// An Option changes how a mock plays. The words are those of `mcptap mock`.
type Option func(*config) error

// Match says how far a request may differ from the recorded one that it gets the
// answer of: exact (the default), params, subset or method.
func Match(level string) Option {
	return func(c *config) (err error) {
		c.replay.Match, err = replay.ParseMatch(level)
		return err
	}
}

// Ignore names members of params that may differ, such as $.params.arguments.now or
// $.params.messages[*].id.
func Ignore(paths ...string) Option {
	return func(c *config) error {
		for _, text := range paths {
			p, err := replay.ParsePath(text)
			if err != nil {
				return err
			}
			c.replay.Ignore = append(c.replay.Ignore, p)
		}
		return nil
	}
}

// Repeat says what a request gets when the recorded ones are used up: last (the
// default), loop or error.
func Repeat(what string) Option {
	return func(c *config) (err error) {
		c.replay.Repeat, err = replay.ParseRepeat(what)
		return err
	}
}

// Pace says when messages come: brisk (the default), instant, recorded, or a speed
// such as 10x.
func Pace(pace string) Option {
	return func(c *config) (err error) {
		c.replay.Pace, err = replay.ParsePace(pace)
		return err
	}
}

// Fault makes something go wrong, such as "drop tools/call n=2". What happens by
// chance goes by the seed.
func Fault(seed uint64, faults ...string) Option {
	return func(c *config) error {
		c.replay.Seed = seed
		for _, text := range faults {
			f, err := replay.ParseFault(text)
			if err != nil {
				return err
			}
			c.replay.Faults = append(c.replay.Faults, f)
		}
		return nil
	}
}

// GateTimeout is how long the client may take to answer a request of the server's:
// [replay.DefaultGateTimeout] without it.
func GateTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return errors.New("the gate's timeout must be above 0")
		}
		c.replay.GateTimeout = d
		return nil
	}
}

// Strict fails the test when the client does anything else than in the recording.
// What it asks for more often than recorded was not recorded then.
func Strict() Option {
	return func(c *config) error {
		c.strict = true
		c.replay.Repeat = replay.RepeatError
		return nil
	}
}

// Session plays one session of a recording that has several, from 1 in the order in
// which they began. Without it a pipe or a command gets the first, and the clients of
// a URL one after the other.
func Session(number int) Option {
	return func(c *config) error {
		if number < 1 {
			return errors.New("sessions are numbered from 1")
		}
		c.session = number
		return nil
	}
}

// Verify fails the test when its clients have not asked for all that is recorded, in
// any of its sessions.
func Verify() Option {
	return func(c *config) error {
		c.verify = true
		return nil
	}
}
