// Package diff compares two sessions and reports which calls and fields changed, and
// whether the server, the client or the protocol caused the change. It does no I/O.
//
// A [Session] is built from the frames of one side. It keeps hashes and frame numbers but
// no content, so its memory grows with the number of messages, not with their size.
// Messages that differ are loaded by number. [Compare] compares two sessions:
//
//   - Calls are paired by method and arguments, equal ones in order. Independent calls may
//     be in any order. A call includes its notifications in order, nested requests and the
//     response. The pages of a list are one call, and so is a chain of input_required
//     results.
//   - Ids and tokens are not compared, but the pairing of messages is. Values that differ in
//     every run, such as cursors, trace context and task times, are ignored. The rules for
//     single members are in rules.go.
//   - Values are compared by package jsontree. Tools, prompts and resources are compared by
//     name, JSON Schemas by the values that they allow.
//   - Equivalents in the two eras are equal: a handshake and server/discover, a server request
//     and an input_required result. What exists in only one era is [Expected].
//   - Recordings of the same version serve as baselines, to detect noise.
//
// Every [Difference] has a [Class] and a reason. Equal differences are reported once,
// with the number of occurrences.
package diff
