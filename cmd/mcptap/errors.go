package main

import (
	"errors"
	"strings"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/text"
)

// An exitCode is an error that has been reported, or needs no words: the
// process just ends with it.
type exitCode int

func (exitCode) Error() string { return "exit" }

// A coded error ends the process with a code of its own.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// A hinted error knows what to do next.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// withHint adds advice to an error, which must not be nil.
func withHint(err error, hint string) error { return hinted{err, hint} }

// hintFor returns what to do about an error, or "".
func hintFor(err error) string {
	var h hinted
	var wrong *text.Error
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &wrong):
		return wrong.Hint
	case errors.Is(err, text.ErrNewer):
		return "update mcptap"
	case errors.Is(err, store.ErrNewer):
		return "update mcptap, see `mcptap version`"
	case errors.Is(err, store.ErrLive):
		return "end the client that runs it first"
	}
	return ""
}

// quote puts recorded or typed text into an error message.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}
