// Package diff tells what changed from one session to another: which call,
// which field, and whether it is the server's doing, the client's or the
// protocol's. It is pure: frames go in, a [Report] comes out.
//
// A [Session] reads the frames of one side once. It keeps hashes and the numbers
// of frames, not what they say, so that its memory grows with the number of
// messages and not with their size; what differs is loaded again by number.
// [Compare] takes two of them:
//
//   - Calls are paired by method and by what they ask for, those that ask for
//     the same by their order. Calls that do not depend on one another may come
//     in any order. A call counts with all that belongs to it: its
//     notifications, what the server asked within it, its answer. A list that
//     came in pages is one call, and so is a chain of input_required results.
//   - Ids and tokens never count by themselves: what they tie together does, as
//     a [session.Pairing] sees it. Nor does what differs in each run: times of
//     tasks, trace context, cursors.
//   - Values are compared by value, see package tree; definitions of tools,
//     prompts and resources by their names, JSON Schemas by what they allow.
//   - What the two revisions say in different ways is the same: a handshake and
//     server/discover, a request of the server and an input_required result.
//     What only one of them has is [Expected].
//   - Recordings of the same version, as baselines, show what is noise.
//
// Every [Difference] has a [Class] and says why. Differences that are the same
// are told once, with how often they occur.
package diff
