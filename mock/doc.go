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
// [Begin] is Load for who is in a hurry: it returns after the first frames of a long
// recording of stdio, and the rest is read while clients are served, on any transport.
// What is said does not depend on that: who asks for what has not been read waits, and so
// does the session that he is of, but no other. Where a message leads may have to be
// waited for as well: whether the recorded client began with a handshake, when one comes
// that names no session; whether a client of 2026-07-28 begins anew. What can never be
// read is answered with an error, of status 500 over HTTP. A recording of HTTP is always
// read in full first: its sessions are told apart, its refusals taken back and its
// answers' forms found only on the way.
//
// An [Extender] asks a live server for what is not in a recording, which [Extended]
// adds to it. Its client is on a pair of pipes too, or behind a [Front] on HTTP. Package mock/recorded opens files, and mock/mocktest is for tests in Go.
//
// # Sessions over HTTP
//
// Each session that a client begins is played from the top by a [replay.Session] of
// its own, and where a recording has several sessions, the one of the same era
// and path that has been played least, in order of appearance. So the first
// client gets the first session, the second the second, and when all have been
// played it begins again with the first.
//
//   - An initialize begins a session. The answer to it gives out an id, which the
//     mock makes up, and whoever repeats that id is of that session. A server that
//     gave out none in the recording gives none here.
//   - An event stream of HTTP+SSE and a WebSocket are sessions.
//   - Else, as always in 2026-07-28, nothing on the wire names a session. It is what
//     one client says then, and a client is who comes from the same address with
//     the same name, version and credentials to the same URL, query included. A
//     connection stays with the session that it was used for. A client begins anew
//     when it asks, once more than in the recording, for what the recording began
//     with. Clients that are the same in all this and are at work at the same time
//     keep apart by a query of their own in the URL, such as /mcp?client=2.
//
// # Statuses, headers and refusals
//
// An answer comes as it was recorded, as one JSON object or as events, with the
// recorded status and the recorded header fields that are not of the connection. An
// answer that was recorded on another transport comes as JSON if nothing comes
// before it, and as events otherwise.
//
// Events have ids if the recorded ones had, if that is not known, or if streams are
// cut; what a client asks for again by such an id comes again, from then on
// ([ServerOptions].Cut lets that be tested). A stream that the recorded server closed
// before the answer, to be polled, is closed at the same place, with the retry and the
// events without data that it sent, and goes on when the client comes back. For a
// client that has no id to come back with it stays open.
//
// What the recorded server refused without a JSON-RPC answer (401 with its challenge,
// 403, 404, 405, 429, 500) is refused with the same status, fields and body when the
// same request comes in the same circumstances: with or without credentials, for a
// session that is alive or not, from the same place or not, with header fields that
// agree with the body or not. Beside that a Server refuses what the specification
// tells a server to, unless the recorded one took it: a foreign Host or Origin
// (403), an MCP-Protocol-Version that does not exist (400), a request without
// a session id (400) or for a session that is over (404), header fields of 2026-07-28
// that disagree with the body (400).
package mock
