package main

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// An exportSource is what can be exported: a recording, or what is left of one.
type exportSource interface {
	Info() (store.Info, error)
	Frames(after uint64) iter.Seq2[tap.Frame, error]
	WriteRaw(w io.Writer, f tap.Frame) error
}

// asOf makes a live recording last until now, and not only until its last frame: so
// long have those waited that have no response.
func asOf(info *store.Info, now time.Time) {
	if info.Status == store.Live {
		info.Duration = max(info.Duration, now.Sub(info.Header.Start))
	}
}

// salvage exports what can be read and says what cannot.
func salvage(a *app, path string, write func(exportSource) error) error {
	rec, r, err := store.OpenSalvage(path)
	if err != nil {
		return err
	}
	if err := write(rec); err != nil {
		return err
	}
	if r.Frames == 0 {
		return fmt.Errorf("%s: no frame could be read", path)
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
		a.say(plural(r.Torn, "frame is", "frames are") + " truncated: bytes are missing")
	}
	if !r.EndKnown {
		a.say("whether there were frames after the last one is not known")
	}
	if r.GaveUp > 0 {
		a.say("gave up before the last " + formatSize(r.GaveUp) + " of the file")
	}
	if len(lost) > 0 || r.Torn > 0 || !r.EndKnown || r.GaveUp > 0 {
		a.say(plural(r.Frames, "frame was", "frames were") + " saved")
		return exitCode(exitNo)
	}
	return nil
}
