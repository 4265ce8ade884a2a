// Package session reports what the frames of a recording are to each other: the one
// place where they are read, assigned to sessions and paired.
//
//   - [Tracker] reads the frames and makes an [Entry] of each, which everything that
//     shows, counts, compares or plays a recording takes. [Survey] is a first pass,
//     for what only later frames say.
//   - [Sessions] assigns frames to sessions and follows HTTP exchanges, and [Pairing]
//     ties the messages of one session to calls.
//   - [Facts] are what a session reports about itself.
//   - [Stats] sums up calls, and [Tally] frames.
package session
