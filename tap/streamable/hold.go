package streamable

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// maxMetadata is the maximum size of the description of a protected resource that is
// held to be rewritten.
const maxMetadata = 64 << 10

// maxEndpoint is the maximum number of bytes at the beginning of an event stream that are
// searched for the endpoint event of HTTP+SSE (2024-11-05, basic/transports), which
// is the first one.
const maxEndpoint = 8 << 10

// A hold holds the beginning of a response body, which may have to be
// rewritten. The carrier holds the bytes of the body, after
// the head if that is held too.
type hold struct {
	// events reports that this is an event stream. Otherwise the whole body is
	// held.
	events bool
	// unit is the offset of the current event in data.
	unit int
	// data is the body without its transfer coding.
	data []byte
	// head is the number of held bytes of the head.
	head int
	// line is the offset of the line with the size of the first chunk in the
	// held bytes, from and to are the range of the content: the offset of its first byte and
	// the offset after its last.
	line, from, to int
}

// newHold returns a hold if the beginning of a body must be held, or nil.
func (d *downLane) newHold(ex *exchange, h *head, status int) *hold {
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

// holdPart holds n bytes, which are one part of the body.
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
		h.data = append(h.data, d.left[:n]...)
	}
	d.carrier.hold(n)
}

// decideHold releases the held bytes if possible.
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

// decideEvent reads the complete events. The first one that is not
// a comment is the last that is held.
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
		from, to, content := tap.EndpointURL(event)
		if to > 0 {
			d.swapEndpoint(ex, h.unit+from, h.unit+to)
			return
		}
		if content {
			d.endHold()
			return
		}
		h.unit = seen
	}
	if len(h.data) > 0 && onlyComments(h.data[h.unit:]) && (d.body.kind != chunkedBody || d.body.left == 0) {
		// Only comments, and the next event is in another chunk: they
		// need not wait for it.
		d.release()
		*h = hold{events: true, line: -1}
	}
}

// onlyComments reports whether p consists of complete comment lines.
func onlyComments(p []byte) bool {
	for line := range bytes.Lines(p) {
		if line[0] != ':' || line[len(line)-1] != '\n' {
			return false
		}
	}
	return true
}

// swapEndpoint forwards the held bytes with the origin of the tap in the endpoint
// event, if it has the origin of the upstream.
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

// endHold forwards the held bytes unchanged.
func (d *downLane) endHold() {
	d.hold = nil
	d.release()
}

// releaseHold forwards the held bytes with data as content. In a chunked body
// it becomes one chunk, whose size includes the remaining bytes of
// the last chunk.
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
