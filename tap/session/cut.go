package session

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// MayBeCut reports whether a frame with a response is complete for its client only if the exchange
// does not end within it: it is a body, or an event without its blank line.
func MayBeCut(f *tap.Frame) bool {
	end := f.Raw[len(bytes.TrimRight(f.Raw, "\r\n")):]
	lines := len(bytes.ReplaceAll(end, []byte("\r\n"), []byte("\n")))
	return f.Form == tap.FormBody || f.Form == tap.FormEvent && lines < 2
}

// CutsOff reports whether an event is the end of an exchange whose response was cut off.
func CutsOff(e *tap.Event) bool {
	return e.Name == tap.EventEnd && e.By != "client" && (strings.Contains(e.Error, " within the response") || strings.Contains(e.Error, tap.EndWithinEvent))
}

// answered remembers the calls that the frame of an entry answers, if the end of its exchange may
// show that the response was cut off.
func (t *Tracker) answered(e *Entry, p *Pairing) {
	x, ok := t.Sessions.exchanges.Get(e.Frame.Exchange)
	if !ok || e.Frame.Lane != tap.ToClient {
		return
	}
	x.answers = nil
	if f := e.Frame.Form; !MayBeCut(e.Frame) && f != tap.FormText && f != tap.FormBinary {
		return
	}
	for i := range e.Parts {
		part := &e.Parts[i]
		if part.Role != RoleResponse && part.Role != RoleLate {
			continue
		}
		if c := p.call(part.Call); c != nil {
			x.answers = append(x.answers, c.Call)
		} else if i := slices.IndexFunc(p.Ended(), func(c *Call) bool { return c.Ref == part.Call }); i >= 0 {
			x.answers = append(x.answers, p.Ended()[i])
		}
	}
}

// cutOff marks the calls whose responses the event of an entry cuts off.
func (e *Entry) cutOff(p *Pairing) {
	cut := CutsOff(&e.Event)
	if e.Exchange.Status == 101 { // a WebSocket
		cut = e.Event.Name == tap.EventEnd && strings.Contains(e.Event.Error, tap.EndWithinMessage)
	}
	if cut {
		for _, c := range e.Exchange.answers {
			if c.Notes |= NoteCutOff; p.call(c.Ref) == nil {
				e.CutOff = append(e.CutOff, c)
			}
		}
	}
}
