package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Front makes of what clients say over Streamable HTTP the conversation of lines that
// [Extender.Serve] takes. It is an [http.Handler], and what is in and out for that:
//
//	front := mock.NewFront(rec, mock.ServerOptions{})
//	go mock.Serve(ctx, listener, front)
//	session, err := extender.Serve(ctx, rec.Script, front, front, patience)
//	front.Close()
//
// There is one session: it begins with an initialize, which gets an id, and ends with a
// DELETE or with Close. Requests of 2026-07-28 need none. That a client hangs up ends
// nothing, but cancels the request of 2026-07-28 that it hung up on.
//
// A message goes to the POST that has asked for it: by its id, its progress token or its
// subscription. Lines name no stream for the others. They go to the oldest POST that is
// open, so that what came before an answer stays before it, else to the GET, else they
// wait for one of the two.
type Front struct {
	srv   *Server // its guards and its refusals
	lines *io.PipeReader
	in    *io.PipeWriter

	mu   sync.Mutex
	room *sync.Cond // a client has read something, or gone
	// id is the session's, "" before it begins; stateless says that the latest request
	// was of 2026-07-28.
	id        string
	stateless bool
	// open are the POSTs that wait for answers, the oldest first; owed finds them by the
	// ids of their requests, and tokens by their progress tokens.
	open         []*answers
	owed, tokens map[string]*answers
	standing     *answers // the GET's
	// over says that the client has ended the session, closed that nothing more comes.
	over, closed bool
}

// answers are what a POST waits for, or what the GET gets.
type answers struct {
	x *stream
	// owed are the ids of the requests that are not answered.
	owed   map[string]bool
	tokens []string
	// opens says that it is an initialize, listens that it is for its own subscription
	// only, modern that it is of 2026-07-28.
	opens, listens, modern bool
}

func newAnswers() *answers {
	return &answers{x: &stream{wake: make(chan struct{}, 1)}, owed: map[string]bool{}}
}

// NewFront makes a Front for what is in a recording. Of the options only Names and
// AnyAddress count.
func NewFront(rec *Recording, opt ServerOptions) *Front {
	f := &Front{
		srv:  NewServer(rec, ServerOptions{Names: opt.Names, AnyAddress: opt.AnyAddress}),
		owed: map[string]*answers{}, tokens: map[string]*answers{}, standing: newAnswers(),
	}
	f.room = sync.NewCond(&f.mu)
	f.lines, f.in = io.Pipe()
	f.standing.x.form = formEvents
	return f
}

// Path is the path of the URL that a client is to use.
func (f *Front) Path() string { return f.srv.Path() }

// Read reads what clients post, a message a line. It ends with the session.
func (f *Front) Read(p []byte) (int, error) { return f.lines.Read(p) }

// Write takes one message for the client. It waits while the client that is to get it
// reads too slowly. What is no message stays out of HTTP.
func (f *Front) Write(line []byte) (int, error) {
	raw := bytes.TrimSpace(line)
	m := jsonrpc.Peek(raw)
	if m.Kind == jsonrpc.Invalid {
		return len(line), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	to := f.recipient(&m)
	for to != nil && to.x.reading && to.x.waiting >= maxWaiting && !f.closed {
		f.room.Wait()
		to = f.recipient(&m)
	}
	switch {
	case f.closed:
		return 0, io.ErrClosedPipe
	case to == nil || to.x.waiting >= maxWaiting:
		return len(line), nil // there is nobody to get it, and there was nobody for long
	}
	f.put(to, &m, raw)
	return len(line), nil
}

// recipient finds who gets a message, nil for nobody. The caller holds the lock.
func (f *Front) recipient(m *jsonrpc.Message) *answers {
	switch m.Kind {
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		return f.owed[string(m.ID)]
	case jsonrpc.Batch:
		for i := range m.Batch {
			if a := f.owed[string(m.Batch[i].ID)]; a != nil && m.Batch[i].Method == "" {
				return a
			}
		}
	case jsonrpc.Notification:
		if a := f.tokens[string(replay.Value(m.Params, "progressToken"))]; a != nil {
			return a
		}
		if id := replay.Value(m.Params, "_meta", "io.modelcontextprotocol/subscriptionId"); id != nil {
			return f.owed[string(id)]
		}
	}
	for _, a := range f.open {
		if !a.listens {
			return a
		}
	}
	if f.id == "" && f.stateless {
		return nil // there is no stream for what belongs to no request
	}
	return f.standing
}

// put hands over a message. The caller holds the lock.
func (f *Front) put(a *answers, m *jsonrpc.Message, raw []byte) {
	all := m.Batch
	if m.Kind != jsonrpc.Batch {
		all = []jsonrpc.Message{*m}
	}
	for i := range all {
		if id := string(all[i].ID); all[i].Method == "" && a.owed[id] {
			delete(a.owed, id)
			delete(f.owed, id)
		}
	}
	if a.opens && m.Kind == jsonrpc.ErrorResponse {
		f.id = "" // there is no session
	}
	a.x.over = a != f.standing && len(a.owed) == 0
	a.x.waiting += a.x.put(replay.Output{Raw: raw, Last: a.x.over})
	if a.x.over {
		f.forget(a)
	}
	a.x.signal()
}

// forget takes a POST out of those that are open. The caller holds the lock.
func (f *Front) forget(a *answers) {
	for i, b := range f.open {
		if a == b {
			f.open = append(f.open[:i:i], f.open[i+1:]...)
			break
		}
	}
	for id := range a.owed {
		delete(f.owed, id)
	}
	for _, token := range a.tokens {
		if f.tokens[token] == a {
			delete(f.tokens, token)
		}
	}
}

// take returns what a reader is to write, and whether nothing more comes for it.
func (f *Front) take(a *answers, turn int) (events []piece, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.x.turn != turn {
		a.x.signal() // which was for the one that took its place
		return nil, true
	}
	events = a.x.from(a.x.base)
	a.x.drop()
	a.x.waiting = 0
	f.room.Broadcast()
	return events, a.x.over
}

// leave says that a reader is gone.
func (f *Front) leave(a *answers, turn int) {
	f.mu.Lock()
	if a.x.turn != turn {
		f.mu.Unlock()
		return
	}
	a.x.reading = false
	var cancelled []string
	for id := range a.owed {
		if a.modern {
			cancelled = append(cancelled, id)
		}
	}
	f.forget(a)
	f.room.Broadcast()
	f.mu.Unlock()
	for _, id := range cancelled { // 2026-07-28 basic/transports#cancellation
		fmt.Fprintf(f.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`+"\n", id)
	}
}

// end ends the client's lane: what is owed is still answered.
func (f *Front) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.standing.x.over = true
	f.standing.x.signal()
	f.in.Close()
}

// Close ends the session. What is owed is answered with an error.
func (f *Front) Close() {
	f.lines.Close() // before end, which a reader would take for the client's
	f.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.room.Broadcast()
	text, err := json.Marshal("mcptap mock: the session is over")
	if err != nil { // a string: cannot happen
		panic(err)
	}
	for id, a := range f.owed {
		raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s}}`, id, text)
		f.put(a, &jsonrpc.Message{Kind: jsonrpc.ErrorResponse, ID: []byte(id)}, raw)
	}
}
