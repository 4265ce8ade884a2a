package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A span is the part of a recording between two moments, both included.
type span struct {
	// from and to are offsets, first and last frame numbers; a frame must be within
	// both.
	from, to    time.Duration
	first, last uint64
}

// whole is the span of the whole recording.
var whole = span{to: math.MaxInt64, last: math.MaxUint64}

func (s *span) holds(f *tap.Frame) bool { return !s.before(f) && !s.after(f) }

func (s *span) before(f *tap.Frame) bool { return f.Seq < s.first || f.At < s.from }

// after reports whether a frame, and thus every later one, is after the span.
func (s *span) after(f *tap.Frame) bool { return f.Seq > s.last || f.At > s.to }

// overlaps reports whether an interval of offsets, which began with the given frame,
// overlaps the span.
func (s *span) overlaps(seq uint64, from, to time.Duration, lastSeq uint64) bool {
	return from <= s.to && to >= s.from && seq <= s.last && lastSeq >= s.first
}

// A moment is the value of --since or --until.
type moment struct {
	seq     uint64        // a frame, or
	offset  time.Duration // an offset, where fromEnd is false from the start
	fromEnd bool
	wall    time.Time     // or a time
	clock   bool          // of any day
	unit    time.Duration // how long that lasts, as it was written
}

// layouts are the accepted layouts of a time. A fraction of a second may follow.
var layouts = []struct {
	layout string
	clock  bool // without a day
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
func parseMoment(flag, s string, zone *time.Location) (m moment, err error) {
	text := strings.TrimSpace(s)
	if number, ok := strings.CutPrefix(text, "#"); ok {
		if m.seq, err = strconv.ParseUint(number, 10, 64); err == nil && m.seq > 0 {
			return m, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		m.offset, m.fromEnd = d.Abs(), strings.HasPrefix(text, "-")
		return m, nil
	}
	for _, l := range layouts {
		t, err := time.ParseInLocation(l.layout, text, zone)
		if err != nil {
			continue
		}
		if t.Nanosecond() != 0 {
			l.unit = time.Nanosecond
		}
		return moment{wall: t, clock: l.clock, unit: l.unit}, nil
	}
	return m, withHint(fmt.Errorf("--%s: invalid time %s", flag, quote(s)),
		"use 2s or 1m30s from the start, -30s from the end, 14:03:05, 2026-11-20T14:03:05Z, or a frame such as #120")
}

// offsetIn returns the moment as an offset in a recording. A time of day is on the day
// the recording began or, if only that is within the recording, on the next.
func (m *moment) offsetIn(info *store.Info, zone *time.Location) time.Duration {
	switch {
	case m.clock:
		start := info.Header.Start.In(zone)
		t := time.Date(start.Year(), start.Month(), start.Day(), m.wall.Hour(), m.wall.Minute(), m.wall.Second(), m.wall.Nanosecond(), zone)
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

// times holds --since and --until, nil if not given.
type times struct {
	since, until *moment
	zone         *time.Location
}

func (o *showOptions) times(a *app) (t times, err error) {
	t.zone = a.zone
	for _, x := range []struct {
		flag, text string
		to         **moment
	}{{"since", o.since, &t.since}, {"until", o.until, &t.until}} {
		if x.text == "" {
			continue
		}
		m, err := parseMoment(x.flag, x.text, a.zone)
		if err != nil {
			return t, err
		}
		*x.to = &m
	}
	return t, nil
}

// in returns the span in a recording.
func (t *times) in(info store.Info) (span, error) {
	s := whole
	if m := t.until; m != nil && m.seq > 0 {
		s.last = m.seq
	} else if m != nil {
		s.to = m.offsetIn(&info, t.zone)
		if m.unit > 0 {
			s.to += m.unit - 1
		}
	}
	if m := t.since; m != nil && m.seq > 0 {
		s.first = m.seq
	} else if m != nil {
		s.from = m.offsetIn(&info, t.zone)
	}
	if s.from > s.to || s.first > s.last {
		return s, errors.New("--until is before --since")
	}
	return s, nil
}
