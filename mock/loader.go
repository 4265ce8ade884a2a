package mock

import (
	"net/http"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A loader makes a Recording, frame by frame. Of a recording of HTTP it tells the
// sessions apart, and keeps what HTTP said beside the messages.
type loader struct {
	spool *spool
	// first makes the first session's script, and others like it.
	first     *replay.Builder
	firstUsed bool
	tracker   session.Tracker
	building  map[int]*building
	inOrder   []*building
	// http says that there are exchanges, heads that those of their requests are
	// there too; open are those that are not over.
	http, heads bool
	// lines says that it is no recording of HTTP, as its first message shows.
	lines bool
	open  map[uint64]*exchange
	// streams are the exchanges that began a stream, by their first frames: those
	// that may be resumed. resumed says which of them an exchange goes on with.
	streams map[uint64]uint64
	// polls are streams on which something may still come, by the exchanges that
	// began them.
	polls map[uint64]*polling
	site  site
}

// A building is a session on its way into a script.
type building struct {
	b       *replay.Builder
	number  int
	conduct conduct
}

func newLoader(first *replay.Builder, s *spool) *loader {
	l := &loader{spool: s, first: first, building: map[int]*building{}, open: map[uint64]*exchange{}, streams: map[uint64]uint64{}, polls: map[uint64]*polling{}}
	l.site.init()
	return l
}

// onlySession is the number of the session of a recording without exchanges.
const onlySession = 1

// add takes the next frame.
func (l *loader) add(r *readFrame) error {
	if r.err != nil {
		return r.err
	}
	f := r.frame
	e := l.tracker.AddRead(&r.frame, r.message())
	switch {
	case l.lines:
		if f.Exchange != 0 { // as nobody but a person writes it
			f.Raw = r.payload
		}
		return l.session(onlySession).b.AddPrepared(e, &f, &r.prepared)
	case f.Exchange != 0:
		l.http = true
	case f.Lane == tap.Lifecycle && !l.http:
		l.http = e.Event.Transport == "http" || e.Event.Name == tap.EventConnect
	}
	switch {
	case !l.http:
		l.lines = f.Lane == tap.ToServer || f.Lane == tap.ToClient
		return l.session(onlySession).b.AddPrepared(e, &f, &r.prepared)
	case f.Lane == tap.Lifecycle:
		l.event(e)
		return nil
	case f.Lane == tap.Stderr:
		return nil
	}
	return l.message(r, e)
}

// session is the one with that number, which is made if need be.
func (l *loader) session(number int) *building {
	x := l.building[number]
	if x == nil {
		x = &building{b: l.first, number: number}
		if l.firstUsed {
			x.b = l.first.Another()
		}
		l.firstUsed = true
		l.building[number] = x
		l.inOrder = append(l.inOrder, x)
	}
	return x
}

// event takes what the tap saw of an exchange, or of the run.
func (l *loader) event(entry *session.Entry) {
	f, e, number := entry.Frame, &entry.Event, entry.Session
	if e.Name == tap.EventStart {
		l.site.names(e)
	}
	if f.Exchange == 0 {
		return
	}
	if e.Name == tap.EventRequest {
		l.heads = true
		x := &exchange{number: f.Exchange, stream: f.Exchange, method: e.Method, target: e.Target, fields: readFields(e.Header)}
		if began := entry.Resumes; began != 0 {
			if origin, ok := l.streams[began]; ok {
				x.stream = origin
			}
		} else {
			l.streams[f.Seq] = f.Exchange
		}
		x.first = f.Seq
		x.poll = l.poll(x)
		l.open[f.Exchange] = x
	}
	x := l.open[f.Exchange]
	if x == nil {
		return
	}
	if number != 0 {
		x.session = number
	}
	switch {
	case e.Name == tap.EventResponse && (e.Status >= 200 && e.Status < 600 || e.Status == 101):
		x.status, x.header = e.Status, e.Header
	case e.Name == tap.EventEnd:
		if e.By == "server" {
			x.left = f.Seq
		}
		l.over(x)
	}
}

// poll is the way of the stream that an exchange begins or goes on with.
func (l *loader) poll(x *exchange) *polling {
	if p := l.polls[x.stream]; p != nil {
		p.resumed()
		return p
	}
	return &polling{standing: x.method == http.MethodGet}
}

// message takes a frame of an exchange.
func (l *loader) message(r *readFrame, e *session.Entry) error {
	f := r.frame
	if !l.heads { // messages alone, as people write them by hand
		f.Raw = r.payload
		return l.session(onlySession).b.AddPrepared(e, &f, &r.prepared)
	}
	number, replayed := e.Session, e.Replays != 0
	x := l.open[f.Exchange]
	if x == nil { // its head is not there
		x = &exchange{number: f.Exchange, stream: f.Exchange, headless: true, poll: &polling{}}
		l.open[f.Exchange] = x
	}
	if number != 0 {
		x.session = number
	}
	if f.Lane == tap.ToServer {
		x.asked(r)
	} else if l.answered(x, r, replayed) || replayed {
		return nil
	}
	if x.session == 0 {
		return nil
	}
	s := l.session(x.session)
	kept, _ := l.tracker.Sessions.Session(x.session)
	s.conduct.learn(x, r, kept.Kind)
	f.Exchange = x.stream
	if kept.Kind == session.SessionEndpoint || kept.Kind == session.SessionSocket {
		f.Exchange = 0 // there is one stream for everything
	}
	f.Raw = r.payload
	if m := r.prepared.Message(); m == nil || m.Kind == jsonrpc.Other {
		return nil
	}
	return s.b.AddPrepared(e, &f, &r.prepared)
}

// recording returns what was made.
func (l *loader) recording() *Recording {
	for _, x := range l.open {
		l.over(x)
	}
	if len(l.inOrder) == 0 {
		l.session(onlySession)
	}
	r := &Recording{site: l.site, spool: l.spool}
	for _, x := range l.inOrder {
		p := &played{Script: x.b.Script(), number: x.number, conduct: x.conduct}
		if p.Requests() > 0 || p.Steps() > 0 || len(l.inOrder) == 1 {
			r.sessions = append(r.sessions, p)
		}
	}
	if len(r.sessions) == 0 {
		r.sessions = append(r.sessions, &played{Script: l.first.Another().Script(), number: onlySession})
	}
	r.Script = r.sessions[0].Script
	return r
}
