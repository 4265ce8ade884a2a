// Package session pairs the messages of a recording and assigns its frames to sessions. It
// is the only place where that is done.
//
//   - [Tracker] makes an [Entry] of each frame, from which a recording is shown, counted,
//     compared and played. [Survey] is a first pass, for facts that only later frames
//     determine.
//   - [Sessions] assigns frames to sessions and follows HTTP exchanges, and [Pairing]
//     ties the messages of one session to calls.
//   - [Facts] are what a session reports about itself.
//   - [Stats] sums up calls, and [Tally] frames.
package session
