package tap

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

// FailedStatus reports whether a response of HTTP to a request of a method tells
// of a failure by its status: from 400 on it does, but for what the specification
// expects where nothing is wrong (basic/transports, basic/authorization):
//
//   - 401 to anything. It begins an authorization.
//   - 404 and 405 to what brings no message (GET, HEAD, OPTIONS, DELETE). They
//     answer who looks for metadata where a server has none, who asks for a
//     stream that it does not offer, and who ends a session that it does not let
//     clients end.
//
// A POST that is answered with 404 or 405 has a dead session, the wrong URL, or
// asks for a method that is not there. A method that is not known, "", is taken
// for POST.
func FailedStatus(method string, status int) bool {
	switch status {
	case 401:
		return false
	case 404, 405:
		return !looks(method)
	}
	return status >= 400
}

// looks reports whether a request of a method brings no message.
func looks(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "DELETE":
		return true
	}
	return false
}

// event counts what the heads of an exchange tell of: a failure, or whether a
// session may begin.
func (t *Tally) event(f *Frame) {
	if f.Lane != Life {
		return
	}
	at := slices.Index(t.Looking, f.Exchange)
	head := bytes.Contains(f.Raw, []byte(`"status"`))
	if !head && at < 0 && !mayLook(f.Raw) || !gjson.ValidBytes(f.Raw) {
		return
	}
	e := written(trimJSON(f.Raw))
	switch e.get("event").decoded() {
	case EventRequest:
		if at < 0 && f.Exchange != 0 && looks(e.get("method").decoded()) {
			if len(t.Looking) == maxLooking {
				t.Looking = slices.Delete(t.Looking, 0, 1)
			}
			t.Looking = append(t.Looking, f.Exchange)
		}
	case EventResponse:
		status, err := strconv.Atoi(string(e.get("status")))
		if err != nil {
			return
		}
		method := ""
		if at >= 0 {
			method = "GET"
		}
		t.Sessions.Response(f.Exchange, status)
		if FailedStatus(method, status) {
			t.Errors++
		}
		if at >= 0 && status >= 200 {
			t.Looking = slices.Delete(t.Looking, at, at+1)
		}
	case EventEnd:
		if at >= 0 {
			t.Looking = slices.Delete(t.Looking, at, at+1)
		}
	}
}

// mayLook reports whether an event may be the head of a request that brings no
// message. It says yes when in doubt.
func mayLook(raw []byte) bool {
	for _, method := range [...]string{`"GET"`, `"DELETE"`, `"OPTIONS"`, `"HEAD"`} {
		if bytes.Contains(raw, []byte(method)) {
			return true
		}
	}
	return false
}
