package view

import (
	"bytes"
	"fmt"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// maxAlike limits the messages that an AlikeFinder compares with all open requests.
const maxAlike = 100

// An AlikeFinder finds the requests that responses without a request are meant for. The zero value is
// ready. It compares only the first 100 such responses.
type AlikeFinder struct{ compared int }

// Find returns the open request that message i of a frame is meant for: a response without a request, or
// a line that is not a message but holds a response. It returns nil if there is none, and for other
// messages. open returns the open calls after the frame.
func (a *AlikeFinder) Find(e *session.Entry, i int, open func() []*session.Call) (alike *session.Call) {
	p, id, exact := &e.Parts[i], e.Of(i).ID, false
	switch p.Role {
	case session.RoleOrphan:
	case session.RoleInvalid:
		_, within := jsonrpc.Within(e.Frame.Raw)
		m := jsonrpc.Peek(within)
		if id, exact = m.ID, true; m.Kind != jsonrpc.Response && m.Kind != jsonrpc.ErrorResponse {
			return nil
		}
	default:
		return nil
	}
	if a.compared++; a.compared > maxAlike {
		return nil
	}
	for _, c := range open() {
		switch {
		case c.Lane == p.Lane || c.Session != e.Session:
		case bytes.Equal(c.ID, id), !exact && bytes.Equal(bytes.Trim(c.ID, `"`), bytes.Trim(id, `"`)):
			alike = c
		case !exact && alike == nil && p.Exchange != 0 && c.Exchange == p.Exchange:
			alike = c
		}
	}
	return alike
}

// NoRequestWords describes a response without a request: its id, and the request that is meant, if one
// is. They are recorded texts, and must be escaped before printing.
func NoRequestWords(id []byte, alike *session.Call) string {
	switch {
	case len(id) == 0:
		return "no such request"
	case alike == nil:
		return "no such request: id " + BriefID(id)
	default:
		return fmt.Sprintf("no request has id %s, #%d has %s", BriefID(id), alike.Ref.Seq, BriefID(alike.ID))
	}
}

// InsideWords describes a line that is not a message but holds the response to a request.
func InsideWords(alike *session.Call) string {
	return fmt.Sprintf("response to #%d inside", alike.Ref.Seq)
}

// BriefID returns an id on the wire, shortened to 24 bytes.
func BriefID(id []byte) string {
	const most = 24
	if len(id) <= most {
		return string(id)
	}
	return string(bytes.ToValidUTF8(id[:most-len("…")], nil)) + "…"
}
