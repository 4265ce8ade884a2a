package check

import (
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// maxCarried limits the messages of an exchange that are remembered.
const maxCarried = 64

// An Exchange is an HTTP exchange.
type Exchange struct {
	Number  uint64
	Session *Session
	// Revision is the one in force for the request.
	Revision jsonrpc.Revision
	// Request, Response and End are the events of the exchange, nil until they occur; Response
	// is the final one. Heads are their frame numbers, in that order, and Times their times.
	Request, Response, End *tap.Event
	Heads                  [3]uint64
	Times                  [3]time.Duration
	// HungUp is the number of the frame at which the client hung up, 0 if it did not.
	HungUp uint64
	// Carried are the first 64 messages of the exchange.
	Carried []Carried
	// Others counts the frames to the client that carry no message.
	Others int
}

// A Carried is a message of an exchange.
type Carried struct {
	Frame  uint64
	At     time.Duration
	Lane   tap.Lane
	Kind   jsonrpc.Kind
	Role   session.Role
	Method string // for a response, that of its request
	Code   string // for an error
}

// Has reports whether the exchange carried a message of a kind on a lane.
func (x *Exchange) Has(lane tap.Lane, kinds ...jsonrpc.Kind) bool {
	return slices.ContainsFunc(x.Carried, func(c Carried) bool { return c.Lane == lane && slices.Contains(kinds, c.Kind) })
}

// frame returns the frame number for findings about the exchange: that of the message in its
// request, which is listed with its method and subject, or else that of the head.
func (x *Exchange) frame() uint64 {
	i := slices.IndexFunc(x.Carried, func(c Carried) bool { return c.Lane == tap.ToServer })
	switch {
	case i >= 0:
		return x.Carried[i].Frame
	case x.Heads[0] == 0 && len(x.Carried) > 0:
		return x.Carried[0].Frame
	}
	return x.Heads[0]
}

// field returns the values of a header field of an event, which may be nil.
func field(e *tap.Event, name string) (values []string) {
	if e == nil {
		return nil
	}
	for _, f := range e.Header {
		if strings.EqualFold(f[0], name) {
			values = append(values, f[1])
		}
	}
	return values
}

// event adds an event of the exchange.
func (x *Exchange) event(f *tap.Frame, e *tap.Event) {
	copied := *e
	switch e.Name {
	case tap.EventRequest:
		x.Request, x.Heads[0], x.Times[0] = &copied, f.Seq, f.At
	case tap.EventResponse:
		if e.Status >= 200 || e.Status == 101 {
			x.Response, x.Heads[1], x.Times[1] = &copied, f.Seq, f.At
		}
	case tap.EventHangUp:
		x.HungUp = f.Seq
	case tap.EventEnd:
		x.End, x.Heads[2], x.Times[2] = &copied, f.Seq, f.At
	}
}

// carry adds the messages of a frame.
func (x *Exchange) carry(e *session.Entry) {
	if len(e.Parts) == 0 {
		if e.Frame.Lane == tap.ToClient {
			x.Others++
		}
		return
	}
	for i := range e.Parts {
		if len(x.Carried) == maxCarried {
			return
		}
		m, p := e.Of(i), &e.Parts[i]
		x.Carried = append(x.Carried, Carried{
			Frame: e.Frame.Seq, At: e.Frame.At, Lane: e.Frame.Lane, Kind: m.Kind, Role: p.Role,
			Method: strings.Clone(p.Method), Code: strings.Clone(m.ErrorCode),
		})
	}
}

// namesNoVersion reports whether the header of a request names a version in an invalid form.
func (x *Exchange) namesNoVersion() bool {
	values := field(x.Request, versionField)
	return len(values) == 1 && !versionForm.MatchString(values[0])
}
