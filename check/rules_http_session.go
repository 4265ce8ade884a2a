package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// rulesHTTPSession are about session ids of Streamable HTTP.
var rulesHTTPSession = []Rule{
	{
		ID: "http-20", Class: "must", In: "B-D", Side: "server", Transport: "http",
		Text:   "A session id has only visible ASCII characters, 0x21 to 0x7E.",
		Source: sourceSessions,
		Fix:    "Use a UUID.",
		New: streamable(func(x *Exchange, v *Verdict) {
			if !x.answered(2) {
				return
			}
			for _, id := range field(x.Response, sessionField) {
				visible := id != "" && strings.IndexFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7E }) < 0
				if isMasked(id) {
					v.Skip("the value is masked")
				} else {
					v.Check(visible, sessionField, "", strconv.Quote(id))
				}
			}
		}),
	},
	{
		ID: "http-21", Class: "must", In: "B-D", Side: "client", Transport: "http",
		Text:   "Once issued, the session id is in the header of every later request of the client to the endpoint, except a new initialize.",
		Source: sourceSessions,
		Fix:    "Store the header of the initialize response and send it always.",
		New:    sessionIDSent,
	},
	{
		ID: "http-22", Class: "should", In: "B-D", Side: "server", Transport: "http",
		Text:   "A server that refuses a request because the session id is missing answers 400: not 404, which means that the session has ended.",
		Source: sourceSessions,
		Fix:    "Answer 400.",
		New: func(s *Session) Hooks {
			issued := uint64(0) // the frame that issued the id
			return streamable(func(x *Exchange, v *Verdict) {
				if x.answered(2) && field(x.Response, sessionField) != nil && issued == 0 {
					issued = x.Heads[1]
				}
				if issued == 0 || x.Heads[0] < issued || x.carriesInitialize() || !x.carriesMessage() || field(x.Request, sessionField) != nil || !x.byServer() {
					return
				}
				if status := x.Response.Status; status == 400 || status == 404 {
					v.Check(status == 400, sessionField, "", "missing, and answered 404")
				}
			})(s)
		},
	},
	{
		ID: "http-23", Class: "must", In: "B-D", Side: "server", Transport: "http",
		Text:   "Requests with the id of a session that a DELETE has ended are answered with 404.",
		Source: sourceSessions,
		Fix:    "Answer 404, not 400 or 200.",
		New: func(s *Session) Hooks {
			dead := uint64(0) // the frame that ended the session
			return streamable(func(x *Exchange, v *Verdict) {
				if !x.byServer() || field(x.Request, sessionField) == nil {
					return
				}
				status := x.Response.Status
				switch {
				case dead != 0 && x.Heads[0] > dead && status < 500 && !slices.Contains([]int{401, 403, 405, 429}, status):
					v.Check(status == 404, x.Request.Method, "", fmt.Sprintf("%d instead of 404 after a DELETE", status))
				case dead == 0 && x.Request.Method == "DELETE" && status/100 == 2:
					dead = x.Heads[1]
				}
			})(s)
		},
	},
	{
		ID: "http-24", Class: "must", In: "B-D", Side: "client", Transport: "http",
		Text:   "After a 404 to a request with a session id the client starts a new session with an initialize without that header. Requests within a second are assumed to be in transit.",
		Source: sourceSessions,
		Fix:    "Drop the id on 404 and initialize again.",
		New:    lostSession,
	},
	{
		ID: "http-25", Class: "observation", In: "B-D", Side: "server", Transport: "http",
		Text:   "The session id first appears on a response other than that of initialize, or changes during the session.",
		Source: sourceSessions,
		Fix:    "Issue the id once, on the initialize response.",
		New:    sessionIDIssued,
	},
}

// sessionIDSent judges http-21.
func sessionIDSent(s *Session) Hooks {
	issued := uint64(0)                                 // the frame that issued the id
	conns := bounded.Map[uint64, bool]{Max: maxStreams} // connections that have carried the id
	return streamable(func(x *Exchange, v *Verdict) {
		if x.answered(2) && field(x.Response, sessionField) != nil && issued == 0 {
			issued = x.Heads[1]
		}
		if issued == 0 || x.Heads[0] <= issued || x.carriesInitialize() {
			return
		}
		if field(x.Request, sessionField) != nil {
			conns.Put(x.Request.Conn, true)
			v.Hold()
			return
		}
		if _, ok := conns.Get(x.Request.Conn); !ok {
			v.Skip("the request may be that of another client")
			return
		}
		v.Violate(sessionField, "", "missing on "+x.Request.Method)
	})(s)
}

// lostSession judges http-24.
func lostSession(s *Session) Hooks {
	id, at, again := "", time.Duration(0), false
	hooks := streamable(func(x *Exchange, v *Verdict) {
		own := strings.Join(field(x.Request, sessionField), ",")
		switch {
		case x.Request.Method != "POST" || !x.carriesMessage() || !x.byServer():
		case own == "" || x.Response.Status != 404 || x.Has(tap.ToClient, jsonrpc.ErrorResponse) && x.code() == "-32601":
		case id == own && x.Times[0] > at+time.Second:
			again = true
			v.Violate(sessionField, "", "sent again after 404")
		case id == "":
			id, at = strings.Clone(own), x.Times[1]
		}
	})(s)
	hooks.End = func(v *Verdict) {
		if id != "" && !again {
			v.Hold() // the initialize starts another session
		}
	}
	return hooks
}

// sessionIDIssued judges http-25.
func sessionIDIssued(s *Session) Hooks {
	known := ""
	return streamable(func(x *Exchange, v *Verdict) {
		ids := field(x.Response, sessionField)
		if len(ids) == 0 || !x.answered(2) {
			return
		}
		asked := strings.Join(field(x.Request, sessionField), "")
		switch {
		case x.carriesInitialize():
			v.Hold()
		case asked != "" && asked != ids[0]:
			v.Violate(sessionField, "", "changed on "+x.about())
		case asked == "" && known == "" && s.Start:
			v.Violate(sessionField, "", "issued on "+x.about())
		default:
			v.Hold()
		}
		known = ids[0]
	})(s)
}
