// Package replay plays the server half of a recorded session. It does no I/O: given the client's
// messages and the time, it returns what to write, on which stream and when. Package mock does
// the writing.
//
// # The model
//
// A trigger is something the client did in the recording: a request, a notification, an answer
// to a server request, a cancellation, a frame that is not a message, or the end of its input.
// Triggers are numbered in recorded order. Trigger 0 is the start of the session.
//
// A step is something the server did. A request owns the steps of its call up to the next
// request of the same call (see [session.Role]): progress, log messages, nested requests, the
// answer, and late messages. A step that belongs to no call hangs off the last trigger before
// it, and is played when that trigger first arrives. So an input_required chain, a task with its
// polls, or a subscription is one call with several triggers.
//
// A gate is placed among the steps of a request where the client did something within the call:
// it answered a nested request, or cancelled. Nothing after a gate is played until the live
// client has done the same. Any answer opens the gate; one that differs from the recording is
// noted.
//
// A reply is one pass through the steps of a trigger for one live message, with that message's
// id, progress token and stream. The steps of a reply are played in order. Across replies, a
// step waits until the client has sent the last trigger before it, or a later one. So concurrent
// calls are answered in recorded order, and the output is a function of the input. A client that
// waits for an answer where the recorded one did not gets it after half a second, and sooner
// each time after that (see patience).
//
// The [Pace] determines how long after the preceding recorded event a step is due. Steps that
// are due at about the same time are played in recorded order.
//
// A stream is where bytes are written. On stdio one stream carries everything. Over HTTP each
// POST has a stream for the answers to its message, and messages that belong to no request go to
// the standing stream if there is one. The transport names the streams ([Session.Attach],
// [Session.Receive]).
//
// Over HTTP everything that came back on an exchange belongs to the first trigger of its
// request: the head of the response, its messages, events without a message, other bytes, and
// its end. GET and DELETE are triggers too. A live request with its own stream gets all of that
// in recorded order. If one stream carries everything, only the messages are played.
//
// # Matching
//
// A live request matches a recorded one with the same [Key]: the same method, era and params
// (compared by value), excluding what differs between runs: the progress token, members of _meta
// that describe the client, trace context, the ttl of a task, and ignored paths. An initialize
// is matched by its method alone. Triggers with the same key are used in recorded order; each
// session starts from the first. A request without a match is matched less strictly if the
// options allow it, which is noted, and otherwise answered with an error that names the nearest
// recorded request and the paths that differ.
//
// # Rewriting
//
// Values chosen by the client are replaced by the live ones where the server repeats them: ids,
// progress tokens, subscription ids, and the ids of tasks that the client created. Values chosen
// by the server stay, because the client echoes them and matching relies on them: cursors, task
// ids, requestState, and request ids, except in a call that is played more than once. Everything
// else is byte for byte as recorded.
package replay
