package store

import (
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Status says what became of the run that made a recording.
type Status uint8

const (
	// Ended means that the tap recorded until its traffic was over.
	Ended Status = iota
	// Live means that a running tap still writes it.
	Live
	// Cut means that the tap was killed or the machine stopped: what is there
	// is complete up to the moment, the rest never was.
	Cut
	// Damaged means that the file cannot be read as it is.
	Damaged
)

// String returns ended, live, cut or damaged.
func (s Status) String() string {
	switch s {
	case Ended:
		return "ended"
	case Live:
		return "live"
	case Cut:
		return "cut"
	}
	return "damaged"
}

// Info describes a recording without reading its frames.
type Info struct {
	// Path is the recording's file.
	Path string
	// Header is what was known at the start. Of a damaged file only what its
	// name tells.
	Header tap.Header
	// Tally summarises the frames; of a live recording those committed yet.
	Tally session.Tally
	// Status says whether it is live, ended, cut or damaged. Err says why it is
	// damaged, or why what a cut one still has in its queue could not be added.
	Status Status
	Err    error
	// Frames is the last frame number.
	Frames uint64
	// Gaps are the frame numbers that crossed unrecorded.
	Gaps []tap.Range
	// Duration is the offset of the end, or of the last frame.
	Duration time.Duration
	// Size is what file and queue occupy, in bytes.
	Size int64
}

// lacking notes why a dead tap's queue could not be drained, if it could not.
func (i Info) lacking(drainErr error) Info {
	if i.Status == Cut && i.Err == nil {
		i.Err = drainErr
	}
	return i
}
