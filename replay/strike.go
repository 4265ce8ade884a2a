package replay

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// holdMost is how long an answer is held back at most until something else has
// been written.
const holdMost = 100 * time.Millisecond

// fault lets something go wrong with a step that is about to be written. It
// reports whether it is to be written at all now.
func (s *Session) fault(p *play, it *item, out *Output, target *play) bool {
	if !p.delayed {
		method, name := p.method, p.name
		if !it.has(itemFinal) {
			m := jsonrpc.Peek(out.Raw)
			method, name = m.Method, ""
		}
		p.fault = s.chances.next(method, name, it.has(itemFinal))
	}
	f := p.fault
	if f == nil || p.delayed {
		return true
	}
	s.note(Note{Kind: NoteFault, Live: p.live, Method: p.method, Frame: out.Frame,
		Text: fmt.Sprintf("frame %d: %v", out.Frame.Seq, f)})
	switch f.Kind {
	case FaultDelay:
		p.delayed = true
		p.due = s.now + f.Delay
		return false
	case FaultDrop:
		if target != nil {
			s.forgo(target)
		}
		s.pass(p)
		return false
	case FaultDisconnect:
		s.outbox = append(s.outbox, Output{Stream: out.Stream, Leave: true})
		s.over(p)
		return false
	case FaultReorder:
		return s.hold(p, it, out, target)
	case FaultTruncate:
		out.Raw = cut(out.Raw, len(bytes.TrimSpace(out.Raw))/2)
	case FaultMalformed:
		out.Raw = cut(out.Raw, len(bytes.TrimSpace(out.Raw))-1)
	case FaultError:
		failOnPurpose(p, out, f.Code)
	case FaultStatus:
		failOnPurpose(p, out, defaultFaultCode)
		switch {
		case s.streams.hasDuplex:
		case p.head != nil:
			head := *p.head
			head.Status = f.Code
			p.head = &head
		default:
			out.Status = f.Code
		}
	}
	return true
}

// failOnPurpose makes an error of an answer.
func failOnPurpose(p *play, out *Output, code int) {
	message := `{"code":` + strconv.Itoa(code) + `,"message":"mcptap mock: an error on purpose"}`
	out.Raw, out.Line, out.Whole = ownAnswer(p.id, "error", []byte(message)), true, nil
}

// twice sends what is being written once more, behind it.
func (s *Session) twice(out *Output) {
	again := out.keep()
	out.Last = false
	s.outbox = append(s.outbox, again)
}

// hold keeps a step back until another has been written.
func (s *Session) hold(p *play, it *item, out *Output, target *play) bool {
	if s.held != nil {
		return true // one at a time
	}
	kept := out.keep()
	kept.Last = target != nil && s.streams.answered(target.stream)
	s.held, s.heldTo = &kept, s.now+holdMost
	s.written(p, it, target)
	return false
}

// cut keeps the first bytes of a message, and what ends the line.
func cut(raw []byte, n int) []byte {
	message := bytes.TrimRight(raw, "\r\n")
	end := raw[len(message):]
	return append(bytes.Clone(message[:min(n, len(message))]), end...)
}
