package streamable

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// An upState says what the client is sending.
type upState uint8

const (
	upBetween upState = iota // nothing, or an empty line before a request
	upHead                   // the head of a request
	upBody                   // the body of one
	upWaiting                // it waits: the server decides what is spoken from now on
	upSocket                 // a WebSocket
	upRaw                    // what cannot be read
	upRefused                // what is not wanted any more: the tap answers
)

// An upLane cuts what the client sends into requests, records it, and says what
// of it is forwarded. It is pure but for the recorder: the same bytes make the
// same records however they are cut into chunks.
type upLane struct {
	*traffic
	carrier
	state upState
	scan  headScan
	check requestCheck
	began time.Time // when the head's first byte came
	body  bodyCut
	ex    *exchange // the request that crosses, nil between requests
	sink  *sink
	ws    *wsCut
	// refused is the exchange that the tap answers by itself.
	refused *exchange
}

// feed takes what one read brought and returns what is to be forwarded, valid
// until the next feed. rest is what must be fed again once the exchange that
// decides on the connection's protocol is decided.
func (u *upLane) feed(chunk []byte, at time.Time) (out, rest []byte) {
	u.begin(chunk)
	for len(u.left()) > 0 && u.state != upWaiting {
		u.step(at)
	}
	return u.finish(), u.left()
}

func (u *upLane) step(at time.Time) {
	p := u.left()
	switch u.state {
	case upBetween:
		if p[0] == '\r' || p[0] == '\n' { // RFC 9112, 2.2
			u.pass(1)
			return
		}
		u.state, u.began = upHead, at
		u.scan, u.check = headScan{}, requestCheck{}
	case upHead:
		u.headPart(p)
	case upBody:
		u.bodyPart(p)
	case upSocket:
		n, err := u.ws.write(p)
		u.ex.up.bytes += uint64(n)
		u.pass(n)
		if err != nil {
			u.unreadable(err)
		}
	case upRaw:
		u.raw(p)
	case upRefused:
		u.drop()
	}
}

// headPart takes the next bytes of a head. All of it is held until it is
// complete, since it is edited or refused as a whole.
func (u *upLane) headPart(p []byte) {
	n, done := u.scan.next(p)
	ends := u.check.next(p[:n])
	u.hold(n)
	if ends {
		line, _, _ := strings.Cut(string(u.held), "\n")
		_, _, claims := parseRequestLine(strings.TrimSuffix(line, "\r"))
		u.check.alien = !claims
	}
	switch {
	case u.check.alien:
		u.alien()
	case len(u.held) > u.headLimit():
		why := refusef(431, "its head has more than %d KiB", u.headLimit()>>10)
		u.unknown(why.why)
		u.refuse(why)
	case done:
		u.request()
	}
}

// lateHead refuses a request whose head is not complete after headTime.
func (u *upLane) lateHead() {
	why := refusef(408, "its head was not complete after %v", headTime)
	u.unknown(why.why)
	u.refuse(why)
}

// unknown records a request whose head cannot be read.
func (u *upLane) unknown(why string) {
	u.ex = u.newExchange(u.began)
	u.rec.Event(u.ex.n, tap.Event{Name: tap.EventRequest, Conn: u.conn, Error: why})
}

// alien gives up on a connection that does not speak HTTP/1. It passes.
func (u *upLane) alien() {
	u.unknown("it is not HTTP/1")
	u.ex.tunnel = true
	u.enqueue(u.ex)
	u.ex.up.bytes += uint64(len(u.held))
	u.unread(u.ex, &u.ex.up, tap.ToServer, u.held, !u.keepSecrets)
	u.release()
	u.state = upRaw
}

// request reads a complete head, decides what becomes of it, and forwards it.
func (u *upLane) request() {
	h := parseHead(u.held)
	line, ok, _ := parseRequestLine(h.first)
	ex := u.newExchange(u.began)
	u.ex = ex
	ex.method, ex.target, ex.origin = line.method, line.target, u.hosts.ownURL
	u.rec.Event(ex.n, tap.Event{Name: tap.EventRequest, Conn: u.conn, Proto: line.proto, Method: line.method,
		Target: toText(line.target), Header: textFields(h.fields)})
	kind, length, refused := u.judge(&h, line, ok)
	if refused != nil {
		u.refuse(refused)
		return
	}
	if host := h.get("Host"); u.hosts.isOwn(host, u.local) {
		ex.origin = u.hosts.own.scheme + "://" + host
	}
	edits, extra := u.requestEdits(ex, &h, line), u.extra
	if isPreflight(line.method, &h) {
		extra = "" // which is sent without credentials
	}
	if extra != "" {
		for _, name := range u.extraNames {
			u.rewrote(ex, "header "+name+" added", "", "")
		}
	}
	u.releaseAs(apply(u.held, edits, extra))
	if line.method == "CONNECT" || wantsUpgrade(&h) {
		ex.decided = make(chan struct{})
	}
	u.body = bodyCut{kind: kind, left: length, strict: true}
	u.state = upBody
	if kind != noBody {
		u.sink = u.newSink(ex, tap.ToServer, &h)
	}
	u.enqueue(ex)
	if kind == noBody {
		u.endRequest()
	}
}

