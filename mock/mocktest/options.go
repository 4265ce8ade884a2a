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

// An Option changes how a mock plays. Names and values are those of the flags of `mcptap mock`.
type Option func(*config) error

// Match sets how much a request may differ from the recorded one whose answer it gets: exact (the
// default), params, subset or method.
func Match(level string) Option {
	return func(c *config) (err error) {
		c.replay.Match, err = replay.ParseMatch(level)
		return err
	}
}

// Ignore allows members of params to differ, such as $.params.arguments.now or
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

// Repeat sets what a request gets when the recorded ones are used up: last (the default), loop
// or error.
func Repeat(what string) Option {
	return func(c *config) (err error) {
		c.replay.Repeat, err = replay.ParseRepeat(what)
		return err
	}
}

// Pace sets the pace of messages: brisk (the default), instant, recorded, or a speed such as 10x.
func Pace(pace string) Option {
	return func(c *config) (err error) {
		c.replay.Pace, err = replay.ParsePace(pace)
		return err
	}
}

// Fault injects faults, such as "drop tools/call n=2". Those with a probability depend on the
// seed.
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

// GateTimeout sets how long the client may take to answer a server request. The default is
// [replay.DefaultGateTimeout].
func GateTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return errors.New("the gate timeout must be positive")
		}
		c.replay.GateTimeout = d
		return nil
	}
}

// Strict fails the test if the client deviates from the recording. Answers are not repeated for
// requests that are sent more often than recorded.
func Strict() Option {
	return func(c *config) error {
		c.strict = true
		c.replay.Repeat = replay.RepeatError
		return nil
	}
}

// Session plays one session of a recording, numbered from 1 in recorded order. Without it, a pipe
// or a command plays the first session, and each client of a URL gets the session that fits it.
func Session(number int) Option {
	return func(c *config) error {
		if number < 1 {
			return errors.New("sessions are numbered from 1")
		}
		c.session = number
		return nil
	}
}

// Verify fails the test if its clients have not sent all recorded requests, each in any session.
func Verify() Option {
	return func(c *config) error {
		c.verify = true
		return nil
	}
}
