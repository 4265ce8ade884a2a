package show

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/view"
)

// A moment is the value of --since or --until: a frame, an offset or a time.
type moment struct {
	seq     uint64        // the frame number
	offset  time.Duration // the offset from the start,
	fromEnd bool          // or from the end
	wall    time.Time     // the time,
	clock   bool          // or only the time of day
	unit    time.Duration // the precision of the time
}

var layouts = []struct {
	layout string
	clock  bool // without a date
	unit   time.Duration
}{
	{"15:04:05", true, time.Second},
	{"15:04", true, time.Minute},
	{time.RFC3339, false, time.Second},
	{"2006-01-02 15:04:05 -0700", false, time.Second},
	{"2006-01-02T15:04:05", false, time.Second},
	{"2006-01-02 15:04:05", false, time.Second},
	{"2006-01-02 15:04", false, time.Minute},
	{"2006-01-02", false, 24 * time.Hour},
}

// parseMoment parses a moment. Times of day are in zone.
func parseMoment(flag, s string, zone *time.Location) (*moment, error) {
	text := strings.TrimSpace(s)
	if number, ok := strings.CutPrefix(text, "#"); ok {
		if seq, err := strconv.ParseUint(number, 10, 64); err == nil && seq > 0 {
			return &moment{seq: seq}, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		return &moment{offset: d.Abs(), fromEnd: strings.HasPrefix(text, "-")}, nil
	}
	for _, l := range layouts {
		t, err := time.ParseInLocation(l.layout, text, zone)
		if err != nil {
			continue
		}
		if t.Nanosecond() != 0 {
			l.unit = time.Nanosecond
		}
		return &moment{wall: t, clock: l.clock, unit: l.unit}, nil
	}
	return nil, hint.With(fmt.Errorf("--%s: invalid time %s", flag, term.Quote(s)),
		"use 2s or 1m30s from the start, -30s from the end, 14:03:05, 2026-11-20T14:03:05Z, or a frame such as #120")
}

// offsetIn returns the moment as an offset in a recording. A time of day is on the day the recording
// started or, if only that is within the recording, on the next day.
func (m *moment) offsetIn(info *store.Info, zone *time.Location) time.Duration {
	switch {
	case m.clock:
		start := info.Header.Start.In(zone)
		t := time.Date(start.Year(), start.Month(), start.Day(), m.wall.Hour(), m.wall.Minute(), m.wall.Second(),
			m.wall.Nanosecond(), zone)
		if next := t.AddDate(0, 0, 1); t.Add(m.unit).Before(start) && next.Sub(start) <= info.Duration {
			t = next
		}
		return t.Sub(start)
	case m.unit > 0:
		return m.wall.Sub(info.Header.Start)
	case m.fromEnd:
		return info.Duration - m.offset
	}
	return m.offset
}

// moments returns the values of --since and --until, nil if not given.
func (o *Options) moments() (since, until *moment, err error) {
	if o.Since != "" {
		if since, err = parseMoment("since", o.Since, o.Zone); err != nil {
			return nil, nil, err
		}
	}
	if o.Until != "" {
		until, err = parseMoment("until", o.Until, o.Zone)
	}
	return since, until, err
}

// Span returns the time span of --since and --until in a recording.
func (o *Options) Span(info store.Info) (view.Span, error) {
	info.ExtendLive(o.Now())
	s := view.Whole
	since, until, err := o.moments()
	switch {
	case err != nil || since == nil:
	case since.seq > 0:
		s.First = since.seq
	default:
		s.First, s.From = 1, since.offsetIn(&info, o.Zone)
	}
	switch {
	case err != nil || until == nil:
	case until.seq > 0:
		s.Last = until.seq
	default:
		s.To = until.offsetIn(&info, o.Zone)
		if until.unit > 0 {
			s.To += until.unit - 1
		}
	}
	if err == nil && since == nil && s.To < 0 {
		err = fmt.Errorf("--until %s is before the start of the recording", o.Until)
	}
	if err == nil && (s.From > s.To || s.First > s.Last) {
		err = errors.New("--until is before --since")
	}
	return s, err
}