// judge decides whether a request is forwarded, and how its body is framed.
func (u *upLane) judge(h *head, line requestLine, ok bool) (framing, uint64, *refusal) {
	named, foreign, other := 0, false, ""
	for f := range h.all("Host") {
		if named++; !u.hosts.isOwn(f.value, u.local) {
			foreign, other = true, f.value
		}
	}
	if authority, _, ok := absoluteTarget(line.target); ok && !u.hosts.isOwn(authority, u.local) {
		foreign, other = true, authority
	}
	switch {
	case !ok:
		return 0, 0, refusef(400, "its first line is not a method, a target and a version")
	case h.fault != "":
		return 0, 0, refusef(400, "its head has %s", h.fault)
	case named > 1:
		return 0, 0, refusef(400, "it has Host %d times", named)
	case foreign && (u.extra != "" || !u.hosts.forwardsForeign()):
		return 0, 0, refusef(403, "it is for the host %.200q, which is not a name of this tap (--name adds one)", other)
	}
	if page := u.foreignPage(h); page != "" {
		return 0, 0, refusef(403, "it is from %.200s, and this tap adds a header field (--allow-origin allows a page)", page)
	}
	return requestFraming(h, line.proto)
}

// bodyPart takes the next bytes of a body.
func (u *upLane) bodyPart(p []byte) {
	n, part, done, err := u.body.next(p)
	if part == partData {
		u.sink.write(p[:n], done)
	}
	switch {
	case part != partTrailer:
		u.ex.up.bytes += uint64(n)
		u.pass(n)
	default: // it is held as a head is, to be refused as a whole
		if u.hold(n); done {
			u.ex.up.bytes += uint64(len(u.held))
			u.release()
		}
	}
	switch {
	case err != nil:
		u.refuse(refusef(400, "%s", err))
	case done:
		u.endRequest()
	}
}

// endRequest ends a request. Where it asks for another protocol, what follows
// must wait for the answer.
func (u *upLane) endRequest() {
	ex := u.ex
	u.sink.close(true)
	u.trailer(&ex.up, &u.body)
	u.ex, u.sink, u.state = nil, nil, upBetween
	if ex.decided != nil {
		// What the connection becomes may go on in this exchange.
		u.ex, u.state = ex, upWaiting
		return
	}
	u.requestOver(ex, true)
}

// trailer keeps the fields behind a chunked body for the exchange's end.
func (tr *traffic) trailer(s *side, body *bodyCut) {
	h := parseTrailer(body.trailer)
	s.trailer = textFields(h.fields)
}

// resume goes on after the exchange was decided.
func (u *upLane) resume() {
	ex := u.ex
	switch {
	case ex.ws != nil:
		u.ws = u.newSocket(ex, &ex.up, tap.ToServer, ex.ws.freshUp)
		u.state = upSocket
	case ex.tunnel:
		u.state = upRaw
	default:
		u.ex, u.state = nil, upBetween
		u.requestOver(ex, true)
	}
}

// refuse keeps a request, or what is left of it, from the server. The tap
// answers it in its turn.
func (u *upLane) refuse(why *refusal) {
	u.sink.close(false)
	ex := u.ex
	u.ex, u.sink, u.refused = nil, nil, ex
	u.setOwn(ex, why)
	u.giveUp()
}

// giveUp takes nothing more from the client. What was read of a request stays
// recorded.
func (u *upLane) giveUp() {
	u.sink.close(false)
	if u.ex != nil {
		u.requestOver(u.ex, false)
	}
	u.ex, u.sink, u.state = nil, nil, upRefused
	u.drop()
}

// unreadable gives up on what cannot be read, from here on. It passes.
func (u *upLane) unreadable(err error) {
	u.ex.up.note(err.Error())
	u.ws.close()
	u.state = upRaw
}

// raw passes what is not read. What follows a WebSocket's failure is recorded
// as bytes; what may have heads with secrets in it is only counted.
func (u *upLane) raw(p []byte) {
	u.ex.up.bytes += uint64(len(p))
	u.unread(u.ex, &u.ex.up, tap.ToServer, p, u.ws == nil && !u.keepSecrets)
	u.pass(len(p))
}

// end says that the client sends nothing more. It returns what is still to be
// forwarded.
func (u *upLane) end() []byte {
	u.begin(nil)
	if u.state == upHead && len(u.held) > 0 {
		u.unknown("its head is incomplete")
		u.ex.down.over = true
	}
	u.passAll()
	if u.ex != nil {
		u.sink.close(false)
		complete := u.state == upWaiting || u.state == upRaw && u.ex.tunnel
		if u.ws != nil {
			u.ws.close()
			complete = u.ws.out.saw
		}
		u.requestOver(u.ex, complete)
	}
	u.ex, u.sink = nil, nil
	return u.finish()
}
