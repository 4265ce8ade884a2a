package mock

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Live is a live server that answers what is not in a recording, for one session: that
// of [Live.Stdio], or the one of a [Server] with it in its options. What the client and it
// said are the frames to add to the recording. The script must be made with Forward in
// its options.
//
// The server is connected to when the first such request comes. It gets the client's own
// initialize and initialized first, if there were any, and its answer to that is not
// passed on: for the client there is one server. From then on its requests and
// notifications reach the client as well, under ids that the recorded server does not
// use, and so do the client's notifications reach it.
//
// What the recording answers does not reach the live server, so it knows nothing of
// what that would have changed.
type Live struct {
	// Dial makes the connection to the server.
	Dial func() (client.Conn, error)
	// Patience is how long the server may take for what it still owes when the client
	// has ended the session. Its input ends then, too, once it has all of the client's
	// messages.
	Patience time.Duration

	// c is the session. Its lock guards all that follows.
	c     atomic.Pointer[conversation]
	began time.Time
	state liveState
	// conn is the connection, nil before dialed is closed and where there is none. events
	// come from it, stop ends its context.
	conn   client.Conn
	dialed chan struct{}
	events chan client.Event
	stop   context.CancelFunc
	closed bool
	// hello and ready are what the client opened the session with; readied says that
	// the server has been told.
	hello, ready []byte
	readied      bool
	// queue is what the server is to get, awaited the initialize that it has got and not
	// answered.
	queue   []*liveMessage
	awaited *liveMessage
	// open are the client's requests that wait for its answer, the oldest first.
	open []*liveMessage
	// stream is where the client's latest message is answered.
	stream replay.Stream
	// asked are its own requests, by the ids that the client got.
	asked map[string][]byte
	next  int64
	added []tap.Frame
	// left says that the client has ended the session, late that the patience is over.
	left, late bool
}

type liveState uint8

const (
	liveNone     liveState = iota
	liveGreeting           // it was sent initialize, and has not answered
	liveUp
	liveGone
)

// A liveMessage is one for the live server. It is in Live.open while it is a request that
// waits for its answer.
type liveMessage struct {
	out        *client.Outgoing
	request    bool
	id, method string
	// subject is what the method is about, such as the name of a tool.
	subject string
	// token is that of its progress, stream where the client is answered; modern says
	// that it is of 2026-07-28.
	token  string
	stream replay.Stream
	modern bool
}

// firstLiveID is above what servers count to, and within what JavaScript can.
const firstLiveID = 1 << 40

// Forward is for [replay.Options].
func (l *Live) Forward(raw []byte) bool {
	c := l.c.Load()
	if c == nil || c.over || l.closed || l.state == liveGone {
		return false
	}
	m := jsonrpc.Peek(raw)
	if l.state == liveNone {
		l.begin(c, m.Method == "initialize")
	}
	if x := c.streams[l.stream]; x != nil && x != c.duplex {
		x.live = true
	}
	l.open = append(l.open, l.send(raw, true))
	return true
}

