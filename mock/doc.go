// Package mock plays the server half of a recorded session to a live client. Package replay
// decides what is sent, on which stream and when. This package has the transports and the
// clock. Each message is written alone, in one write, before the next one is requested from
// replay, so that a session is the same on every transport.
//
// [Load] makes scripts from the frames of a recording. [Stdio] serves one client on a pair of
// pipes, a [Server] any number of them over Streamable HTTP, HTTP+SSE and WebSocket:
//
//	rec, err := mock.Load(frames, replay.Options{})
//	server := mock.NewServer(rec, mock.ServerOptions{})
//	http.ListenAndServe("127.0.0.1:8080", server) // the URL ends in server.Path()
//
// A [Live] server answers, on any transport, what is not in a recording, and [Extended] adds its
// messages. Package recording opens files. Package mock/mocktest is for tests in Go.
//
// # Sessions over HTTP
//
// Each client session is played from the start by a [replay.Session] of its own. Live requests
// are assigned to sessions by package session, as recorded ones are: by the session id, the
// event stream of HTTP+SSE or the WebSocket; or else, as always in 2026-07-28, by the client's
// name, its credentials, its connection and its URL. Clients that are equal in all of these can
// use different queries, such as /mcp?client=2.
//
// If a recording has several sessions, a client gets one of its era and path; of these one that
// has its first message, then one of a client of the same name and version, then the one played
// least, then the first. In 2026-07-28 a request that the client's session does not have is
// answered from another session that has it. A client starts a new session when it sends the
// opening message once more than it was recorded.
//
// # Responses
//
// A response is played as it was recorded: status, header fields, bytes, and the way it ended.
// Only the client's values are replaced: ids, tokens, the session id, and in pages the origin of
// the server. What was recorded on another transport comes as JSON if nothing precedes it, and
// otherwise as events.
//
// Events keep their ids. A client that resumes a stream after the event at which the recorded
// client did gets what that got, and after any other event what it has missed. If it is unknown
// whether events had ids, and if streams are cut ([ServerOptions].Cut), events without an id get
// one. A stream that the recorded server closed before the response, to be polled, is closed at
// the same place, but stays open for a client that has no event id with which to resume it.
//
// What the recorded server refused for the head of a request (401 with its challenge, 403, 404
// for an ended session) is refused in the same way when the same request has the same head: for
// lack of credentials as often as recorded, until a session begins. A Server also refuses what the specification requires, unless the recorded server took it: a
// foreign Host or Origin (403), an unknown MCP-Protocol-Version (400), a request without a
// session id (400) or for an ended session (404), and header fields of 2026-07-28 that differ
// from the body (400).
//
// A request to which the tap itself responded, since the server could not be reached or the
// request was refused, is not part of the recording that is played.
package mock
