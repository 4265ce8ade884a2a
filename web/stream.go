package web

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
)

const (
	// maxRows is how many rows and updates a message has at most.
	maxRows = 200
	// progressEvery is how often a page hears how far the reading is, where the
	// filter lets nothing through, and describeEvery how often the recording is
	// described again while it grows.
	progressEvery = 200 * time.Millisecond
	describeEvery = 500 * time.Millisecond
	// goneEvery is how often it is looked whether a recording that has ended is
	// still there.
	goneEvery = 2 * time.Second
)

// A message is what a view's socket sends.
type message struct {
	Rows    []row    `json:"r,omitempty"`
	Updates []update `json:"u,omitempty"`
	// Read is the last frame that was read.
	Read uint64 `json:"read,omitempty"`
	// Recording describes the recording, when that has changed.
	Recording *recordingJSON `json:"rec,omitempty"`
	// Idle says that all that there is has been sent, Done that no more comes.
	Idle bool `json:"idle,omitempty"`
	Done bool `json:"done,omitempty"`
	// Problem is why nothing more comes.
	Problem *problem `json:"problem,omitempty"`
}

// A problem is what went wrong, in words for a person.
type problem struct {
	// Kind is deleted, unreadable or filter.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// From and To are the part of the filter that is wrong, in UTF-16 units, and
	// Help what would be right.
	From int    `json:"from,omitempty"`
	To   int    `json:"to,omitempty"`
	Help string `json:"help,omitempty"`
}

// problemOf says what an error means to the person who looks.
func problemOf(err error) *problem {
	var fe *filter.Error
	switch {
	case errors.As(err, &fe):
		return &problem{
			Kind: "filter", Text: escape.Escape(fe.Problem), Help: escape.Escape(fe.Help),
			From: utf16Len(fe.Query[:fe.Pos]), To: utf16Len(fe.Query[:fe.Pos+fe.Len]),
		}
	case errors.Is(err, fs.ErrNotExist):
		return &problem{Kind: "deleted", Text: "The recording is not there any more."}
	}
	return &problem{Kind: "unreadable", Text: escape.Escape(err.Error())}
}

// A stream sends one view of a recording to one page.
type stream struct {
	socket    *socket
	reader    Reader
	gather    *gatherer
	last      uint64 // the last frame that was read
	told      time.Time
	described time.Time
	status    store.Status
	stale     bool // frames were read since the recording was described
}

// serveStream is the handler of a view's socket.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	sock, err := openSocket(w, r, s.silence)
	if err != nil {
		return
	}
	var o viewOptions
	if sock.first(&o) != nil {
		sock.close()
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	go func() {
		sock.listen()
		cancel()
	}()
	err = s.stream(ctx, sock, key, o)
	if err != nil && ctx.Err() == nil {
		sock.send(message{Problem: problemOf(err), Done: true})
	}
	// The page keeps the socket, by which it knows that we are still here.
	<-ctx.Done()
	sock.close()
	<-sock.gone
}

func (s *Server) stream(ctx context.Context, sock *socket, key string, o viewOptions) error {
	reader, err := s.source.Open(key)
	if err != nil {
		return err
	}
	g, err := newGatherer(reader, o, s.seen.of(key))
	if err != nil {
		return err
	}
	st := &stream{socket: sock, reader: reader, gather: g}
	if err := st.describe(message{}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		ended := st.status != store.Live
		if err := st.sweep(ctx); err != nil {
			return err
		}
		if ended {
			if err := st.describe(message{Idle: true, Done: true, Read: st.last}); err != nil {
				return err
			}
			return st.guardEnd(ctx)
		}
		if err := st.idle(); err != nil {
			return err
		}
		more, err := st.wait(ctx)
		if err == nil && !more { // its end is what is read next
			err = st.describe(message{})
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// guardEnd waits until the recording is removed, or the page is gone.
func (st *stream) guardEnd(ctx context.Context) error {
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if _, err := st.reader.Recording(); errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// sweep reads all frames that there are now, and sends what is to be shown.
func (st *stream) sweep(ctx context.Context) error {
	n := 0
	for f, err := range st.reader.Frames(st.last) {
		if err != nil {
			return err
		}
		if err := st.frame(&f); err != nil {
			return err
		}
		if n++; n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if n%1024 == 0 && time.Since(st.told) > progressEvery && !st.send(message{Read: st.last}) {
			return errGone
		}
	}
	st.gather.pause()
	for st.gather.found() > 0 {
		if !st.some() {
			return errGone
		}
	}
	return nil
}

// errGone ends the work for a page that is not there any more.
var errGone = errors.New("the page is gone")

func (st *stream) frame(f *tap.Frame) error {
	st.gather.add(f)
	st.last, st.stale = f.Seq, true
	for st.gather.found() >= maxRows {
		if !st.some() {
			return errGone
		}
	}
	return nil
}

// some sends the next rows and updates.
func (st *stream) some() bool {
	rows, updates := st.gather.take(maxRows)
	return st.send(message{Rows: rows, Updates: updates, Read: st.last})
}

func (st *stream) send(m message) bool {
	st.told = time.Now()
	return st.socket.send(m)
}

// idle says that all has been sent, and how the recording is now if it has not
// been said lately.
func (st *stream) idle() error {
	m := message{Idle: true, Read: st.last}
	if time.Since(st.described) > describeEvery {
		return st.describe(m)
	}
	if !st.send(m) {
		return errGone
	}
	return nil
}

// describe sends a message with what the recording is now.
func (st *stream) describe(m message) error {
	rec, err := st.reader.Recording()
	if err != nil {
		return err
	}
	st.status, st.described, st.stale = rec.Status, time.Now(), false
	m.Recording = newRecordingJSON(&rec)
	if !st.send(m) {
		return errGone
	}
	return nil
}

// wait waits for more, and reports whether there is any. Errors come again when
// it is read. What the page knows of the recording is brought up to date while
// nothing else happens.
func (st *stream) wait(ctx context.Context) (more bool, err error) {
	if st.stale {
		soon, cancel := context.WithTimeout(ctx, describeEvery)
		defer cancel()
		if st.more(soon) {
			return true, nil
		}
		if err := st.describe(message{}); err != nil || soon.Err() == nil {
			return false, err
		}
	}
	return st.more(ctx), nil
}

func (st *stream) more(ctx context.Context) bool {
	for range st.reader.Follow(ctx, st.last) {
		return true
	}
	return false
}
