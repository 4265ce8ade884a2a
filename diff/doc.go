// Package diff compares two sessions: which call changed, which field, and whether it
// is the server's doing, the client's or the protocol's. It is pure: frames go in, a
// [Report] comes out.
//
// A [Session] reads the frames of one side once. It keeps hashes and the numbers of
// frames, not their content, so that its memory grows with the number of messages and
// not with their size; what differs is loaded again by number, always from the session
// that it was recorded in. [Compare] takes two of them:
//
//   - Calls are paired by method and by what they ask for, those that ask for the same
//     by their order. Calls that do not depend on one another may come in any order. A
//     call counts with all that belongs to it: its notifications in their order, what
//     the server asked within it, its response. A list that came in pages is one call,
//     and so is a chain of input_required results.
//   - Ids and tokens never count by themselves: what they tie together does, as a
//     [session.Pairing] has it. Nor does what differs in each run: times of tasks,
//     trace context, cursors. What is known about single members is in rules.go.
//   - Values are compared by package jsontree, definitions of tools, prompts and
//     resources by their names, JSON Schemas by what they allow.
//   - What the two eras write in different ways is the same: a handshake and
//     server/discover, a request of the server and an input_required result. What only
//     one of them has is [Expected].
//   - Recordings of the same version, as baselines, show what is noise.
//
// Every [Difference] has a [Class] and a reason. Equal differences are reported once,
// with how often they occur.
package diff
