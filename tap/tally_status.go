package tap

// FailedStatus reports whether the status of an HTTP response to a request of a
// method is a failure: from 400 on it is, but for what the specification expects
// where nothing is wrong (basic/transports, basic/authorization):
//
//   - 401 to anything. It begins an authorization.
//   - 404 and 405 to what brings no message (GET, HEAD, OPTIONS, DELETE). They
//     answer clients that look for metadata where a server has none, ask for a
//     stream that it does not offer, or end a session that it does not let them
//     end.
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

// IsError reports whether an event is an error: the server could not be started, it
// ended with a status or by a signal that does not report that it was asked to, a lane
// broke, frames were not recorded, or an HTTP response has a status that [FailedStatus]
// names. Method is that of the request that the event is about, if it is about one.
// An exchange that was broken off is not: what that means for a call, the call says.
func (e *Event) IsError(method string) bool {
	switch e.Name {
	case "": // not an event
		return true
	case EventSpawnFailed, EventBroken, EventGap:
		return true
	case EventExit:
		return !e.askedToEnd()
	case EventResponse:
		return FailedStatus(method, e.Status)
	}
	return false
}

// askedToEnd reports whether a server that has ended did so well, or as it was asked
// to by the signals with which clients end servers.
func (e *Event) askedToEnd() bool {
	switch e.Signal {
	case "":
	case "SIGTERM", "SIGINT", "SIGHUP":
		return true
	default:
		return false
	}
	if e.Code == nil {
		return true
	}
	switch *e.Code {
	case 0, 128 + 1, 128 + 2, 128 + 15:
		return true
	}
	return false
}

// Failed reports whether an event is a failure: whether it is an error, or an
// exchange or a connection was broken off.
func (e *Event) Failed(method string) bool { return e.IsError(method) || e.Error != "" }
