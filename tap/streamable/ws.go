package streamable

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// wsTerms has the agreed parameters of a WebSocket (RFC 6455, 9 and RFC 7692).
type wsTerms struct {
	deflate bool
	// freshUp and freshDown report, for each direction, that every message is compressed
	// independently of those before it.
	freshUp, freshDown bool
}

// agreed returns the parameters from a response that switches protocols, nil if the new
// protocol is not WebSocket.
func agreed(h *head) *wsTerms {
	upgrade := h.list("Upgrade")
	if len(upgrade) != 1 || upgrade[0] != "websocket" {
		return nil
	}
	t := new(wsTerms)
	for f := range h.all("Sec-WebSocket-Extensions") {
		first, _, _ := strings.Cut(strings.ToLower(f.value), ",")
		params := strings.Split(first, ";")
		for i, p := range params {
			params[i] = strings.Trim(p, " \t")
		}
		if params[0] != "permessage-deflate" {
			continue // unknown extension: its bits mark messages that cannot be read
		}
		t.deflate = true
		t.freshUp = t.freshUp || slices.Contains(params, "client_no_context_takeover")
		t.freshDown = t.freshDown || slices.Contains(params, "server_no_context_takeover")
	}
	return t
}

// The opcodes of frames (RFC 6455, 5.2).
const (
	opContinue = 0
	opText     = 1
	opBinary   = 2
	opClose    = 8
	opPing     = 9
	opPong     = 10
)

var wsForms = map[byte]tap.Form{
	opText: tap.FormText, opBinary: tap.FormBinary,
	opClose: tap.FormClose, opPing: tap.FormPing, opPong: tap.FormPong,
}

var (
	errWSOpcode   = errors.New("a WebSocket frame of an unknown kind")
	errWSControl  = errors.New("a WebSocket control frame that is too long or in fragments")
	errWSSequence = errors.New("a WebSocket fragment out of place")
	errWSLength   = errors.New("a WebSocket frame with an impossible length")
)

// A wsCut splits one direction of a WebSocket into messages.
type wsCut struct {
	out     wsMessages
	inflate *inflate // nil without permessage-deflate

	head  []byte // incomplete header of the current frame
	frame wsFrame
	in    bool // in the payload of the frame
	// message reports that a fragmented message is incomplete.
	message bool
}

// A wsFrame is the header of a frame.
type wsFrame struct {
	op       byte
	fin      bool
	rsv      byte
	masked   bool
	mask     [4]byte
	at       int // number of unmasked payload bytes
	left     uint64
	deflated bool
}

func (f *wsFrame) control() bool { return f.op >= opClose }

// write reads the next bytes. After an error, the direction cannot be read from p[n] on.
func (w *wsCut) write(p []byte) (n int, err error) {
	for n < len(p) {
		if !w.in {
			k, done := w.header(p[n:])
			n += k
			if !done {
				return n, nil
			}
			if err := w.begin(); err != nil {
				return n, err
			}
		}
		k := int(min(uint64(len(p)-n), w.frame.left))
		w.frame.left -= uint64(k)
		w.payload(p[n : n+k])
		n += k
		if w.frame.left == 0 {
			w.in = false
			w.end()
		}
	}
	return n, nil
}

// header collects the header of a frame and reads it when it is complete.
func (w *wsCut) header(p []byte) (n int, done bool) {
	for n < len(p) && len(w.head) < wsHeadSize(w.head) {
		w.head = append(w.head, p[n])
		n++
	}
	return n, len(w.head) == wsHeadSize(w.head)
}

// wsHeadSize returns the length of a header that begins with b.
func wsHeadSize(b []byte) int {
	if len(b) < 2 {
		return 2
	}
	size := 2
	switch b[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if b[1]&0x80 != 0 {
		size += 4
	}
	return size
}

// begin reads a complete header.
func (w *wsCut) begin() error {
	b := w.head
	w.head = w.head[:0]
	f := wsFrame{op: b[0] & 0x0f, fin: b[0]&0x80 != 0, rsv: b[0] & 0x70, masked: b[1]&0x80 != 0}
	switch length := b[1] & 0x7f; length {
	case 126:
		f.left = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		f.left = binary.BigEndian.Uint64(b[2:])
	default:
		f.left = uint64(length)
	}
	if f.masked {
		copy(f.mask[:], b[len(b)-4:])
	}
	deflated := w.frame.deflated
	switch {
	case f.left>>63 != 0:
		return errWSLength
	case f.op > opPong || f.op > opBinary && f.op < opClose:
		return errWSOpcode
	case f.control() && (!f.fin || f.left > 125):
		return errWSControl
	case f.control():
		f.deflated = deflated // that of the surrounding message
	case (f.op == opContinue) != w.message:
		return errWSSequence
	case f.op == opContinue:
		f.deflated = deflated
	default:
		f.deflated = f.rsv == 0x40 && w.inflate != nil && !w.inflate.broken
		form := wsForms[f.op]
		if f.rsv != 0 && !f.deflated {
			form = tap.FormBytes // an unknown extension
		}
		w.out.begin(form)
		if f.deflated {
			w.inflate.begin()
		}
	}
	if !f.control() {
		w.message = !f.fin
	}
	w.frame, w.in = f, true
	return nil
}

// payload reads payload bytes of the current frame.
func (w *wsCut) payload(p []byte) {
	f := &w.frame
	if f.masked {
		p = f.unmask(p)
	}
	switch {
	case f.control():
		w.out.control(p)
	case f.deflated:
		w.inflate.write(p, &w.out)
	default:
		w.out.data(p, f.left == 0 && f.fin)
	}
}

func (f *wsFrame) unmask(p []byte) []byte {
	clear := make([]byte, len(p))
	for i, c := range p {
		clear[i] = c ^ f.mask[f.at&3]
		f.at++
	}
	return clear
}

// end ends the frame, and the message if this was its last frame.
func (w *wsCut) end() {
	f := &w.frame
	switch {
	case f.control():
		w.out.endControl(wsForms[f.op])
	case f.fin:
		if f.deflated {
			w.inflate.end(&w.out)
		}
		w.out.end()
	}
}

// close records the rest of a message without an end.
func (w *wsCut) close() {
	if w.inflate != nil {
		w.inflate.flush(&w.out)
		w.inflate.close()
	}
	w.out.close()
}
