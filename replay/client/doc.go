// Package client plays the client half of a recorded session to a live server.
//
// # The model
//
// A [Planner] makes a [Plan] from the frames of a session: what the client did, in order, and
// what had arrived from the server in between. [Play] goes through these steps. It sends what
// the client sent, and waits for what had arrived before it goes on. So requests that were in
// flight together are in flight together again, and a request waits for the responses that had
// arrived before it, whatever the pace of the server. A response is awaited for as long as it
// took in the recording and [Options].Timeout beyond. Any other message is awaited only for
// [Options].Patience, since the server may not send it.
//
// # What is sent
//
// The recorded bytes are sent, ids and progress tokens included, so that the two recordings can
// be compared. Only requests that were not recorded get new ids.
//
// Values that the server chose are carried over: where a request repeats a cursor, a task id or
// a requestState of a result, it gets the one of the live result. The same holds for session
// ids and endpoints. A request whose value the live server did not send is not sent, which is
// noted.
//
// # Server requests
//
// A server request gets the recorded answer to the same request by value (see [replay.Key]), of
// several in recorded order; or else to the next one of its method, which is noted; or else an
// error. It does not matter whether it is a request of its own or part of an input_required
// result (2026-07-28 basic/patterns/mrtr), here or in the recording.
//
// # Failures
//
// A server that cannot be reached, or refuses with an HTTP status to open the session, ends
// [Play] with a [ReachError]. One that refuses the handshake with a JSON-RPC error, where the
// recorded one did not, ends the session, as does one that dies or stops answering. The notes
// name the requests that were open then and those that were not sent.
//
// # Transports
//
// A [Conn] carries the messages, on any transport, whatever the recorded one was. A process is
// recorded here, as a tap does it. In front of a URL the caller puts a tap with a [Watcher] as
// its recorder. With [Options].Revision the session is played in another revision; see
// translate.go.
package client
