// Package hint adds advice to errors: what a user can do about them.
package hint

import "errors"

// A hinted error has advice for the user.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// With adds advice to an error, which must not be nil.
func With(err error, hint string) error { return hinted{err, hint} }

// Of returns the advice of an error, or "".
func Of(err error) string {
	var h hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
