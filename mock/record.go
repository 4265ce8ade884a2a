package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An Extender plays a recording to one client on a pair of pipes, and asks a live
// server for what is not in it. What the two said then are the frames to add to the
// recording.
//
// The live server is started when the first such request comes. It gets the
// client's own initialize and initialized first, if there were any, and its answer
// to that is not passed on: for the client there is one server. From then on its
// requests and notifications reach the client as well, under ids that the recorded
// server does not use, and so do the client's notifications reach it.
//
// What the recording answers does not reach the live server, so it knows nothing of
// what that would have changed.
type Extender struct {
	// Start starts the live server: what is written is its input, what is read its
	// output, line by line, and closing it ends its input.
	Start func() (io.ReadWriteCloser, error)
	// Note gets what there is to say. Unlike that of [Stdio] it may be called by two
	// goroutines at once.
	Note func(replay.Note)

	mu    sync.Mutex
	began time.Time
	// out is the client's lane. A message is written while mu is not held.
	outMu sync.Mutex
	out   io.Writer
	// hello and ready are what the client opened the session with; readied says that
	// the server has been told.
	hello, ready []byte
	readied      bool
	// live is the server, nil before it is started; state how far it is.
	live  io.ReadWriteCloser
	state liveState
	// queue is what the server is to get; more says that there is something in it,
	// or that nothing more comes.
	queue [][]byte
	more  *sync.Cond
	// open are the requests that wait for its answer, by their ids, with their
	// methods.
	open map[string]string
	// telling is how many goroutines answer what was open a moment ago.
	telling int
	idle    *sync.Cond
	// asked are its own requests, by the ids that the client got.
	asked map[string][]byte
	next  int64
	added []tap.Frame
	// ended says that the session is over.
	ended bool
}

type liveState uint8

const (
	liveNone     liveState = iota
	liveGreeting           // it was sent initialize, and has not answered
	liveUp
	liveGone
)

// Elsewhere is for [replay.Options]: the script must be made with it.
func (e *Extender) Elsewhere(raw []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := jsonrpc.Peek(raw)
	if e.ended || e.state == liveGone {
		return false
	}
	if e.state == liveNone {
		e.begin(m.Method == "initialize")
	}
	e.open[string(m.ID)] = m.Method
	e.record(tap.ToServer, raw)
	e.send(raw)
	return true
}

// begin starts the live server, unless it is to be greeted by the client itself.
func (e *Extender) begin(greeted bool) {
	e.state = liveUp
	if e.hello != nil && !greeted {
		e.state = liveGreeting
	}
	e.began = time.Now()
	e.more = sync.NewCond(&e.mu)
	go e.run(e.state == liveGreeting)
}

// Serve plays the script as [Stdio] does. When the client has ended and the live
// server owes answers, it is given patience for them, unless the context ends. Serve leaves the server
// running, for [Extender.Close].
func (e *Extender) Serve(ctx context.Context, script *replay.Script, in io.Reader, out io.Writer, patience time.Duration) (*replay.Session, error) {
	e.out = out
	e.open, e.asked = map[string]string{}, map[string][]byte{}
	e.idle = sync.NewCond(&e.mu)
	toMock, fromClient := io.Pipe()
	go e.read(in, fromClient)
	session, err := Stdio(ctx, script, toMock, outWriter{e}, e.note)
	toMock.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	late := false
	enough, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(enough, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		late = true
		e.idle.Broadcast()
	})()
	for (len(e.open) > 0 && e.state != liveGone || e.telling > 0) && !late && err == nil {
		e.idle.Wait()
	}
	e.ended = true
	return session, err
}

// Close ends the live server's input, if there is one.
func (e *Extender) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	if e.more != nil {
		e.more.Broadcast()
	}
	if e.live == nil {
		return nil
	}
	return e.live.Close()
}

