package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// maxLoad is the size above which a command does not load a frame whole but
// reads it in pieces.
const maxLoad = 1 << 20

// A viewer turns frames, in order, into rows. It holds what is open and nothing
// else, so a recording may be of any length.
type viewer struct {
	raw    func(w io.Writer, f tap.Frame) error
	pairer tap.Pairer
	asked  map[tap.Ref]asked
	counts rowCounts
}

// asked is what a response row says of the request that it answers.
type asked struct{ method, about string }

// rowCounts is what a listing sums up at its end.
type rowCounts struct {
	frames uint64
	errors uint64 // messages that tell of a failure, as tap.Tally counts them
	bytes  int64
}

func newViewer(raw func(w io.Writer, f tap.Frame) error) *viewer {
	return &viewer{raw: raw, asked: map[tap.Ref]asked{}}
}

// A row is what one line of a listing says about a frame. Its texts come from
// the wire as they are.
type row struct {
	frame  *tap.Frame
	kind   string // request, response, error, notification, batch, invalid, stderr, or an event's name
	id     []byte // as it stands; nil when there is none
	method string // of a response: that of its request
	about  string
	// failed says that it tells of a failure; fault is that failure in words.
	failed bool
	fault  string
	// links are the requests and responses in it, as the pairer sees them.
	links []tap.Link
	msg   tap.Message
}

// row reads the next frame.
func (v *viewer) row(f *tap.Frame) (row, error) {
	v.counts.frames++
	v.counts.bytes += f.Size
	r := row{frame: f}
	switch f.Lane {
	case tap.Life:
		r.life()
	case tap.Stderr:
		r.kind, r.about = "stderr", oneLine(f.Raw)
	default:
		m, err := v.peek(f)
		if err != nil {
			return r, err
		}
		r.message(v, &m)
	}
	return r, nil
}

// peek reads the envelope of a frame of any size.
func (v *viewer) peek(f *tap.Frame) (tap.Message, error) {
	if f.Whole() {
		return tap.Peek(f.Raw), nil
	}
	var s tap.Scanner
	if err := v.raw(&s, *f); err != nil {
		return tap.Message{}, err
	}
	return s.Message(), nil
}

func (r *row) message(v *viewer, m *tap.Message) {
	f := r.frame
	r.msg, r.kind, r.id, r.method = *m, m.Kind.String(), m.ID, m.Method
	r.failed = m.IsFailure()
	r.about = tap.Subject(*m)
	r.links = v.pairer.Add(f, m)
	switch m.Kind {
	case tap.Invalid:
		r.fault = m.Reason
		r.about = oneLine(f.Raw)
	case tap.ErrorResponse:
		r.fault, r.about = r.about, ""
	case tap.Response:
		if m.IsError {
			r.fault, r.about = "isError "+r.about, ""
		}
	case tap.Batch:
		for i := range m.Batch {
			if m.Batch[i].IsFailure() {
				r.failed = true
				v.counts.errors++
			}
		}
	}
	if m.Kind != tap.Batch && r.failed {
		v.counts.errors++
	}
	for _, l := range r.links {
		switch l.Kind {
		case tap.Opens, tap.Clashes:
			one := m
			if m.Kind == tap.Batch {
				one = &m.Batch[l.Message.Index]
			}
			// Cloned, as a small frame keeps alive what was stored with it.
			v.asked[l.Message] = asked{strings.Clone(one.Method), strings.Clone(tap.Subject(*one))}
		case tap.Answers:
			if m.Kind != tap.Batch {
				r.method = v.asked[l.Request].method
				if r.about == "" {
					r.about = v.asked[l.Request].about
				}
			}
			delete(v.asked, l.Request)
		}
	}
}

// life reads an event of the run.
func (r *row) life() {
	e, err := tap.ParseEvent(r.frame.Raw)
	if err != nil || e.Name == "" {
		r.kind, r.about, r.failed, r.fault = "life", oneLine(r.frame.Raw), true, "not an event"
		return
	}
	r.kind = e.Name
	switch e.Name {
	case tap.EventStart:
		r.about = strings.Join(e.Command, " ")
	case tap.EventSpawnFailed:
		r.failed, r.fault, r.about = true, e.Error, strings.Join(e.Command, " ")
	case tap.EventEOF:
		r.about, r.fault = e.Lane, e.Error
		r.failed = e.Error != ""
	case tap.EventBroken:
		r.failed, r.about, r.fault = true, e.Lane, e.Error
		if e.Bytes > 0 {
			r.fault = strings.TrimSpace(fmt.Sprintf("%s, %s not delivered", r.fault, formatSize(int64(e.Bytes))))
		}
	case tap.EventSignal:
		r.about = e.Signal
	case tap.EventExit:
		switch {
		case e.Signal != "":
			r.about, r.failed, r.fault = "", true, "ended by "+e.Signal
		case e.Code != nil && *e.Code != 0:
			r.failed, r.fault = true, fmt.Sprintf("code %d", *e.Code)
		case e.Code != nil:
			r.about = "code 0"
		}
	case tap.EventGap:
		r.failed, r.fault = true, gapText(e)
	default: // of a newer program
		r.about = oneLine(r.frame.Raw)
	}
}

func gapText(e tap.Event) string {
	words := []string{}
	if e.From != 0 {
		words = append(words, fmt.Sprintf("frames %d to %d are missing", e.From, e.To))
	}
	if e.Bytes > 0 {
		words = append(words, formatSize(int64(e.Bytes))+" crossed unrecorded")
	}
	if e.Error != "" {
		words = append(words, e.Error)
	}
	return strings.Join(words, ", ")
}

// answers returns the link of a response to its request.
func (r *row) answers() (tap.Link, bool) {
	for _, l := range r.links {
		if l.Kind == tap.Answers || l.Kind == tap.Repeats {
			return l, true
		}
	}
	return tap.Link{}, false
}

// oneLine is the beginning of some bytes, for a row.
func oneLine(raw []byte) string {
	const most = 1000
	return string(bytes.TrimRight(raw[:min(len(raw), most)], "\r\n"))
}
