package streamable

import (
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
)

// maxTakeover is the maximum distance of references to earlier messages (RFC 7692,
// 7.1.2).
const maxTakeover = 32 << 10

// flushed is removed by the sender from the end of each message (RFC 7692, 7.2.1):
// the empty block with which a compressor flushes.
var flushed = []byte{0, 0, 0xff, 0xff}

// maxRestarts is the maximum number of ends of the compressed stream within one message.
const maxRestarts = 16

var errRestarts = errors.New("its compressed stream ends too often")

// An inflate decompresses one direction of permessage-deflate.
type inflate struct {
	fresh    bool // messages are compressed independently
	dec      *decoder
	window   []byte // the end of the previous output
	restarts int
	// coded is the message as it crosses, until some of it is decoded.
	coded []byte
	plain bool
	// raw reports that the current message cannot be decoded, broken that no later one can
	// be either, because messages refer to each other.
	raw, broken bool
	note        func(string)
}

// begin begins a message.
func (i *inflate) begin() {
	i.coded, i.plain, i.raw, i.restarts = nil, false, false, 0
	if i.fresh {
		i.close()
	}
}

// write decodes bytes of a message.
func (i *inflate) write(p []byte, out *wsMessages) {
	if i.raw {
		out.data(p, false)
		return
	}
	if !i.plain && len(i.coded)+len(p) <= maxCoded {
		i.coded = append(i.coded, p...)
	} else {
		i.plain, i.coded = true, nil
	}
	if err := i.push(p, out); err != nil {
		i.fail(err, p, out)
	}
}

// end decodes the rest of a message.
func (i *inflate) end(out *wsMessages) {
	if i.raw {
		return
	}
	if err := i.push(flushed, out); err != nil {
		i.fail(err, nil, out)
	}
}

// fail continues with a message that cannot be decoded from p on.
func (i *inflate) fail(err error, p []byte, out *wsMessages) {
	i.raw, i.broken = true, !i.fresh
	i.close()
	i.note("a compressed WebSocket message could not be decoded: " + err.Error())
	out.turnRaw()
	if !i.plain {
		p = i.coded
	}
	out.data(p, false)
}

// push decodes p. A sender may end the compressed stream within a message (RFC
// 7692, 7.2.3.4); then the next one begins immediately.
func (i *inflate) push(p []byte, out *wsMessages) error {
	for {
		if i.dec == nil {
			dict := i.window[max(0, len(i.window)-maxTakeover):]
			i.dec = newDecoder(func(r io.Reader) (io.Reader, error) {
				return flate.NewReaderDict(r, dict), nil
			})
		}
		err := i.dec.write(p, func(b []byte) {
			i.remember(b)
			i.plain, i.coded = true, nil
			out.data(b, false)
		})
		if i.dec.err == nil || !errors.Is(i.dec.err, io.EOF) {
			return err
		}
		rest := i.dec.in
		i.close()
		if len(rest) == 0 {
			return nil
		}
		if i.restarts++; i.restarts > maxRestarts {
			return errRestarts
		}
		p = rest
	}
}

// remember keeps the end of the output, for a stream that restarts.
func (i *inflate) remember(b []byte) {
	if i.fresh {
		return
	}
	if len(i.window)+len(b) > 2*maxTakeover {
		i.window = i.window[:copy(i.window, i.window[max(0, len(i.window)-maxTakeover):])]
	}
	i.window = append(i.window, b...)
}

// flush records what can be decoded of an incomplete message.
func (i *inflate) flush(out *wsMessages) {
	if i.dec != nil {
		_ = i.dec.finish(func(b []byte) { out.data(b, false) }) // fails: the end is missing
	}
}

func (i *inflate) close() {
	if i.dec != nil {
		i.dec.close()
		i.dec = nil
	}
}
