package main

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

// salvage exports the readable part of a recording and reports what is missing.
func salvage(a *app, arg, path string, write func(recording.Source) error) error {
	rec, r, err := store.OpenSalvage(path)
	if err != nil {
		return err
	}
	if r.Frames == 0 {
		return fmt.Errorf("%s: no frame could be read", arg)
	}
	if err := write(rec); err != nil {
		return err
	}
	var lost []string
	for i, m := range r.Missing {
		if i == 10 {
			lost = append(lost, fmt.Sprintf("and %d more times", len(r.Missing)-i))
			break
		}
		lost = append(lost, fmt.Sprintf("%d-%d", m.From, m.To))
	}
	if len(lost) > 0 {
		a.say("lost: frames " + strings.Join(lost, ", "))
	}
	if r.Torn > 0 {
		a.say(term.Plural(r.Torn, "frame is", "frames are") + " truncated: bytes are missing")
	}
	if !r.EndKnown {
		a.say("frames after the last one may be missing")
	}
	if r.GaveUp > 0 {
		a.say("could not read the last " + view.Size(r.GaveUp) + " of the file")
	}
	if len(lost) > 0 || r.Torn > 0 || !r.EndKnown || r.GaveUp > 0 {
		a.say(term.Plural(r.Frames, "frame was", "frames were") + " saved")
		return exitCode(exitNegative)
	}
	return nil
}
