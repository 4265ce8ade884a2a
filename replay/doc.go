// Package replay plays a recorded session: it knows which bytes the server sent
// after what the client sent, and says them again to another client. It is
// pure. Client messages and the time go in; what is to be written, on which
// stream and when, comes out. Package mock does the writing.
//
// # The model
//
// A trigger is something that the client did in the recording: a request, a
// notification, its answer to something that the server asked, a cancellation,
// a line that is no message, the end of its input. Triggers are numbered in the
// order in which they crossed. Trigger 0 is the beginning of the session.
//
// What the server sent hangs on triggers. A request has its own steps: all that
// belongs to its call until the next request of the same call (see [session.Role]),
// in recorded order: progress, log messages, nested requests, the answer, what
// came late. Whatever belongs to no call hangs on the last trigger before it, and is
// played when that trigger comes for the first time. So an input_required chain, a
// task with its polls, or a subscription is one operation in several triggers.
//
// A gate stands among the steps of a request where the client did something
// within its call: it answered a nested request, or cancelled. Nothing behind a
// gate is played before the client does so again. An answer other than the
// recorded one opens the gate as well, and is noted.
//
// A reply is one going-through of the steps of a trigger for one live message, with
// the live message's id, progress token and stream. Steps are played in order
// within a reply. Between replies, a step waits until the client has come as far as
// it had in the recording: until it has sent the last trigger before the step, or
// any later one. So concurrent calls are answered in recorded order whatever the
// timing, and the output is a function of the input. A client that waits for an
// answer before it sends what the recorded one had sent ahead gets it after a
// while all the same, half a second at first and less each time (see patience).
//
// Time is counted from the last thing that happened before a step in the
// recording: the step before it in its reply, or something that the client did. How
// much of it passes is the [Pace]. Steps that are due at about the same time are
// played in recorded order.
//
// A stream is where bytes go. On stdio there is one for all. Over HTTP each POST
// has a stream of its own for the answers to what it carried, and what belongs
// to no request goes to the standing stream, when there is one. The transport
// names the streams ([Session.Attach], [Session.Receive]) and gets each
// [Output] with the stream that it belongs on.
//
// # Responses over HTTP
//
// Over HTTP all that came on an exchange belongs to the first trigger of its request: the head
// of the response, its messages, events that carry none, other bytes, and its end. A GET or
// a DELETE is a trigger too. A live request that comes on a stream of its own gets all of that
// in recorded order; on one stream for everything only the messages count.
//
// # Matching
//
// A live request is matched with a recorded one by its key: the method, whether
// it is of the era without a handshake, and the params by value, but for what
// differs from run to run without meaning anything: the progress token, the
// client's own members of _meta, trace context, the ttl of a task, and the paths
// that the person ignores. initialize is matched by its method alone, since
// clients differ in nothing but themselves there. Triggers with one key are used in
// recorded order, each session from the top. A request that fits no trigger is
// matched less strictly as far as the person allows it, which is noted each
// time; one that fits nothing is answered with an error that names the nearest
// recorded request and the paths at which the two differ.
//
// # Rewriting
//
// What the client makes up is its own in each run, so where the server repeats
// it, it is replaced: the id of an answer, progress tokens, subscription ids,
// the id of a cancelled request, the name of a task that the client made. What
// the server makes up stays, because the client echoes it and is matched by it:
// cursors, task ids, requestState, and its own request ids, but for those of a
// call that is played again. All else is byte for byte what was recorded.
//
// # Cost
//
// A [Script] holds some 300 bytes for each recorded call, and the payloads are
// in a [Spool]. Looking a request up takes the same time however long the
// recording is. A [Session] grows with the distinct requests that it has seen.
package replay