// Added returns what is to be added to the recording, in the order in which it
// crossed, without numbers and with times from the first of them on. Requests that
// the live server did not answer are not among them, and where none is left there is
// nothing to add.
func (e *Extender) Added() []tap.Frame {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forget(e.open)
	asked := func(f tap.Frame) bool { return f.Lane == tap.ToServer && jsonrpc.Peek(f.Raw).Kind == jsonrpc.Request }
	if !slices.ContainsFunc(e.added, asked) {
		return nil // what was said beside them is of no use
	}
	return slices.Clone(e.added)
}

func (e *Extender) note(n replay.Note) {
	if e.Note != nil {
		e.Note(n)
	}
}

// record keeps a line of the live session.
func (e *Extender) record(lane tap.Lane, line []byte) {
	raw := append(bytes.TrimRight(bytes.Clone(line), "\r\n"), '\n')
	e.added = append(e.added, tap.Frame{
		At: time.Since(e.began), Lane: lane, Form: tap.FormLine, Raw: raw, Size: int64(len(raw)),
	})
}

// send puts a line into the queue to the server.
func (e *Extender) send(line []byte) {
	e.queue = append(e.queue, append(bytes.TrimRight(bytes.Clone(line), "\r\n"), '\n'))
	e.more.Broadcast()
}

// outWriter is the client's lane for the mock: whole messages, one write each.
type outWriter struct{ e *Extender }

func (w outWriter) Write(p []byte) (int, error) {
	w.e.outMu.Lock()
	defer w.e.outMu.Unlock()
	return w.e.out.Write(p)
}

// read takes the client's lines: what answers or cancels what is the live server's
// is sent there, all else is the mock's.
func (e *Extender) read(in io.Reader, mock *io.PipeWriter) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if len(line) > 0 && !e.took(line) {
			if _, err := mock.Write(line); err != nil {
				return // the session is over
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			mock.CloseWithError(err)
			return
		}
	}
}

// took looks at a line of the client's, and reports whether it concerns nobody but
// the live server.
func (e *Extender) took(line []byte) bool {
	m := jsonrpc.Peek(line)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m.Kind {
	case jsonrpc.Request:
		if m.Method == "initialize" && e.hello == nil {
			e.hello = bytes.Clone(line)
		}
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		id, ok := e.asked[string(m.ID)]
		if !ok {
			return false
		}
		delete(e.asked, string(m.ID))
		line = replay.Rewrite(line, id, "id")
		e.record(tap.ToServer, line)
		e.send(line)
		return true
	case jsonrpc.Notification:
		return e.notified(&m, line)
	}
	return false
}

// notified takes a notification of the client's.
func (e *Extender) notified(m *jsonrpc.Message, line []byte) bool {
	if m.Method == "notifications/initialized" || m.Method == "initialized" {
		if e.ready == nil {
			e.ready = bytes.Clone(line)
		}
		if e.state != liveUp || e.readied {
			return false
		}
		e.readied = true
		if e.greeted() {
			e.record(tap.ToServer, line)
		}
		e.send(line)
		return e.greeted()
	}
	if e.state != liveUp {
		return false
	}
	if m.Method != "notifications/cancelled" && m.Method != "cancel" {
		e.send(line)
		return false
	}
	id := replay.Value(line, "params", "requestId")
	if id == nil {
		id = replay.Value(line, "params", "id")
	}
	if _, ok := e.open[string(id)]; !ok {
		return false
	}
	delete(e.open, string(id)) // there may be no answer
	e.record(tap.ToServer, line)
	e.send(line)
	return true
}

// greeted reports whether the live server got the client's initialize as a request
// that is not in the recording.
func (e *Extender) greeted() bool {
	return len(e.added) > 0 && jsonrpc.Peek(e.added[0].Raw).Method == "initialize"
}

// clientID makes an id for the client of one of the live server's, of the same type.
func (e *Extender) clientID(id []byte) []byte {
	e.next++
	if len(id) > 0 && id[0] == '"' {
		return append(append([]byte(`"live-`), strconv.FormatInt(e.next, 10)...), '"')
	}
	return strconv.AppendInt(nil, firstLiveID+e.next, 10)
}

// firstLiveID is above what servers count to, and within what JavaScript can.
const firstLiveID = 1 << 40
