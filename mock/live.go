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

// A Live is a live server that answers requests that are not in the recording. It serves one
// session: that of [Live.Stdio] or of a [Server]. The messages that it exchanges with the client
// are the frames to add to the recording. The options of the script must contain its Forward
// method.
//
// Live connects to the server at the first such request. The server first gets the client's
// initialize request and initialized notification, if there were any. Its response to initialize
// is not passed on. From then on its requests and notifications reach the client, with ids that
// the recorded server does not use, and the client's notifications reach the server.
//
// Requests that are answered from the recording do not reach the live server, so they have no
// effect there.
type Live struct {
	// Dial connects to the server.
	Dial func() (client.Conn, error)
	// Patience is how long the server may take for the responses that it owes after the client
	// has ended the session. The server's input ends when it has received all client messages.
	Patience time.Duration

	c     atomic.Pointer[conversation] // its lock guards all fields below
	began time.Time
	state liveState
	// conn is the connection, nil before dialed is closed or if connecting failed. events
	// receives its events, stop cancels its context.
	conn   client.Conn
	dialed chan struct{}
	events chan client.Event
	stop   context.CancelFunc
	closed bool
	// initialize and initialized are the messages with which the client opened the session.
	// opened reports that the server got initialized.
	initialize, initialized []byte
	opened                  bool

	queue   []*liveMessage    // the messages to send to the server
	awaited *liveMessage      // the unanswered initialize
	open    []*liveMessage    // the client requests that wait for a response, oldest first
	stream  replay.Stream     // the stream of the latest client message
	asked   map[string][]byte // the ids of the server's requests, by the ids sent to the client
	next    int64
	added   []tap.Frame
	// left reports that the client has ended the session, late that Patience has expired.
	left, late bool
}

type liveState uint8

const (
	liveNone    liveState = iota
	liveOpening           // it has not answered the initialize
	liveUp
	liveGone
)

// A liveMessage is a message for the live server.
type liveMessage struct {
	out                 *client.Outgoing
	request             bool
	id, method, subject string
	token               string        // the progress token
	stream              replay.Stream // the stream for the response
	modern              bool          // the message is of 2026-07-28
}

// firstLiveID is greater than the ids that servers use, and exact in JavaScript.
const firstLiveID = 1 << 40

// Forward is the function for [replay.Options].
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

// begin connects to the server, and opens the session unless the client is doing so.
func (l *Live) begin(c *conversation, opening bool) {
	l.state, l.began, l.asked = liveUp, time.Now(), map[string][]byte{}
	if l.initialize != nil && !opening {
		l.state = liveOpening
		l.send(l.initialize, false)
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.dialed, l.events = stop, make(chan struct{}), make(chan client.Event)
	go l.run(ctx, c)
}

// run connects to the server and handles its events until the connection is closed.
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
			c.act(func() { l.event(&e) })
			c.awaitRoom()
		case <-ctx.Done():
			return
		}
	}
}

// requestTime is how long the server may take to accept a request before the next message is sent
// anyway. The server may need that message to respond.
const requestTime = time.Second

// write sends the queue in order until the session has ended or the server is gone.
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
		case <-l.conn.Send(m.out): // an event reports a refused request
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
	go func() { // there may be no other reader
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

// Added returns the frames to add to the recording. They have no numbers, and times relative to
// the first one. Requests that the live server did not answer are omitted. Added returns nil if no
// request is left.
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
		return nil
	}
	return slices.Clone(l.added)
}

// record adds a message to the frames to add.
func (l *Live) record(lane tap.Lane, message []byte) {
	raw := asLine(message)
	l.added = append(l.added, tap.Frame{
		At: time.Since(l.began), Lane: lane, Form: tap.FormLine, Raw: raw, Size: int64(len(raw)),
	})
}

