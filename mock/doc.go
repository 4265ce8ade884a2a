// Package mock plays the server half of a recorded session to a live client. Package replay
// decides what is sent, on which stream and when. This package provides the transports and the
// clock. Each message is written in a separate write, before the next one is requested from
// replay, so that a session is the same on every transport.
//
// [Load] makes scripts from the frames of a recording. [Stdio] serves one client on a pair of
// pipes, a [Server] any number of clients over Streamable HTTP, HTTP+SSE and WebSocket:
//
//	rec, err := mock.Load(frames, replay.Options{})
//	server := mock.NewServer(rec, mock.ServerOptions{})
//	http.ListenAndServe("127.0.0.1:8080", server) // the URL ends in server.Path()
//
// A [Live] server answers requests that are not in the recording, on any transport, and
// [Extended] adds its messages to the recording. Package recording opens files. Package
// mock/mocktest is for Go tests.
//
// # Sessions over HTTP
//
// Each client session is played from the start by a separate [replay.Session]. Package session
// assigns live requests to sessions as it does recorded ones: by the session id, the event stream
// of HTTP+SSE or the WebSocket; otherwise, and always in 2026-07-28, by the client's name, its
// credentials, its connection and its URL. Clients that do not differ in any of these can use
// different queries, such as /mcp?client=2.
//
// If a recording has several sessions, a client preferably gets one with its era and path, then
// one with its first message, then one of a client with the same name and version, then the least
// played one, then the first. In 2026-07-28 a request that the client's session does not have is
// answered from another session that has it. A client starts a new session when it sends the
// opening message once more than it was recorded.
//
// # Responses
//
// A response is played as it was recorded: status, header fields, bytes, and the way it ended.
// Only ids, tokens and the session id are replaced by the live ones, and, in header fields and in
// bodies without a message, the origin of the server. A response that was recorded on another
// transport is sent as JSON if no other message precedes it, and otherwise as events.
//
// Events keep their ids. A client that resumes a stream after the same event as the recorded
// client gets what the recorded client got. After any other event it gets what it has missed. If
// it is unknown whether events had ids, or if streams are cut ([ServerOptions].Cut), events
// without an id get one. A stream that the recorded server closed before the response, so that
// the client polls, is closed at the same point, but stays open for a client that has no event id
// with which to resume it.
//
// A request that the recorded server refused because of its head (401 with its challenge, 403, 404
// for an ended session) is refused in the same way if its head has the same fault. Missing
// credentials are refused as many times as recorded, until a session begins. A Server also refuses
// what the specification requires to be refused, unless the recorded server accepted it: an
// unknown MCP-Protocol-Version (400), a request without a session id (400) or for an ended session
// (404), and header fields of 2026-07-28 that differ from the body (400). It always refuses a
// foreign Host or Origin (403).
//
// Requests to which the tap itself responded, because it could not reach the server or refused the
// request, are not played.
package mock