// begin connects to the server, which is greeted first unless the client does so itself.
func (l *Live) begin(c *conversation, greeted bool) {
	l.state, l.began, l.asked = liveUp, time.Now(), map[string][]byte{}
	if l.hello != nil && !greeted {
		l.state = liveGreeting
		l.send(l.hello, false)
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.dialed, l.events = stop, make(chan struct{}), make(chan client.Event)
	go l.run(ctx, c)
}

// run connects to the server and takes what it says, until the connection is closed.
func (l *Live) run(ctx context.Context, c *conversation) {
	conn, err := l.Dial()
	if err == nil {
		if err = conn.Open(ctx, l.events); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		close(l.dialed)
		c.act(func() { l.gone(fmt.Sprintf("the live server cannot be started: %v", err)) })
		return
	}
	l.conn = conn
	close(l.dialed)
	go l.write(ctx, c)
	for {
		select {
		case e := <-l.events:
			c.act(func() { l.said(&e) })
			c.awaitRoom()
		case <-ctx.Done():
			return
		}
	}
}

// requestTime is how long the server may take to accept a request before the next message
// is sent: it may answer a message within its exchange only after it got another one.
const requestTime = time.Second

// write sends what is queued, in order, until the session or the server is over.
func (l *Live) write(ctx context.Context, c *conversation) {
	for {
		c.mu.Lock()
		for !l.closed && l.state != liveGone && (len(l.queue) == 0 && !l.left || len(l.queue) > 0 && l.awaited != nil) {
			c.changed.Wait()
		}
		if len(l.queue) == 0 || l.awaited != nil || l.state == liveGone {
			c.mu.Unlock()
			l.conn.CloseSend()
			return
		}
		m := l.queue[0]
		l.queue = l.queue[1:]
		if m.method == "initialize" {
			l.awaited = m
		}
		c.mu.Unlock()
		var enough <-chan time.Time
		if m.request {
			enough = time.After(requestTime)
		}
		select {
		case <-l.conn.Send(m.out): // of a refused request there is an event
		case <-enough:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the connection to the server, if there is one. The session must be over.
func (l *Live) Close() {
	c := l.c.Load()
	if c == nil {
		return
	}
	c.mu.Lock()
	l.closed = true
	began := l.state != liveNone
	c.changed.Broadcast()
	c.mu.Unlock()
	if !began {
		return
	}
	defer l.stop()
	select {
	case <-l.dialed:
	default:
		l.stop()
		<-l.dialed
	}
	if l.conn == nil {
		return
	}
	ended := make(chan struct{})
	go func() { // what passes events on may wait for a client that does not read
		for {
			select {
			case <-l.events:
			case <-ended:
				return
			}
		}
	}()
	l.conn.Close()
	close(ended)
}

// Added returns what is to be added to the recording, in the order in which it
// crossed, without numbers and with times from the first of them on. Requests that
// the live server did not answer are not among them, and where none is left there is
// nothing to add.
func (l *Live) Added() []tap.Frame {
	c := l.c.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range l.open {
		l.forget(r)
	}
	asked := func(f tap.Frame) bool { return f.Lane == tap.ToServer && jsonrpc.Peek(f.Raw).Kind == jsonrpc.Request }
	if !slices.ContainsFunc(l.added, asked) {
		return nil // what was said beside them is of no use
	}
	return slices.Clone(l.added)
}

// record keeps a message of the live session.
func (l *Live) record(lane tap.Lane, message []byte) {
	raw := append(oneLine(message), '\n')
	l.added = append(l.added, tap.Frame{
		At: time.Since(l.began), Lane: lane, Form: tap.FormLine, Raw: raw, Size: int64(len(raw)),
	})
}

// oneLine is a message without line ends, in memory of its own.
func oneLine(message []byte) []byte {
	return bytes.TrimSuffix(appendLine(nil, message), []byte{'\n'})
}

// send puts a message into the queue to the server, and records it if it is new.
func (l *Live) send(raw []byte, record bool) *liveMessage {
	if record {
		l.record(tap.ToServer, raw)
	}
	m := l.outgoing(raw)
	l.queue = append(l.queue, m)
	l.c.Load().changed.Broadcast()
	return m
}

// outgoing makes a message for the server.
func (l *Live) outgoing(raw []byte) *liveMessage {
	m := jsonrpc.Peek(raw)
	claim := replay.ReadClaim(&m)
	return &liveMessage{
		out: client.NewOutgoing(oneLine(raw)), request: m.Kind == jsonrpc.Request, id: string(m.ID),
		method: m.Method, subject: jsonrpc.Subject(m),
		token: string(replay.Value(m.Params, "_meta", "progressToken")), stream: l.stream, modern: claim.Modern,
	}
}

// owes reports whether answers of the server are waited for.
func (l *Live) owes() bool { return len(l.open) > 0 && l.state != liveGone && !l.late }

// leave says that the client has ended the session.
func (l *Live) leave(c *conversation) {
	l.left = true
	c.changed.Broadcast()
	if l.owes() {
		time.AfterFunc(l.Patience, func() { c.act(func() { l.late = true }) })
	}
}

// took looks at a message of the client's, and reports whether it concerns only the live
// server.
func (l *Live) took(c *conversation, in replay.Input) bool {
	l.stream = in.Stream
	switch m := jsonrpc.Peek(in.Raw); m.Kind {
	case jsonrpc.Request:
		if m.Method == "initialize" && l.hello == nil {
			l.hello = bytes.Clone(in.Raw)
		}
		if l.request(string(m.ID)) != nil {
			c.put(replay.Output{
				Stream: in.Stream, Raw: errorMessage(string(m.ID), -32600, "a request with this id is open; one client is recorded at a time"),
				Last: c.duplex == nil, Status: http.StatusConflict,
			})
			return true
		}
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		id, ok := l.asked[string(m.ID)]
		if ok {
			delete(l.asked, string(m.ID))
			l.send(replay.Rewrite(in.Raw, id, "id"), true)
		}
		return ok
	case jsonrpc.Notification:
		return l.notified(&m, in.Raw)
	}
	return false
}

// request finds a request that is open by its id, nil for none.
func (l *Live) request(id string) *liveMessage {
	for _, r := range l.open {
		if r.id == id {
			return r
		}
	}
	return nil
}

// notified takes a notification of the client's.
func (l *Live) notified(m *jsonrpc.Message, raw []byte) bool {
	switch m.Method {
	case "notifications/initialized", "initialized":
		if l.ready == nil {
			l.ready = bytes.Clone(raw)
		}
		if l.state != liveUp || l.readied {
			return false
		}
		l.readied = true
		l.send(raw, l.greeted())
		return l.greeted()
	case "notifications/cancelled", "cancel":
		id := replay.Value(raw, "params", "requestId")
		if id == nil {
			id = replay.Value(raw, "params", "id")
		}
		r := l.request(string(id))
		if l.state != liveUp || r == nil {
			return false
		}
		l.close(r) // there may be no answer
		l.send(raw, true)
		return true
	}
	if l.state == liveUp {
		l.send(raw, false)
	}
	return false
}

// greeted reports whether the live server got the client's initialize as a request
// that is not in the recording.
func (l *Live) greeted() bool {
	return len(l.added) > 0 && jsonrpc.Peek(l.added[0].Raw).Method == "initialize"
}

// hungUp says that the client reads a stream no more. In 2026-07-28 that cancels what was
// asked on it (2026-07-28 basic/transports#cancellation).
func (l *Live) hungUp(x *stream) {
	for _, r := range slices.Clone(l.open) {
		if r.modern && r.stream == x.id {
			l.close(r)
			l.send([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+r.id+`}}`), true)
		}
	}
}

// close takes a request out of those that are open.
func (l *Live) close(r *liveMessage) {
	l.open = slices.DeleteFunc(l.open, func(x *liveMessage) bool { return x == r })
}

// said takes what the connection to the server tells.
func (l *Live) said(e *client.Event) {
	if l.state == liveGone {
		return
	}
	i := slices.IndexFunc(l.open, func(r *liveMessage) bool { return e.On != nil && r.out == e.On })
	var on *liveMessage
	if i >= 0 {
		on = l.open[i]
	}
	switch {
	case e.Gone && e.On == nil:
		why := "the live server has ended"
		if e.Err != nil {
			why += ": " + e.Err.Error()
		}
		l.gone(why)
	case e.Err != nil && l.awaited != nil && l.awaited.out == e.On && l.state == liveGreeting:
		l.gone(fmt.Sprintf("the live server does not take initialize: %v", e.Err))
	case e.Err != nil && on != nil:
		l.answered(on)
		l.excuse(on, fmt.Sprintf("the live server does not answer it: %v", e.Err))
	case e.Err == nil:
		l.message(e, on)
	}
}

// answered takes that the server has answered an initialize, or will not.
func (l *Live) answered(m *liveMessage) {
	if m == l.awaited {
		l.awaited = nil
		l.c.Load().changed.Broadcast()
	}
}

// message takes a message of the server's, which came on the exchange of a request if on
// is not nil.
func (l *Live) message(e *client.Event, on *liveMessage) {
	raw := e.Raw
	m := jsonrpc.Peek(raw)
	answer := isResponse(&m)
	if id := string(m.ID); answer && on != nil && (id == "" || id == "null") {
		raw = replay.Rewrite(raw, []byte(on.id), "id") // the exchange alone says what it answers
		m.ID = []byte(on.id)
	}
	if l.awaited != nil && answer && l.awaited.id == string(m.ID) {
		l.answered(l.awaited)
		l.c.Load().declined = m.Kind == jsonrpc.ErrorResponse && l.state == liveUp
	}
	if l.state == liveGreeting {
		// The answer to what the client has been answered already is not recorded, nor
		// what comes before it.
		if answer && l.awaited == nil {
			l.state = liveUp
			if l.ready != nil {
				l.queue, l.readied = slices.Insert(l.queue, 0, l.outgoing(l.ready)), true
			}
		}
		return
	}
	l.record(tap.ToClient, raw)
	to := l.route(&m, on)
	for part := range m.All {
		if r := l.request(string(part.ID)); r != nil && isResponse(part) {
			l.close(r)
		}
	}
	switch {
	case m.Kind == jsonrpc.Request:
		id := l.clientID(m.ID)
		l.asked[string(id)] = bytes.Clone(m.ID)
		raw = replay.Rewrite(raw, id, "id")
	case m.Method == "notifications/cancelled":
		raw = l.cancelled(raw)
	}
	l.c.Load().tell(to, raw, m.Kind)
}

// clientID makes an id for the client of one of the live server's, of the same type.
func (l *Live) clientID(id []byte) []byte {
	l.next++
	if len(id) > 0 && id[0] == '"' {
		return append(append([]byte(`"live-`), strconv.FormatInt(l.next, 10)...), '"')
	}
	return strconv.AppendInt(nil, firstLiveID+l.next, 10)
}

// cancelled gives the cancellation of a request of the server's the id that the
// client knows.
func (l *Live) cancelled(raw []byte) []byte {
	id := replay.Value(raw, "params", "requestId")
	for known, own := range l.asked {
		if bytes.Equal(own, id) {
			delete(l.asked, known)
			return replay.Rewrite(raw, []byte(known), "params", "requestId")
		}
	}
	return raw
}

// route finds the stream for a message of the server's: that of the request which it
// names by its id, its progress token or its subscription, or on whose exchange it came;
// else the oldest that a request waits on, so that what came before an answer stays
// before it; else the one for what belongs to no request. Nil is none.
func (l *Live) route(m *jsonrpc.Message, on *liveMessage) *stream {
	c := l.c.Load()
	if c.duplex != nil {
		return c.duplex
	}
	at := func(named *liveMessage) *stream {
		if named == nil {
			return nil
		}
		return c.streams[named.stream]
	}
	switch m.Kind {
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		return at(l.request(string(m.ID)))
	case jsonrpc.Batch:
		for part := range m.All {
			if r := l.request(string(part.ID)); r != nil && isResponse(part) {
				return at(r)
			}
		}
	case jsonrpc.Notification:
		if token := string(replay.Value(m.Params, "progressToken")); token != "" {
			if i := slices.IndexFunc(l.open, func(r *liveMessage) bool { return r.token == token }); i >= 0 {
				return at(l.open[i])
			}
		}
		if id := replay.Value(m.Params, "_meta", "io.modelcontextprotocol/subscriptionId"); id != nil {
			return at(l.request(string(id)))
		}
	}
	listens := map[replay.Stream]bool{}
	for _, r := range l.open {
		listens[r.stream] = listens[r.stream] || r.method == "subscriptions/listen"
	}
	return cmp.Or(at(on), c.oldest(listens), c.aside())
}

// gone answers what the live server will not.
func (l *Live) gone(why string) {
	l.state = liveGone
	l.c.Load().changed.Broadcast()
	for _, r := range slices.Clone(l.open) {
		l.excuse(r, why)
	}
}

// excuse answers a request that the live server does not answer.
func (l *Live) excuse(r *liveMessage, why string) {
	c := l.c.Load()
	text := l.miss(r, why)
	c.tell(cmp.Or(c.duplex, c.streams[r.stream]), errorMessage(r.id, -32603, text), jsonrpc.ErrorResponse)
}

// miss takes that a request has no response, and returns what it notes. A subscription
// that lasts until the end of the session needs none.
func (l *Live) miss(r *liveMessage, why string) (text string) {
	text = strings.TrimSpace(r.method+" "+r.subject) + " was not recorded, and " + why
	if !l.left || r.method != "subscriptions/listen" {
		l.c.Load().note(replay.Note{Kind: replay.NoteMiss, Method: r.method, Subject: r.subject, Text: text})
	}
	l.forget(r)
	l.close(r)
	return text
}

// over ends the session: what is owed is answered with an error, where the client waits
// for it on a stream of its own.
func (l *Live) over(c *conversation) {
	l.left = true
	for _, r := range slices.Clone(l.open) {
		l.miss(r, "the live server did not answer it before the end of the session")
		if c.duplex == nil {
			c.tell(c.streams[r.stream], errorMessage(r.id, -32000, "the session is over"), jsonrpc.ErrorResponse)
		}
	}
}

// forget takes a request out of what is to be added.
func (l *Live) forget(r *liveMessage) {
	for i, f := range slices.Backward(l.added) {
		m := jsonrpc.Peek(f.Raw)
		if f.Lane == tap.ToServer && m.Kind == jsonrpc.Request && string(m.ID) == r.id {
			l.added = slices.Delete(l.added, i, i+1)
			return
		}
	}
}

func isResponse(m *jsonrpc.Message) bool {
	return m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse
}

// errorMessage is the answer of a mock's own to a request.
func errorMessage(id string, code int, text string) []byte {
	message, err := json.Marshal("mcptap mock: " + text)
	if err != nil { // a string: cannot happen
		panic(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, cmp.Or(id, "null"), code, message)
}