// send queues a message for the server and, if record is set, records it.
func (l *Live) send(raw []byte, record bool) *liveMessage {
	if record {
		l.record(tap.ToServer, raw)
	}
	m := l.outgoing(raw)
	l.queue = append(l.queue, m)
	l.c.Load().changed.Broadcast()
	return m
}

// outgoing returns a message for the server.
func (l *Live) outgoing(raw []byte) *liveMessage {
	m := jsonrpc.Peek(raw)
	claim := replay.ReadClaim(&m)
	return &liveMessage{
		out: client.NewOutgoing(oneLine(raw)), request: m.Kind == jsonrpc.Request, id: string(m.ID),
		method: m.Method, subject: jsonrpc.Subject(m),
		token: string(replay.Value(m.Params, "_meta", "progressToken")), stream: l.stream, modern: claim.Modern,
	}
}

// owes reports whether the server owes responses and may still send them.
func (l *Live) owes() bool { return len(l.open) > 0 && l.state != liveGone && !l.late }

// leave handles that the client has ended the session.
func (l *Live) leave(c *conversation) {
	l.left = true
	c.changed.Broadcast()
	if l.owes() {
		time.AfterFunc(l.Patience, func() { c.act(func() { l.late = true }) })
	}
}

// accepts handles a client message, and reports whether it is for the live server only.
func (l *Live) accepts(c *conversation, in replay.Input) bool {
	l.stream = in.Stream
	switch m := jsonrpc.Peek(in.Raw); m.Kind {
	case jsonrpc.Request:
		if m.Method == "initialize" && l.initialize == nil {
			l.initialize = bytes.Clone(in.Raw)
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

// request returns the open request with an id, nil for none.
func (l *Live) request(id string) *liveMessage {
	if i := slices.IndexFunc(l.open, func(r *liveMessage) bool { return r.id == id }); i >= 0 {
		return l.open[i]
	}
	return nil
}

// notified handles a notification from the client, and reports whether it is for the live
// server only.
func (l *Live) notified(m *jsonrpc.Message, raw []byte) bool {
	switch m.Method {
	case "notifications/initialized", "initialized":
		if l.initialized == nil {
			l.initialized = bytes.Clone(raw)
		}
		if l.state != liveUp || l.opened {
			return false
		}
		l.opened = true
		l.send(raw, l.opensLive())
		return l.opensLive()
	case "notifications/cancelled", "cancel":
		id := replay.Value(raw, "params", "requestId")
		if id == nil {
			id = replay.Value(raw, "params", "id")
		}
		r := l.request(string(id))
		if l.state != liveUp || r == nil {
			return false
		}
		l.close(r) // there may be no response
		l.send(raw, true)
		return true
	}
	if l.state == liveUp {
		l.send(raw, false)
	}
	return false
}

// opensLive reports whether the client's initialize was forwarded to the live server because it is
// not in the recording.
func (l *Live) opensLive() bool {
	return len(l.added) > 0 && jsonrpc.Peek(l.added[0].Raw).Method == "initialize"
}

// hungUp handles that the client no longer reads a stream, which in 2026-07-28 cancels the
// requests on it (basic/transports#cancellation).
func (l *Live) hungUp(x *stream) {
	for _, r := range slices.Clone(l.open) {
		if r.modern && r.stream == x.id {
			l.close(r)
			l.send([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+r.id+`}}`), true)
		}
	}
}

// close removes an open request.
func (l *Live) close(r *liveMessage) {
	l.open = slices.DeleteFunc(l.open, func(x *liveMessage) bool { return x == r })
}

// event handles an event of the connection to the server.
func (l *Live) event(e *client.Event) {
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
	case e.Err != nil && l.awaited != nil && l.awaited.out == e.On && l.state == liveOpening:
		l.gone(fmt.Sprintf("the live server refuses initialize: %v", e.Err))
	case e.Err != nil && on != nil:
		l.answered(on)
		l.refuse(on, fmt.Sprintf("the live server sent no response: %v", e.Err))
	case e.Err == nil:
		l.message(e, on)
	}
}

// answered ends the wait for the response to an initialize.
func (l *Live) answered(m *liveMessage) {
	if m == l.awaited {
		l.awaited = nil
		l.c.Load().changed.Broadcast()
	}
}

// message handles a server message. on is the request on whose exchange it came, nil for none.
func (l *Live) message(e *client.Event, on *liveMessage) {
	raw := e.Raw
	m := jsonrpc.Peek(raw)
	answer := isResponse(&m)
	if id := string(m.ID); answer && on != nil && (id == "" || id == "null") {
		raw = replay.Rewrite(raw, []byte(on.id), "id") // its exchange identifies the request
		m.ID = []byte(on.id)
	}
	if l.awaited != nil && answer && l.awaited.id == string(m.ID) {
		l.answered(l.awaited)
		l.c.Load().declined = m.Kind == jsonrpc.ErrorResponse && l.state == liveUp
	}
	if l.state == liveOpening {
		// The client already has a response to its initialize. This response and earlier
		// messages are not recorded.
		if answer && l.awaited == nil {
			l.state = liveUp
			if l.initialized != nil {
				l.queue, l.opened = slices.Insert(l.queue, 0, l.outgoing(l.initialized)), true
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
	l.c.Load().forward(to, raw, m.Kind)
}

// clientID returns an id to use toward the client, of the same type as the id of the live server.
func (l *Live) clientID(id []byte) []byte {
	l.next++
	if len(id) > 0 && id[0] == '"' {
		return append(append([]byte(`"live-`), strconv.FormatInt(l.next, 10)...), '"')
	}
	return strconv.AppendInt(nil, firstLiveID+l.next, 10)
}

// cancelled replaces the id in the cancellation of a server request by the one that the client
// knows.
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

// route returns the stream for a server message, nil for none: that of the request that the message
// names by id, progress token or subscription; or that of the request on whose exchange it came; or
// that of the oldest open request, so that it precedes the response; or the stream for messages
// that belong to no request.
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
	return cmp.Or(at(on), c.oldest(listens), c.general())
}

// gone ends the connection and answers all open requests with an error.
func (l *Live) gone(why string) {
	l.state = liveGone
	l.c.Load().changed.Broadcast()
	for _, r := range slices.Clone(l.open) {
		l.refuse(r, why)
	}
}

// refuse answers a request that the live server does not answer with an error.
func (l *Live) refuse(r *liveMessage, why string) {
	c := l.c.Load()
	text := l.miss(r, why)
	c.forward(cmp.Or(c.duplex, c.streams[r.stream]), errorMessage(r.id, -32603, text), jsonrpc.ErrorResponse)
}

// miss notes and removes a request without a response. A subscription that lasts until the end of
// the session is not noted: it needs no response.
func (l *Live) miss(r *liveMessage, why string) (text string) {
	text = strings.TrimSpace(r.method+" "+r.subject) + " was not recorded, and " + why
	if !l.left || r.method != "subscriptions/listen" {
		l.c.Load().note(replay.Note{Kind: replay.NoteMiss, Method: r.method, Subject: r.subject, Text: text})
	}
	l.forget(r)
	l.close(r)
	return text
}

// over ends the session. Open requests with their own stream get an error.
func (l *Live) over(c *conversation) {
	l.left = true
	for _, r := range slices.Clone(l.open) {
		l.miss(r, "the live server sent no response before the end of the session")
		if c.duplex == nil {
			c.forward(c.streams[r.stream], errorMessage(r.id, -32000, "the session is over"), jsonrpc.ErrorResponse)
		}
	}
}

// forget removes a request from the frames to add.
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

// errorMessage returns an error response by the mock.
func errorMessage(id string, code int, text string) []byte {
	message, err := json.Marshal("mcptap mock: " + text)
	if err != nil { // impossible for a string
		panic(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, cmp.Or(id, "null"), code, message)
}
