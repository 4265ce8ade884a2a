package export

import (
	"container/list"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// An exchange is an entry that is not written yet.
type exchange struct {
	number      uint64
	ref         session.Ref   // of a request on stdio
	place       *list.Element // in the queue, nil if it was never there
	first, last uint64
	request     tap.Event
	response    tap.Event
	up, down    body
	// began and sent are the times of the first and last byte of the request, responded
	// that of the first byte of the response, ended that of the end.
	began, sent, responded, ended time.Duration
	over                          bool
	end                           tap.Event
	sockets                       []harMessage
	dropped, cut                  int // messages of a WebSocket that are missing, or cut
	held                          int64
	comment                       string
}

// A body is the beginning of a body.
type body struct {
	bytes []byte
	size  int64
	lost  bool // bytes are missing at its end
}

// An entry gets no more messages of a WebSocket, and no more bytes of them.
const (
	maxSockets     = 10_000
	maxSocketBytes = 64 << 20
)

var errEnough = errors.New("enough") // ends WriteRaw

// A limited keeps the first bytes of what is written.
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
func (h *HAR) addBytes(x *exchange, b *body, f *tap.Frame) error {
	before := len(b.bytes)
	defer func() {
		h.held += int64(len(b.bytes) - before)
		x.held += int64(len(b.bytes) - before)
	}()
	b.size += max(f.Size, int64(len(f.Raw)))
	to := limited{b, h.about.MaxBody}
	if b.lost {
		return nil
	}
	if max(f.Size, int64(len(f.Raw))) == int64(len(f.Raw)) || h.about.Raw == nil {
		_, _ = to.Write(f.Raw)
		b.lost = b.lost || f.Size > int64(len(f.Raw))
		return nil
	}
	if err := h.about.Raw(&to, *f); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// addHTTP adds a frame of an HTTP recording.
func (h *HAR) addHTTP(e *session.Entry) error {
	f := e.Frame
	if f.Exchange == 0 {
		return nil
	}
	x := h.open[f.Exchange]
	if x == nil {
		x = &exchange{number: f.Exchange, first: f.Seq, began: f.At - f.Took, sent: f.At}
		h.open[f.Exchange] = x
		if err := h.wait(x); err != nil {
			return err
		}
	}
	x.last, x.ended = f.Seq, f.At
	switch {
	case f.Lane == tap.Lifecycle:
		return h.event(x, e)
	case f.Form >= tap.FormText && f.Form <= tap.FormClose:
		return h.socket(x, f)
	case f.Lane == tap.ToServer:
		x.sent = f.At
		return h.addBytes(x, &x.up, f)
	}
	return h.addBytes(x, &x.down, f)
}

func (h *HAR) event(x *exchange, entry *session.Entry) error {
	f, e := entry.Frame, entry.Event
	switch e.Name {
	case tap.EventRequest:
		x.request, x.sent = e, max(x.sent, f.At)
	case tap.EventResponse:
		if e.Status >= 200 || e.Status == 101 {
			x.response = e
		}
		if x.responded == 0 {
			x.responded = f.At - f.Took
		}
	case tap.EventEnd:
		x.end, x.over = e, true
		return h.write(x)
	}
	return nil
}

var opcodes = map[tap.Form]int{tap.FormText: 1, tap.FormBinary: 2, tap.FormClose: 8, tap.FormPing: 9, tap.FormPong: 10}

// socket adds a message of a WebSocket, up to [About.MaxBody].
func (h *HAR) socket(x *exchange, f *tap.Frame) error {
	if len(x.sockets) >= maxSockets || x.down.size > maxSocketBytes {
		x.dropped++
		return nil
	}
	var message body
	if err := h.addBytes(x, &message, f); err != nil {
		return err
	}
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
	return nil
}

// entry makes the entry of an exchange.
func (h *HAR) entry(x *exchange) harEntry {
	if x.request.Method == "" {
		x.request.Method, x.comment = "POST", "the head of the request was not recorded"
	}
	if !x.over && x.end.Name == "" {
		x.ended = max(x.ended, h.last)
	}
	e := harEntry{
		Page: pageID, Started: h.stamp(x.began), Request: h.requestOf(x), Response: h.responseOf(x), Timings: timings(x), Comment: x.comment,
		Mcptap: harMcptap{x.first, x.last, x.number}, Sockets: x.sockets,
	}
	e.Time = e.Timings.Send + e.Timings.Wait + e.Timings.Receive
	if x.request.Conn > 0 {
		e.Connection = strconv.FormatUint(x.request.Conn, 10)
	}
	if x.sockets != nil {
		e.Type = "websocket"
		if x.dropped > 0 {
			e.Comment = strings.TrimSpace(fmt.Sprintf("%s messages left out: %d", e.Comment, x.dropped))
		}
		if x.cut > 0 {
			e.Comment = strings.TrimSpace(fmt.Sprintf("%s messages cut at %d bytes: %d", e.Comment, h.about.MaxBody, x.cut))
		}
	}
	if x.response.By == "tap" {
		e.Comment = strings.TrimSpace(e.Comment + " response of mcptap itself")
	}
	return e
}

// timings divides the time of an exchange into sending, waiting and receiving.
func timings(x *exchange) harTimings {
	responded := x.responded
	if responded == 0 {
		responded = x.ended
	}
	sent := min(x.sent, responded)
	return harTimings{
		Blocked: -1, DNS: -1, Connect: -1, SSL: -1,
		Send: millis(sent - x.began), Wait: millis(responded - sent), Receive: millis(x.ended - responded),
	}
}

// millis is a duration in HAR.
func millis(d time.Duration) float64 { return float64(max(d, 0)) / 1e6 }

func (h *HAR) requestOf(x *exchange) harRequest {
	r := harRequest{
		Method: x.request.Method, URL: h.url(x.request.Target), Version: x.request.Proto, Headers: pairs(x.request.Header),
		Cookies: cookies(x.request.Header, "cookie"), Query: query(x.request.Target), HeadersSize: -1, BodySize: x.up.size,
	}
	if x.up.size > 0 {
		text, encoding := x.up.text()
		r.Post = &harPost{Type: field(x.request.Header, "content-type"), Text: text, Comment: x.up.comment()}
		if encoding != "" { // a request has no member for it
			r.Post.Comment = strings.TrimSpace(r.Post.Comment + " the text is " + encoding)
		}
	}
	return r
}

func (h *HAR) responseOf(x *exchange) harResponse {
	r := harResponse{
		Status: max(x.response.Status, 0), Text: x.response.Reason, Version: x.response.Proto, Headers: pairs(x.response.Header),
		Cookies: cookies(x.response.Header, "set-cookie"), Redirect: field(x.response.Header, "location"), HeadersSize: -1, BodySize: -1,
		Content: harContent{Size: x.down.size, Type: field(x.response.Header, "content-type"), Comment: x.down.comment()},
	}
	if x.end.Name != "" && x.end.BytesDown > 0 {
		r.BodySize = int64(x.end.BytesDown)
	}
	if x.sockets == nil {
		r.Content.Text, r.Content.Encoding = x.down.text()
	}
	if r.Status == 0 {
		r.Error = "no response was recorded"
	}
	if x.end.Error != "" {
		r.Error = x.end.Error
	}
	return r
}

// text returns a body as a JSON string, and its encoding if it is not UTF-8.
func (b *body) text() (text, encoding string) {
	if utf8.Valid(b.bytes) {
		return string(b.bytes), ""
	}
	return base64.StdEncoding.EncodeToString(b.bytes), "base64"
}

func (b *body) comment() string {
	if !b.lost {
		return ""
	}
	return fmt.Sprintf("the first %d of %d bytes", len(b.bytes), b.size)
}

// url returns the absolute URL of a request's target.
func (h *HAR) url(target string) string {
	if strings.Contains(target, "://") {
		return target
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	origin := strings.TrimSuffix(h.about.Header.Upstream, "/")
	if !strings.Contains(origin, "://") {
		origin = "http://unknown.invalid"
	}
	return origin + target
}

func query(target string) []harPair {
	list := []harPair{}
	_, q, _ := strings.Cut(target, "?")
	q, _, _ = strings.Cut(q, "#")
	for part := range strings.SplitSeq(q, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		list = append(list, harPair{unescaped(name), unescaped(value)})
	}
	return list
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

func pairs(fields [][2]string) []harPair {
	list := make([]harPair, len(fields))
	for i, f := range fields {
		list[i] = harPair{f[0], f[1]}
	}
	return list
}

// field returns the value of the first header field of a name.
func field(fields [][2]string, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f[0], name) {
			return f[1]
		}
	}
	return ""
}

// cookies returns the cookies of a head: all of a Cookie, the first of a Set-Cookie.
func cookies(fields [][2]string, name string) []harPair {
	list := []harPair{}
	for _, f := range fields {
		if !strings.EqualFold(f[0], name) {
			continue
		}
		for part := range strings.SplitSeq(f[1], ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			list = append(list, harPair{key, value})
			if name == "set-cookie" {
				break
			}
		}
	}
	return list
}
