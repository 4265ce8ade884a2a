package check

import (
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesRPC are about JSON-RPC messages: ids, responses and errors.
var rulesRPC = []Rule{
	{
		ID: "rpc-01", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   `Every message (in B, every member of a batch) is a JSON object whose jsonrpc is exactly the string "2.0".`,
		Source: "A:basic/messages; B-E:basic/index#messages; JSON-RPC 2.0 s4, s5",
		Fix:    `Put "jsonrpc":"2.0" (a string) into every message.`,
		New:    each(versionOfJSONRPC, "message", "invalid"),
	},
	{
		ID: "rpc-07", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "A response carries the id, with the same value and JSON type, of a request that the other side sent and that is still open.",
		Source: "A:basic/messages#responses; B-E:basic/index#responses",
		Fix:    "Copy the id from the request as it is; do not turn it into a string or a float.",
		New: each(func(m *Message, v *Verdict) {
			switch m.Part.Role {
			case session.RoleOrphan:
				if !m.Session.Start || m.Session.Gap {
					v.Skip("requests from before the recording are not known")
					return
				}
				v.Violate("", "$.id", string(m.ID))
			case session.RoleResponse, session.RoleInterim, session.RoleLate:
				v.Hold()
			}
		}, "result", "error"),
	},
	{
		ID: "rpc-10", Class: "client-breaking", In: "A-E", Side: "both", Transport: "any",
		Text:   "result is a JSON object, not an array, a scalar or null.",
		Source: "A:basic/index#protocol-layers; B-C:basic/index#responses; D-E:basic/index#result-responses; schema Result",
		Fix:    "Wrap the value in the result object of the method; an empty result is {}.",
		New: each(func(m *Message, v *Verdict) {
			v.Check(m.Outcome().IsObject(), m.Subject(), "$.result", string(m.Result))
		}, "result"),
	},
}

// versionOfJSONRPC judges rpc-01.
func versionOfJSONRPC(m *Message, v *Verdict) {
	text := m.Envelope()
	if !text.IsObject() {
		return // an embedded request, or not a message at all: see stdio-01 and http-49
	}
	got := text.Get("jsonrpc")
	v.Check(string(got) == `"2.0"`, "", "$.jsonrpc", describe(got))
}

// describe returns a value as it is written, and says that it is missing if it is.
func describe(v jsonrpc.Value) string {
	if v == nil {
		return "missing"
	}
	return string(v)
}
