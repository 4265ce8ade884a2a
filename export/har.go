package export

import (
	"bytes"
	"cmp"
	"container/list"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A harWriter writes an HTTP Archive, version 1.2, for the network panels of browsers.
//
// An exchange of an HTTP recording becomes an entry with its recorded head, its body, and the times
// of sending, waiting and receiving. The events of a stream form its body. The messages of a
// WebSocket are stored as Chrome does.
//
// A stdio recording has no HTTP. Each request becomes a POST to
// http://stdio.invalid/<label>/<method> with the message as its body and the JSON-RPC response as its
// response. Each notification becomes a POST with an empty 202 response. Messages from the server
// have from-server in the path. Comments in the file and in each entry explain this.
//
// Entries are written when they end, open ones last. If more than maxEntries are open, or hold more
// than maxHeld bytes, the oldest is written as it is. At most maxBody bytes of a body or a WebSocket
// message are kept; a comment reports what is missing.
type harWriter struct {
	output
	about   About
	maxBody int // less than the constant in tests
	stdio   bool
	some    bool // an entry was written

	// Open entries: by exchange, or by request on stdio; and all of them, oldest first, with their
	// total size.
	open    map[uint64]*exchange
	pending map[session.Ref]*exchange
	queue   list.List
	held    int64
	tracker session.Tracker
	last    time.Duration
}

const (
	pageID       = "recording"
	stdioComment = "JSON-RPC on stdio, shown as HTTP by mcptap: no HTTP was spoken"

	// maxBody limits the bytes kept of a body.
	maxBody = 4 << 20
	// maxEntries limits the open entries.
	maxEntries = 1 << 16
	// maxHeld limits the bytes of their bodies.
	maxHeld = 256 << 20
	// maxSockets and maxSocketBytes limit the WebSocket messages in an entry.
	maxSockets     = 10_000
	maxSocketBytes = 64 << 20
)

// newHAR writes the head of an HTTP Archive.
func newHAR(w io.Writer, about About) *harWriter {
	h := &harWriter{
		output: output{w: w}, about: about, maxBody: maxBody, stdio: about.Header.Transport != "http",
		open: map[uint64]*exchange{}, pending: map[session.Ref]*exchange{},
	}
	comment := ""
	if h.stdio {
		comment = `"comment":"` + stdioComment + `",`
	}
	h.printf(`{"log":{"version":"1.2","creator":%s,%s"pages":[%s],"entries":[`,
		h.json(harNamed{about.Program, about.Version}), comment,
		h.json(harPage{Started: h.stamp(0), ID: pageID, Title: about.Header.Label}))
	return h
}

// json encodes a part of the file.
func (h *harWriter) json(v any) []byte {
	b, err := escape.JSON(v)
	h.fail(err)
	return b
}

// stamp formats a time as HAR requires.
func (h *harWriter) stamp(at time.Duration) string {
	return h.about.at(at).Format("2006-01-02T15:04:05.000000Z07:00")
}

// Add implements [writer].
func (h *harWriter) Add(f *tap.Frame) error {
	h.last = max(h.last, f.At)
	e := h.tracker.Add(f)
	if !h.stdio {
		h.addHTTP(e)
		return h.err
	}
	batch := elements(e)
	for i := range e.Parts {
		message := *f
		if i < len(batch) {
			message.Raw, message.Size = batch[i], int64(len(batch[i]))
		}
		h.addMessage(e, i, &message)
	}
	return h.err
}

// elements returns the messages of a batch, or nil. An entry with the whole batch for each of them
// would make the file much larger than the recording.
func elements(e *session.Entry) (all []jsonrpc.Value) {
	if e.Message.Kind != jsonrpc.Batch {
		return nil
	}
	raw := e.Frame.Raw
	for _, v := range jsonrpc.Value(raw[max(0, bytes.IndexByte(raw, '[')):]).Each {
		if len(all) == len(e.Parts) {
			break
		}
		all = append(all, v)
	}
	return all
}

// Close implements [writer].
func (h *harWriter) Close() error {
	for h.queue.Len() > 0 {
		h.writeOldest()
	}
	h.printf("]}}\n")
	return h.err
}

// wait adds an open entry, and writes the oldest ones if there are too many.
func (h *harWriter) wait(x *exchange) {
	x.place = h.queue.PushBack(x)
	for h.queue.Len() > maxEntries || h.held > maxHeld && h.queue.Len() > 1 {
		h.writeOldest()
	}
}

func (h *harWriter) writeOldest() { h.write(h.queue.Front().Value.(*exchange)) }

// write writes an entry.
func (h *harWriter) write(x *exchange) {
	if x.place != nil {
		h.queue.Remove(x.place)
		delete(h.open, x.number)
		delete(h.pending, x.ref)
	}
	h.held -= x.held
	separator := "\n"
	if h.some {
		separator = ",\n"
	}
	h.some = true
	h.printf("%s%s", separator, h.json(h.entry(x)))
}

// An exchange is an entry that has not been written yet.
type exchange struct {
	number      uint64
	ref         session.Ref   // of the request, on stdio
	place       *list.Element // in the queue, nil if it was never there
	first, last uint64
	request     tap.Event
	response    tap.Event
	up, down    body
	// began and sent are the times of the first and last byte of the request, responded that of the
	// first byte of the response, and ended that of the end.
	began, sent, responded, ended time.Duration
	over                          bool
	end                           tap.Event
	sockets                       []harMessage
	dropped, cut                  int // WebSocket messages that are missing, or truncated
	held                          int64
	comment                       string
}

// A body is a body, possibly truncated.
type body struct {
	bytes []byte
	size  int64
	lost  bool // bytes are missing at its end
}

var errEnough = errors.New("enough") // stops WriteRaw

// A limited keeps the first bytes written to it.
type limited struct {
	b    *body
	room int
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.room - len(l.b.bytes); len(p) > room {
		l.b.bytes = append(l.b.bytes, p[:room]...)
		l.b.lost = true
		return room, errEnough
	}
	l.b.bytes = append(l.b.bytes, p...)
	return len(p), nil
}

// addBytes adds a frame to a body of an exchange.
func (h *harWriter) addBytes(x *exchange, b *body, f *tap.Frame) {
	before := len(b.bytes)
	b.size += max(f.Size, int64(len(f.Raw)))
	to := limited{b, h.maxBody}
	switch {
	case b.lost:
	case f.Size <= int64(len(f.Raw)) || h.about.Raw == nil:
		_, _ = to.Write(f.Raw)
		b.lost = b.lost || f.Size > int64(len(f.Raw))
	default:
		if err := h.about.Raw(&to, *f); !errors.Is(err, errEnough) {
			h.fail(err)
		}
	}
	h.held += int64(len(b.bytes) - before)
	x.held += int64(len(b.bytes) - before)
}

// addHTTP adds a frame of an HTTP recording.
func (h *harWriter) addHTTP(e *session.Entry) {
	f := e.Frame
	if f.Exchange == 0 {
		return
	}
	x := h.open[f.Exchange]
	if x == nil {
		x = &exchange{number: f.Exchange, first: f.Seq, began: f.At - f.Took, sent: f.At}
		h.open[f.Exchange] = x
		h.wait(x)
	}
	x.last, x.ended = f.Seq, f.At
	switch {
	case f.Lane == tap.Lifecycle:
		h.addEvent(x, e)
	case f.Form >= tap.FormText && f.Form <= tap.FormClose:
		h.addSocket(x, f)
	case f.Lane == tap.ToServer:
		x.sent = f.At
		h.addBytes(x, &x.up, f)
	default:
		h.addBytes(x, &x.down, f)
	}
}

func (h *harWriter) addEvent(x *exchange, entry *session.Entry) {
	f, e := entry.Frame, entry.Event
	switch e.Name {
	case tap.EventRequest:
		x.request, x.sent = e, max(x.sent, f.At)
	case tap.EventResponse:
		if e.Status >= 200 || e.Status == 101 {
			x.response = e
		}
		x.responded = cmp.Or(x.responded, f.At-f.Took)
	case tap.EventEnd:
		x.end, x.over = e, true
		h.write(x)
	}
}

var opcodes = map[tap.Form]int{tap.FormText: 1, tap.FormBinary: 2, tap.FormClose: 8, tap.FormPing: 9, tap.FormPong: 10}

// addSocket adds a WebSocket message.
func (h *harWriter) addSocket(x *exchange, f *tap.Frame) {
	if len(x.sockets) >= maxSockets || x.down.size > maxSocketBytes {
		x.dropped++
		return
	}
	var message body
	h.addBytes(x, &message, f)
	x.down.size += message.size
	if message.lost {
		x.cut++
	}
	m := harMessage{Type: "send", Opcode: opcodes[f.Form], Time: float64(h.about.at(f.At).UnixMicro()) / 1e6}
	if f.Lane == tap.ToClient {
		m.Type = "receive"
	}
	if m.Data = string(message.bytes); m.Opcode != 1 || !utf8.Valid(message.bytes) {
		m.Data = base64.StdEncoding.EncodeToString(message.bytes)
	}
	x.sockets = append(x.sockets, m)
}

var jsonHeader = [][2]string{{"Content-Type", "application/json"}}

// addMessage creates the entry for a request or notification on stdio, or adds a response to one. f is
// the frame, with only the message if it is a batch.
func (h *harWriter) addMessage(r *session.Entry, i int, f *tap.Frame) {
	p := &r.Parts[i]
	switch p.Kind {
	case jsonrpc.Request:
		x := h.posted(r, i)
		x.ref = p.Message
		h.pending[p.Message] = x
		h.addBytes(x, &x.up, f)
		h.wait(x)
	case jsonrpc.Notification:
		x := h.posted(r, i)
		x.response = tap.Event{Status: 202, Reason: "Accepted", Proto: "HTTP/1.1"}
		x.over, x.responded = true, f.At
		h.addBytes(x, &x.up, f)
		h.write(x)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		x := h.pending[p.Request]
		if x == nil || p.Role == session.RoleOrphan {
			return
		}
		x.response = tap.Event{Status: 200, Reason: "OK", Proto: "HTTP/1.1", Header: jsonHeader}
		x.responded, x.ended, x.last, x.over = f.At-f.Took, f.At, f.Seq, true
		h.addBytes(x, &x.down, f)
		h.write(x)
	}
}

// posted creates the entry for a request or notification.
func (h *harWriter) posted(r *session.Entry, i int) *exchange {
	f, l := r.Frame, view.NewMessageRow(r, i)
	path := "/" + url.PathEscape(cmp.Or(h.about.Header.Label, "server"))
	if f.Lane == tap.ToClient {
		path += "/from-server"
	}
	for word := range strings.SplitSeq(l.Method, "/") {
		path += "/" + url.PathEscape(word)
	}
	if _, about := targets[l.Method]; about && l.About != "" {
		path += "/" + url.PathEscape(l.About)
	}
	return &exchange{
		first: f.Seq, last: f.Seq, began: f.At - f.Took, sent: f.At, ended: f.At, comment: stdioComment,
		request: tap.Event{
			Method: "POST", Target: "http://stdio.invalid" + path, Proto: "HTTP/1.1", Header: jsonHeader,
		},
	}
}
