package main

import (
	"bytes"
	"context"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// oneFrame is what can be known of a frame when the whole recording is there.
type oneFrame struct {
	row row
	// time is the wall clock at the frame.
	time time.Time
	// answers are the links of the responses to it, by place in a batch.
	answers map[int]tap.Link
	info    store.Info
}

// findOne reads a frame and those that it pairs with.
//
// A frame that pairs with nothing is read alone. For another, all frames before
// it count: a response belongs to the oldest request with its id that is open,
// and that may be any. But pairing goes by id, so of all those frames only the
// ones that may hold an id of this one are parsed, and the search ends with the
// last answer.
func findOne(ctx context.Context, rec *store.Recording, number uint64) (*oneFrame, error) {
	f, err := rec.Frame(number)
	if err != nil {
		return nil, err
	}
	info, err := rec.Info()
	if err != nil {
		return nil, err
	}
	one := &oneFrame{time: info.Header.Start.Add(f.At), info: info}
	if one.row, err = newViewer(rec.WriteRaw).row(&f); err != nil {
		return nil, err
	}
	one.row.parts = nil
	if len(one.row.links) == 0 {
		return one, nil
	}
	if err := one.pair(ctx, rec, idsOf(&one.row.msg)); err != nil {
		return nil, err
	}
	for _, l := range one.row.links {
		if l.Kind == tap.Repeats {
			// How long an answered id is remembered depends on how many others
			// were answered since.
			return one, one.pair(ctx, rec, nil)
		}
	}
	return one, nil
}

// pair reads the recording up to the frame, and on to its answers. Of the others
// it looks at those that may hold one of the ids, at all if ids is nil.
func (one *oneFrame) pair(ctx context.Context, rec *store.Recording, ids idSet) error {
	number, waiting := one.row.frame.Seq, 0
	one.answers = map[int]tap.Link{}
	v := newViewer(rec.WriteRaw)
	for f, err := range rec.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if f.Seq != number && !ids.mayBeIn(&f) {
			continue
		}
		r, err := v.row(&f)
		if err != nil {
			return err
		}
		if f.Seq == number {
			one.row = r
			one.row.parts = nil // they depend on the frames that were passed over
			for _, l := range r.links {
				if l.Kind == tap.Opens || l.Kind == tap.Clashes {
					waiting++
				}
			}
		}
		if f.Seq < number {
			continue
		}
		for _, l := range r.links {
			if l.Kind == tap.Answers && l.Request.Seq == number {
				one.answers[l.Request.Index] = l
				waiting--
			}
		}
		if waiting <= 0 {
			break
		}
	}
	return nil
}

// An idSet holds the ids of some messages, as they stand. Each of them has one
// usual spelling and is spelled so. nil stands for any ids.
type idSet map[string]bool

// idsOf returns the ids by which a frame's messages pair, nil where it cannot be
// told from bytes whether another frame has one of them.
func idsOf(m *tap.Message) idSet {
	ids := idSet{}
	all := []tap.Message{*m}
	if m.Kind == tap.Batch {
		all = m.Batch
	}
	for i := range all {
		switch m := &all[i]; {
		case m.Kind == tap.Notification, m.Kind == tap.Invalid:
		case len(m.ID) == 0, string(m.ID) == "null": // pairs with nothing
		case m.Long, !usual(m.ID):
			return nil
		default:
			ids[string(m.ID)] = true
		}
	}
	return ids
}

// usual reports whether an id is spelled as all programs would: an integer
// without fraction and exponent, a string without escapes. Two such ids are the
// same when their bytes are.
func usual(id []byte) bool {
	if len(id) > tap.MaxWord {
		return false
	}
	if id[0] == '"' {
		return bytes.IndexByte(id, '\\') < 0
	}
	return !bytes.ContainsAny(id, ".eE") && string(id) != "-0"
}

// mayBeIn reports whether a frame may be a message, or hold one, with one of the
// ids. It searches for the member's name, at the speed of memory, and says yes
// when in doubt.
func (s idSet) mayBeIn(f *tap.Frame) bool {
	switch {
	case f.Lane != tap.ToServer && f.Lane != tap.ToClient:
		return false
	case s == nil, !f.Whole(), f.Exchange != 0: // over HTTP a frame need not be its message as it stands
		return true
	case bytes.Contains(f.Raw, []byte(`\u006`)): // "i\u0064" is the name too
		return true
	}
	for raw := f.Raw; ; {
		i := bytes.Index(raw, []byte(`"id"`))
		if i < 0 {
			return false
		}
		raw = raw[i+len(`"id"`):]
		if id := idAfter(raw); len(id) > 0 && (s[string(id)] || !usual(id)) {
			return true
		}
	}
}

// idAfter returns the string or number that stands behind a name and its colon,
// nil if none does. A string with an escape, or without an end, may be returned
// in part, escape included.
func idAfter(raw []byte) []byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 || raw[0] != ':' {
		return nil
	}
	raw = bytes.TrimLeft(raw[1:], " \t\r\n")
	n := 0
	if len(raw) > 0 && raw[0] == '"' {
		if n = bytes.IndexByte(raw[1:], '"') + 2; n < 2 {
			return nil // no end: no message either
		}
		return raw[:n]
	}
	for n < len(raw) && bytes.IndexByte([]byte("+-.eE0123456789"), raw[n]) >= 0 {
		n++
	}
	return raw[:n]
}
