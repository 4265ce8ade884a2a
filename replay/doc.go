// Package replay plays the server half of a recorded session. It is pure: client messages and
// the time go in, and what to write, on which stream and when, comes out. Package mock does
// the writing.
//
// # The model
//
// A trigger is something the client did in the recording: a request, a notification, an answer
// to a server request, a cancellation, a frame that is not a message, the end of its input.
// Triggers are numbered in recorded order. Trigger 0 is the start of the session.
//
// A step is something the server did. A request owns the steps of its call up to the next
// request of the same call (see [session.Role]): progress, log messages, nested requests, the
// answer, and what came late. A step that belongs to no call hangs on the last trigger before
// it, and is played when that trigger comes for the first time. So an input_required chain, a
// task with its polls, or a subscription is one operation with several triggers.
//
// A gate stands among the steps of a request where the client did something within its call:
// it answered a nested request, or cancelled. Nothing after a gate is played until the client
// has done that. Any answer opens the gate; one that differs from the recording is noted.
//
// A reply is one pass through the steps of a trigger for one live message, with the id, the
// progress token and the stream of that message. The steps of a reply are played in order.
// Across replies a step waits until the client has sent the last trigger before it, or a later
// one. So concurrent calls are answered in recorded order, and the output is a function of the
// input. A client that waits for an answer where the recorded one did not gets it after half a
// second, and sooner each time after that (see patience).
//
// A step is due as long after the event before it in the recording as the [Pace] says. Steps
// that are due at about the same time are played in recorded order.
//
// A stream is where bytes go. On stdio one stream carries everything. Over HTTP each POST has
// a stream for the answers to its message, and what belongs to no request goes to the standing
// stream if there is one. The transport names the streams ([Session.Attach],
// [Session.Receive]).
//
// Over HTTP everything that came on an exchange belongs to the first trigger of its request:
// the head of the response, its messages, events without one, other bytes, and its end. A GET
// and a DELETE are triggers too. A live request with a stream of its own gets all of that in
// recorded order. On one stream for everything only the messages count.
//
// # Matching
//
// A live request matches a recorded one with the same [Key]: the same method, era and params by
// value, without what differs between runs: the progress token, the client's own members of
// _meta, trace context, the ttl of a task, and ignored paths. An initialize is matched by its
// method alone. Triggers with one key are used in recorded order, by each session from the
// start. A request without a match is matched less strictly as far as the options allow, which
// is noted, and else answered with an error that names the nearest recorded request and the
// paths that differ.
//
// # Rewriting
//
// Values that the client chose are replaced by the live ones where the server repeats them:
// ids, progress tokens, subscription ids, and the names of tasks that the client created.
// Values that the server chose stay, because the client echoes them and is matched by them:
// cursors, task ids, requestState, and request ids, except in a call that is played again.
// Everything else is byte for byte what was recorded.
package replay
