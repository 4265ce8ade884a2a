// Package client plays the client half of a recorded session to a live server.
//
// # The model
//
// A [Planner] reads the frames of a session and makes a [Plan]: what the client did,
// in order, and between these steps what had come from the server by then. [Play]
// goes through the steps one after another. What the client did is done again, and
// what had come is waited for, before the next thing is done. So what was in flight
// together is so again, and a request waits for the answers that had arrived before
// it, whatever the server's pace is. An answer is waited for as long as it took in
// the recording and [Options.Timeout] beyond; anything else that the server said
// only for a while, since it may not say it any more.
//
// # What is sent
//
// The recorded bytes, ids and progress tokens included: a server cannot tell the
// replay from the recorded client, and the two recordings can be laid side by side.
// (The plan was to make up fresh ids. They would have to be rewritten in whatever
// repeats them, in each dialect, and gain nothing: a connection's ids are its own.)
// Only what has to be asked beside the recorded requests gets a new id.
//
// Values that the server made up are carried: where a request repeats a cursor, the
// id of a task or a requestState that came in an answer, it gets the one of the live
// answer instead. The same holds for session ids and endpoints. A request whose
// value the live server did not give is not sent, which is noted.
//
// # What the server asks
//
// Requests of the server's are answered from the recording: with what the client
// said to the same request by value (see [replay.Key]), several of the same in
// recorded order; else to the next one of that method, which is noted. What was
// never asked gets an error. It does not matter whether it is a request of its own
// or stands in an input_required result (2026-07-28 basic/patterns/mrtr), nor
// which of both it was in the recording.
//
// # Servers that are not there
//
// A server that cannot be reached, or refuses by a status of HTTP what opens the
// session, ends [Play] with a [ReachError]. One that refuses the handshake by a
// JSON-RPC error, where the recorded one did not, ends the session, and so does one that
// dies later or says nothing any more: which requests waited then and which were never
// played stands in the notes.
//
// # Transports
//
// A [Conn] carries messages: on stdio to a process ([Stdio]), over Streamable HTTP
// or HTTP+SSE ([HTTP]), or over a WebSocket ([WebSocket]), whatever the recorded
// transport was. A process is recorded here, as the tap does it; in front of a URL a
// real tap is put by the caller, with a [Watcher] for its recorder: two requests over
// HTTP leave in their order because the second waits until the tap has the first.
//
// # Another revision
//
// With [Options.Revision] the session is spoken in another revision; translate.go lists what changes.
// What has no counterpart there is noted and not said.
//
// # Cost
//
// A Plan holds some 300 bytes for each request with its answer, and 100 for each run of
// other messages of one kind. Payloads are loaded when they are sent or compared. Play keeps what the open requests need and one value for each
// cursor, task and state.
package client
