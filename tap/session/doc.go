// Package session pairs the messages of a recording and assigns its frames to
// sessions. It is the only place where that is done.
//
//   - [Tracker] reads frames and makes an [Entry] of each, which everything that
//     shows, counts, compares or plays a recording takes. [Survey] is a first pass,
//     for what only later frames determine.
//   - [Sessions] assigns frames to sessions and follows HTTP exchanges, and [Pairing]
//     ties the messages of one session to calls.
//   - [Facts] are what a session reports about itself.
//   - [Stats] sums up calls, and [Tally] frames.
package session
