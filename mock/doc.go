// Package mock plays the server half of a recorded session to a live client. What
// is said, to what and when, is decided by package replay; this package has the
// transports and the clock.
//
// The law of the package: each message is written alone, in one write, in the
// order and on the stream that replay says, and is gone before the next one is
// asked for. Nothing is decided here, so that a session is the same on every
// transport.
//
// [Load] makes scripts of the frames of a recording. [Stdio] serves one client
// on a pair of pipes, a [Server] any number of them over Streamable HTTP, HTTP+SSE
// and WebSocket:
//
//	rec, err := mock.Load(frames, replay.Options{})
//	server := mock.NewServer(rec, mock.ServerOptions{})
//	http.ListenAndServe("127.0.0.1:8080", server) // the URL ends in server.Path()
//
// A [Live] server is asked, on any transport, for what is not in a recording, and
// [Extended] adds what it said. Package mock/recorded opens files, and mock/mocktest is
// for tests in Go.
//
// # Sessions over HTTP
//
// Each session that a client begins is played from the top by a [replay.Session] of
// its own. Live requests are assigned to sessions by the rule that assigned the recorded
// ones, which is in package session: by the session id, by the event stream of HTTP+SSE,
// by the WebSocket; else, as always in 2026-07-28, by what a client calls itself, its
// credentials, its connection and its URL. Clients that are the same in all this keep
// apart by a query of their own in the URL, such as /mcp?client=2.
//
// Where a recording has several sessions, a client gets one of its era and path; of these
// one that has its first message, then one of a client of the same name and version, then
// the one played least, then the first. In 2026-07-28, where nothing on the wire names a
// session, a request that the client's session does not have is answered from another one
// that has it. A client begins anew when it asks, once more than in the recording, for what
// the recording began with.
//
// # Responses
//
// A response is played as it was recorded: status, header fields, bytes, and the way it
// ended. Only what is the client's own is replaced in it: ids, tokens, the session id, and in
// pages the address of the server. What was recorded on another transport comes as JSON if
// nothing comes before it, and as events otherwise.
//
// Events keep their ids. A client that comes back with the id that the recorded one came
// back with gets what that one got, and with any other id what it has missed. Where it is
// not known whether events had ids, and where streams are cut ([ServerOptions].Cut), they get
// ids of the mock's. A stream that the recorded server closed before the answer, to be
// polled, is closed at the same place; for a client that has no id to come back with it
// stays open, and brings the rest.
//
// What the recorded server refused for something that is not in the message (401 with its
// challenge, 403, 404 of a session that is over) is refused in the same way when the same
// request comes in the same conditions. Beside that a Server refuses what the specification
// tells a server to, unless the recorded one took it: a foreign Host or Origin
// (403), an MCP-Protocol-Version that does not exist (400), a request without
// a session id (400) or for a session that is over (404), header fields of 2026-07-28
// that disagree with the body (400).
package mock
