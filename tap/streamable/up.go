package streamable

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// An upLane splits the bytes of the client into requests, records them, and decides which
// of them to forward. It is pure except for the recorder: the same bytes make the
// same records, however they are split into chunks.
type upLane struct {
	lane
	check requestCheck
	// refused is the exchange to which the tap responds itself.
	refused *exchange
}

// feed reads a chunk and returns the bytes to forward. The bytes in left must be fed again
// once the exchange that decides about the protocol of the connection is decided.
func (u *upLane) feed(chunk []byte, at time.Time) []byte {
	u.begin(chunk)
	for len(u.left) > 0 && u.state != stateWaiting {
		u.step(at)
	}
	return u.out
}

func (u *upLane) step(at time.Time) {
	p := u.left
	switch u.state {
	case stateBetween:
		if p[0] == '\r' || p[0] == '\n' { // RFC 9112, 2.2
			u.pass(1)
			return
		}
		u.state, u.began = stateHead, at
		u.scan, u.check = headScan{}, requestCheck{}
	case stateHead:
		u.headPart(p)
	case stateBody:
		u.bodyPart(p)
	case stateSocket:
		u.socket(p)
	case stateRaw:
		u.unread(p)
		u.pass(len(p))
	case stateOwn:
		u.drop()
	}
}

// headPart reads the next bytes of a head. They are held until it is
// complete, as it is edited or refused as a whole.
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

// alien lets everything on a connection that is not HTTP/1 pass.
func (u *upLane) alien() {
	u.unknown("it is not HTTP/1")
	u.ex.tunnel = true
	u.enqueue(u.ex)
	u.unread(u.held)
	u.release()
	u.state = stateRaw
}

// request reads a complete head and forwards or refuses it.
func (u *upLane) request() {
	h := parseHead(u.held)
	line, ok, _ := parseRequestLine(h.first)
	ex := u.newExchange(u.began)
	u.ex = ex
	ex.method, ex.target, ex.origin = line.method, line.target, u.hosts.own.String()
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
		extra = "" // a preflight has no credentials
	}
	if extra != "" {
		for _, name := range u.extraNames {
			u.rewrote(ex, "header "+name+" added", "", "")
		}
	}
	u.releaseAs(apply(u.held, edits, extra))
	if line.method == "CONNECT" || isUpgrade(&h) {
		ex.decided = make(chan struct{})
	}
	u.body = bodyCut{kind: kind, left: length, strict: true}
	u.state = stateBody
	if kind != noBody {
		u.sink = u.newSink(&h)
	}
	u.enqueue(ex)
	if kind == noBody {
		u.endRequest()
	}
}

// judge decides whether a request is forwarded, and returns the framing of its body.
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

// bodyPart reads the next bytes of a body.
func (u *upLane) bodyPart(p []byte) {
	n, part, done, err := u.body.next(p)
	if part == partData {
		u.sink.write(p[:n], done)
	}
	switch {
	case part != partTrailer:
		u.ex.up.bytes += uint64(n)
		u.pass(n)
	default: // held like a head, to be refused as a whole
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

// endRequest ends a request. If it asks for another protocol, the next bytes
// must wait for the response.
func (u *upLane) endRequest() {
	ex := u.ex
	u.endBody()
	if ex.decided != nil {
		// Another protocol continues in this exchange.
		u.ex, u.state = ex, stateWaiting
		return
	}
	u.requestOver(ex, true)
	if ex.own != 0 {
		u.state = stateOwn // nothing follows the response of the tap
	}
}

// resume continues after the exchange was decided.
func (u *upLane) resume() {
	ex := u.ex
	switch {
	case ex.ws != nil:
		u.newSocket(ex.ws.freshUp)
	case ex.tunnel:
		u.state = stateRaw
	default:
		u.ex, u.state = nil, stateBetween
		u.requestOver(ex, true)
	}
}

// refuse does not forward the rest of a request. The tap responds to it in its turn.
func (u *upLane) refuse(why *refusal) {
	u.sink.close(false)
	ex := u.ex
	if ex.own != 0 { // it has its response
		u.giveUp()
		return
	}
	u.ex, u.sink, u.refused = nil, nil, ex
	u.setOwn(ex, why)
	u.giveUp()
}

// giveUp ignores all further bytes of the client. The read part of a request stays
// recorded.
func (u *upLane) giveUp() {
	u.sink.close(false)
	if u.ex != nil {
		u.requestOver(u.ex, false)
	}
	u.ex, u.sink, u.state = nil, nil, stateOwn
	u.drop()
}

// end ends the lane. It returns the remaining bytes to forward.
func (u *upLane) end() []byte {
	u.begin(nil)
	if u.state == stateHead && len(u.held) > 0 {
		u.unknown("its head is incomplete")
		u.ex.down.over = true
	}
	u.passAll()
	if u.ex != nil {
		complete := u.state == stateWaiting || u.state == stateRaw && u.ex.tunnel
		u.requestOver(u.ex, u.endRest(complete))
	}
	u.ex, u.sink = nil, nil
	return u.out
}
