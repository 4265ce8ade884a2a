package web

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/mcptap/mcptap/store"
)

const (
	// maxRows limits the rows and updates in a message.
	maxRows = 200
	// progressEvery is the interval of messages about reading progress, and describeEvery that of
	// descriptions of a growing recording.
	progressEvery = 200 * time.Millisecond
	describeEvery = 500 * time.Millisecond
	// goneEvery is the poll interval for the deletion of an ended recording.
	goneEvery = 2 * time.Second
)

// A message is what the socket of a view sends.
type message struct {
	Rows    []row    `json:"r,omitempty"`
	Updates []update `json:"u,omitempty"`
	// Read is the last frame read.
	Read uint64 `json:"read,omitempty"`
	// Calls is the number of calls in the frames that were read.
	Calls uint64 `json:"calls,omitempty"`
	// Recording describes the recording, if it has changed.
	Recording *recordingJSON `json:"rec,omitempty"`
	// Idle means that all recorded frames have been sent, and Done that there will be no more.
	Idle bool `json:"idle,omitempty"`
	Done bool `json:"done,omitempty"`
	// Problem is why there will be no more.
	Problem *problem `json:"problem,omitempty"`
}

// errGone reports that the page is gone.
var errGone = errors.New("the page is gone")

// A stream sends one view of a recording to one page.
type stream struct {
	socket    *socket
	reader    Reader
	gather    *gatherer
	last      uint64 // the last frame read
	sent      time.Time
	described time.Time
	status    store.Status
	stale     bool // frames were read since the recording was described
}

// serveStream serves the socket of a view.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) error {
	sock, err := openSocket(w, r, s.silence)
	if err != nil {
		return nil // the response was sent
	}
	var o viewOptions
	if sock.first(&o) != nil {
		sock.close()
		return nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	go func() {
		sock.listen()
		cancel()
	}()
	err = s.stream(ctx, sock, r.PathValue("key"), o)
	if err != nil && ctx.Err() == nil {
		_ = sock.send(message{Problem: problemOf(err), Done: true})
	}
	// The page keeps the socket open, to see whether the server is running.
	<-ctx.Done()
	sock.close()
	<-sock.gone
	return nil
}

func (s *Server) stream(ctx context.Context, sock *socket, key string, o viewOptions) error {
	reader, err := s.source.Open(key)
	if err != nil {
		return err
	}
	st := &stream{socket: sock, reader: reader}
	if err := st.describe(message{}); err != nil {
		return err
	}
	if st.gather, err = newGatherer(o, s.seen.of(key)); err != nil {
		return err
	}
	for ctx.Err() == nil {
		ended := st.status != store.Live
		if err := st.sweep(ctx); err != nil {
			return err
		}
		if ended {
			if err := st.describe(message{Idle: true, Done: true}); err != nil {
				return err
			}
			return st.waitRemoved(ctx)
		}
		if err := st.idle(); err != nil {
			return err
		}
		if err := st.wait(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// waitRemoved waits until the recording is removed, or the page is gone.
func (st *stream) waitRemoved(ctx context.Context) error {
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

// sweep reads all recorded frames and sends their rows.
func (st *stream) sweep(ctx context.Context) error {
	for f, err := range st.reader.Frames(st.last) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		st.gather.add(&f)
		st.last, st.stale = f.Seq, true
		if err := st.flush(maxRows); err != nil {
			return err
		}
		if f.Seq%1024 == 0 && time.Since(st.sent) > progressEvery {
			if err := st.send(message{}); err != nil {
				return err
			}
		}
	}
	st.gather.decideOpen()
	return st.flush(1)
}

// flush sends rows and updates while at least least are pending.
func (st *stream) flush(least int) error {
	for st.gather.pending() >= least {
		rows, updates := st.gather.take(maxRows)
		if err := st.send(message{Rows: rows, Updates: updates}); err != nil {
			return err
		}
	}
	return nil
}

func (st *stream) send(m message) error {
	m.Read, st.sent = st.last, time.Now()
	if st.gather != nil {
		m.Calls = st.gather.total
	}
	return st.socket.send(m)
}

// idle reports that all recorded frames have been sent.
func (st *stream) idle() error {
	if time.Since(st.described) > describeEvery {
		return st.describe(message{Idle: true})
	}
	return st.send(message{Idle: true})
}

// describe sends a message with a description of the recording.
func (st *stream) describe(m message) error {
	rec, err := st.reader.Recording()
	if err != nil {
		return err
	}
	st.status, st.described, st.stale = rec.Status, time.Now(), false
	m.Recording = newRecordingJSON(&rec)
	return st.send(m)
}

// wait waits for the next frame or the end of the recording. Meanwhile it sends a new description if the
// last one is stale.
func (st *stream) wait(ctx context.Context) error {
	if st.stale {
		soon, cancel := context.WithTimeout(ctx, describeEvery)
		defer cancel()
		if st.follow(soon) {
			return nil
		}
		if err := st.describe(message{}); err != nil || soon.Err() == nil {
			return err
		}
	}
	if st.follow(ctx) {
		return nil
	}
	return st.describe(message{})
}

// follow waits for the next frame, and reports whether there is one. An error recurs when the frame is
// read.
func (st *stream) follow(ctx context.Context) bool {
	for range st.reader.Follow(ctx, st.last) {
		return true
	}
	return false
}
