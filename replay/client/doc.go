// Package client plays the client half of a recorded session to a live server.
//
// # The model
//
// A [Planner] makes a [Plan] from the frames of a session: what the client did, in order, and
// what arrived from the server in between. [Play] executes these steps. It sends what the client
// sent, and waits for what had arrived before it continues. So requests that were in flight
// concurrently are in flight concurrently again, and a request waits for the responses that had
// arrived before it, however fast the server is. Play waits for a response as long as it took in
// the recording, plus [Options].Timeout. It waits for any other message only for
// [Options].Patience, since the server may not send it.
//
// # What is sent
//
// The recorded bytes are sent, including ids and progress tokens, so that the two recordings can
// be compared. Only requests that were not recorded get new ids.
//
// Values chosen by the server are carried over: where a request repeats a cursor, a task id or
// a requestState of a result, it gets the one of the live result. The same holds for session
// ids and endpoints. A request that needs a value which the live server did not send is not
// sent, which is noted.
//
// # Server requests
//
// A server request gets the recorded answer to an equal request (see [replay.Key]); several equal
// requests are used in recorded order. If there is none, it gets the answer to the next request
// with its method, which is noted, or else an error. It does not matter whether the live or the
// recorded request is a JSON-RPC request or part of an input_required result (2026-07-28
// basic/patterns/mrtr).
//
// # Failures
//
// If the server cannot be reached, or refuses with an HTTP status to open the session, [Play]
// returns a [ReachError]. If it refuses the handshake with a JSON-RPC error, where the recorded
// one did not, or dies, or stops answering, the session ends. The notes name the requests that
// were open then and those that were not sent.
//
// # Transports
//
// A [Conn] carries the messages, on any transport, whatever the recorded one was. This package
// records a process as a tap does. In front of a URL the caller places a tap whose recorder is a
// [Watcher]. With [Options].Revision the session is played in another revision; see
// translate.go.
package client
