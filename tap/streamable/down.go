package streamable

import (
	"errors"
	"time"

	"github.com/mcptap/mcptap/tap"
)

var (
	errNoResponse     = errors.New("the server's response is not HTTP/1")
	errLongHead       = errors.New("the head of the response is too long")
	errUnrequested101 = errors.New("the server changed to another protocol without a request for it")
)

// A downLane splits the bytes of the server into responses, as [upLane] does with
// requests.
type downLane struct {
	lane
	start []byte // first bytes of the head, to recognize it
	hold  *hold
}

// feed reads a chunk and returns the bytes to forward.
func (d *downLane) feed(chunk []byte, at time.Time) []byte {
	d.begin(chunk)
	for len(d.left) > 0 {
		d.step(at)
	}
	return d.out
}

func (d *downLane) step(at time.Time) {
	p := d.left
	switch d.state {
	case stateBetween:
		d.ex = d.answering()
		if d.ex == nil {
			d.unsolicited(at)
		}
		d.state, d.began, d.scan, d.start = stateHead, at, headScan{}, d.start[:0]
	case stateHead:
		d.headPart(p)
	case stateBody:
		d.bodyPart(p)
	case stateSocket:
		d.socket(p)
	case stateRaw:
		d.unread(p)
		d.pass(len(p))
	case stateOwn:
		d.drop()
	}
}

// unsolicited makes an exchange for a response without a request, such as a 408 before a server
// closes an idle connection.
func (d *downLane) unsolicited(at time.Time) {
	ex := d.newExchange(at)
	ex.origin = d.hosts.own.String()
	ex.up.over, ex.up.complete = true, true
	ex.down.note("the server responded without a request")
	d.enqueue(ex)
	d.ex = d.answering()
}

// headPart reads the next bytes of a head.
func (d *downLane) headPart(p []byte) {
	if n := min(len(p), 8-len(d.start)); n > 0 {
		d.start = append(d.start, p[:n]...)
		if noStatus(d.start) {
			d.unreadable(errNoResponse)
			return
		}
	}
	n, done := d.scan.next(p)
	if !done || len(d.held) > 0 {
		d.carrier.hold(n)
	}
	switch {
	case len(d.held) > maxHead:
		d.unreadable(errLongHead)
	case done:
		d.headDone(p[:n])
	}
}

// headDone reads a complete head and forwards it. last is its end, or the whole head if
// nothing is held: then it need not be copied.
func (d *downLane) headDone(last []byte) {
	raw := d.held
	if len(raw) == 0 {
		raw = last
	}
	edits, ok := d.response(raw)
	if !ok {
		d.unreadable(errNoResponse)
		return
	}
	whole := d.hold != nil && !d.hold.events
	switch {
	case len(edits) > 0 || whole:
		if len(d.held) == 0 {
			d.carrier.hold(len(last))
		}
		d.held = apply(d.held, edits, "")
		if whole {
			d.hold.head = len(d.held)
			return
		}
		d.release()
	case len(d.held) == 0:
		d.pass(len(last))
	default:
		d.release()
	}
	if d.state == stateBody && d.body.kind == noBody {
		d.endResponse()
	}
}

// response records a complete head, determines what follows it, and returns the changes.
func (d *downLane) response(raw []byte) (edits []edit, ok bool) {
	h, ex := parseHead(raw), d.ex
	line, ok := parseStatusLine(h.first)
	if !ok {
		return nil, false
	}
	d.rec.Event(ex.n, tap.Event{Name: tap.EventResponse, Proto: line.proto, Status: line.status,
		Reason: toText(line.reason), Header: textFields(h.fields)})
	edits = d.responseEdits(ex, &h)
	if line.status < 200 && line.status != 101 {
		d.state = stateBetween // the final response follows
		return edits, true
	}
	ex.down.first = d.began.Sub(ex.began)
	d.changes(&h, line.status)
	if d.state != stateHead {
		d.decide(ex)
		return edits, true
	}
	kind, length, err := responseFraming(&h, ex.method, line)
	if kind != noBody || err != nil { // otherwise the end of the response follows immediately and is recorded first
		d.decide(ex)
	}
	if err != nil {
		d.turnRaw(err)
		return edits, true
	}
	d.state, d.body = stateBody, bodyCut{kind: kind, left: length}
	if kind != noBody {
		d.sink = d.newSink(&h)
	}
	d.hold = d.newHold(ex, &h, line.status)
	return edits, true
}

// changes determines whether the connection changes its protocol.
func (d *downLane) changes(h *head, status int) {
	ex := d.ex
	switch {
	case status == 101 && ex.decided == nil:
		d.turnRaw(errUnrequested101)
	case status == 101:
		if ex.ws = agreed(h); ex.ws != nil {
			d.newSocket(ex.ws.freshDown)
			return
		}
		ex.tunnel, d.state = true, stateRaw
	case ex.method == "CONNECT" && status < 300:
		ex.tunnel, d.state = true, stateRaw
	}
}

// bodyPart reads the next bytes of a body.
func (d *downLane) bodyPart(p []byte) {
	n, part, done, err := d.body.next(p)
	d.ex.down.bytes += uint64(n)
	switch {
	case d.hold == nil, len(d.held) == 0 && part == partFraming:
		d.pass(n)
	default:
		d.holdPart(n, part)
		d.decideHold(d.ex, done)
	}
	if part == partData {
		d.sink.write(p[:n], done)
	}
	switch {
	case err != nil:
		d.sink.close(false)
		d.turnRaw(err)
		if d.hold != nil {
			d.endHold()
		}
	case done:
		d.endResponse()
	}
}

// endResponse ends a response.
func (d *downLane) endResponse() {
	ex := d.ex
	d.endBody()
	d.responseOver(ex, true)
	if d.pending() != nil {
		d.state = stateOwn
	}
}

// unreadable gives up on a head that cannot be read. Its bytes pass, with everything after
// them.
func (d *downLane) unreadable(err error) {
	d.turnRaw(err)
	if len(d.held) > 0 {
		d.unread(d.held)
		d.release()
	}
}

// turnRaw lets everything pass unread from here on.
func (d *downLane) turnRaw(err error) {
	d.ex.down.note(err.Error())
	d.sink, d.state = nil, stateRaw
}

// end ends the lane. clean reports a proper end, in contrast to an aborted connection. It
// returns the remaining bytes to forward.
func (d *downLane) end(clean bool) []byte {
	d.begin(nil)
	ex := d.ex
	complete := clean && (d.state == stateBody && d.body.kind == closeBody || d.state == stateRaw && ex.tunnel)
	if d.hold != nil && complete {
		d.decideHold(ex, true)
	}
	d.passAll()
	if ex != nil {
		if d.state == stateHead && len(d.start) > 0 {
			ex.down.note("the head of the response is incomplete")
		}
		d.responseOver(ex, d.endRest(complete))
	}
	d.ex, d.sink = nil, nil
	d.responsesOver()
	return d.out
}

// endless reports whether only the end of the connection can end the current data of the
// server.
func (d *downLane) endless() bool {
	switch d.state {
	case stateBody:
		return d.body.kind == closeBody
	case stateSocket, stateRaw:
		return true
	}
	return false
}
