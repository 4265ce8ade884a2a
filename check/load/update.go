package load

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/check/report"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
)

// WriteLock writes a lock to a file.
func WriteLock(name string, l *check.Lock) error { return write(name, l) }

func write(name string, v interface{ Encode() ([]byte, error) }) error {
	data, err := v.Encode()
	if err != nil {
		return err
	}
	return recording.WriteFile(name, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// NewLock returns what the server of a checked recording offers, and warns about definitions
// that are not pinned.
func NewLock(c *check.Checker, say func(string)) (*check.Lock, error) {
	if c.Cut() {
		return nil, errors.New("the server offers too many or too large definitions to be pinned")
	}
	n := 0
	c.Several(func(thing string, versions int, frames []uint64) {
		if n++; n <= maxSeveral {
			say(fmt.Sprintf("warning: the server offers %d versions of %s (%s): only the last is pinned", versions, thing, report.Frames(frames)))
		}
	})
	if n > maxSeveral {
		say(fmt.Sprintf("warning: it offers several versions of %d more", n-maxSeveral))
	}
	return c.Pin(), nil
}

// maxChanges limits the changes of a lock that are printed.
const maxChanges = 20

// maxSeveral limits the names with several definitions that are listed.
const maxSeveral = 5

// UpdateLock writes what the server of a checked recording offers to a file, which must be a
// lock if it exists. It keeps pinned definitions that the recording does not have.
func UpdateLock(name string, c *check.Checker, say func(string)) error {
	lock, err := NewLock(c, say)
	if err != nil {
		return err
	}
	old, err := ReadLock(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = &check.Lock{}
	case err != nil:
		return err
	default:
		if kept := lock.Keep(old); len(kept) > 0 {
			say(fmt.Sprintf("%s keeps the pinned parts of %s that the recording does not have", name, strings.Join(kept, ", ")))
		}
	}
	if err := WriteLock(name, lock); err != nil {
		return err
	}
	changes := lock.Changes(old)
	for _, c := range changes[:min(len(changes), maxChanges)] {
		say(name + ": " + c)
	}
	say(fmt.Sprintf("wrote %s: %s", name, term.Plural(len(changes), "change", "changes")))
	return nil
}

// UpdateBaseline writes the findings of reports to a file, which must be a baseline if it exists.
// Findings of rules that were not judged are kept.
func UpdateBaseline(name string, reports []*check.Report, judged map[string]bool, say func(string)) error {
	made := check.Accept(reports...)
	old, err := ReadBaseline(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		made.Keep(old, judged)
	}
	if err := write(name, made); err != nil {
		return err
	}
	say(fmt.Sprintf("wrote %s: %s", name, term.Plural(len(made.Findings), "finding is accepted", "findings are accepted")))
	return nil
}
