package streamable

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// maxMetadata is the most bytes of a protected resource's description that are
// held to be rewritten.
const maxMetadata = 64 << 10

// maxEndpoint is how many bytes of the beginning of an event stream are looked
// at for the endpoint event of HTTP+SSE (2024-11-05, basic/transports), which
// is the first one.
const maxEndpoint = 8 << 10

// A hold keeps back the beginning of a response's body, which may have to be
// rewritten. What the carrier holds meanwhile is the body as it crosses, behind
// the head where that is held too.
type hold struct {
	// events says that this is an event stream. Otherwise the whole body is
	// waited for.
	events bool
	// unit is where in data the current event began.
	unit int
	// data is the body without its transfer coding.
	data []byte
	// head is how many bytes of what is held are the head.
	head int
	// line is where the line with the first chunk's size stands in what is
	// held, from and to where the content does: the first byte of it, and what
	// is behind the last.
	line, from, to int
}

// wantsHold decides whether the beginning of a body is held.
func (d *downLane) wantsHold(ex *exchange, h *head, status int) *hold {
	if ex.method != "GET" || status != 200 || d.body.kind == noBody {
		return nil
	}
	media, coded := mediaType(h), len(contentCodings(h)) > 0
	switch {
	case media == "text/event-stream" && !coded && d.body.kind != lengthBody:
		return &hold{events: true, line: -1}
	case d.rewriteAuth && strings.Contains(ex.target, "/.well-known/oauth-protected-resource") && isJSON(media):
		if coded {
			d.unheld(ex, "its content is coded")
			return nil
		}
		return &hold{line: -1}
	}
	return nil
}

func (d *downLane) unheld(ex *exchange, why string) {
	ex.down.note("resource was not rewritten: " + why)
}

// holdPart holds n bytes that are one part of the body.
func (d *downLane) holdPart(n int, part bodyPart) {
	h, at := d.hold, len(d.held)
	switch {
	case part == partSize && h.line < 0:
		h.line = at
	case part == partData && n > 0:
		if h.to == 0 {
			h.from = at
		}
		h.to = at + n
		h.data = append(h.data, d.left()[:n]...)
	}
	d.carrier.hold(n)
}

// decideHold looks whether what is held can go on, and how.
func (d *downLane) decideHold(ex *exchange, done bool) {
	h := d.hold
	switch {
	case h.events:
		d.decideEvent(ex)
		if d.hold != nil && done {
			d.endHold()
		}
	case len(h.data) > maxMetadata:
		d.unheld(ex, "it is too long")
		d.endHold()
	case done:
		doc, before, after := d.swapResource(h.data, ex.origin)
		if before == "" {
			d.endHold()
			return
		}
		d.rewrote(ex, "body resource", before, after)
		d.releaseHold(doc)
	}
}

// decideEvent looks at the events that are complete. The first one that says
// something is the last that is held.
func (d *downLane) decideEvent(ex *exchange) {
	h := d.hold
	var events tap.SSESplitter
	for seen := h.unit; seen < len(h.data); {
		n, cut := events.Next(h.data[seen:])
		if seen += n; seen > maxEndpoint {
			d.endHold()
			return
		}
		if cut != tap.CutFrame {
			break
		}
		event := h.data[h.unit:seen]
		from, to, speaks := tap.EndpointURL(event)
		if to > 0 {
			d.swapEndpoint(ex, h.unit+from, h.unit+to)
			return
		}
		if speaks {
			d.endHold()
			return
		}
		h.unit = seen
	}
	if len(h.data) > 0 && onlyComments(h.data[h.unit:]) && (d.body.kind != chunkedBody || d.body.left == 0) {
		// Nothing but comments, and what follows is in a chunk of its own: they
		// need not wait for it.
		d.release()
		*h = hold{events: true, line: -1}
	}
}

// onlyComments reports whether p is whole lines that are comments.
func onlyComments(p []byte) bool {
	for line := range bytes.Lines(p) {
		if line[0] != ':' || line[len(line)-1] != '\n' {
			return false
		}
	}
	return true
}

// swapEndpoint forwards what is held with the tap's origin in the endpoint
// event, if that names the upstream's.
func (d *downLane) swapEndpoint(ex *exchange, from, to int) {
	h := d.hold
	before := string(h.data[from:to])
	after, ok := swapOrigin(before, d.hosts.upstream, ex.origin)
	if !ok {
		d.endHold()
		return
	}
	d.rewrote(ex, "event endpoint", before, after)
	d.releaseHold(bytes.Join([][]byte{h.data[:from], []byte(after), h.data[to:]}, nil))
}

// endHold forwards what is held as it came.
func (d *downLane) endHold() {
	d.hold = nil
	d.release()
}

// releaseHold forwards what is held with data as its content. In a chunked body
// all of it becomes one chunk, and that has room for what is still to come of
// the last one.
func (d *downLane) releaseHold(data []byte) {
	h, held := d.hold, d.held
	d.hold = nil
	var out []byte
	switch {
	case h.to == 0:
		d.release()
		return
	case d.body.kind == chunkedBody:
		line := held[h.line:h.from]
		digits := 0
		for hexDigit(line[digits]) >= 0 {
			digits++
		}
		out = append(out, held[:h.line]...)
		out = strconv.AppendUint(out, uint64(len(data))+d.body.left, 16)
		out = append(out, line[digits:]...)
	case d.body.kind == lengthBody:
		head := parseHead(held[:h.head])
		var edits []edit
		for f := range head.all("Content-Length") {
			edits = append(edits, edit{f.from, f.to, strconv.Itoa(len(data))})
		}
		out = append(out, apply(held[:h.head], edits, "")...)
	default:
		out = append(out, held[:h.head]...)
	}
	out = append(out, data...)
	d.releaseAs(append(out, held[h.to:]...))
}
