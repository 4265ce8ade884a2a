// Package session ties the messages of a recording together: the one place where
// requests and responses are paired and frames assigned to sessions.
//
//   - [Sessions] assigns frames to sessions and follows HTTP exchanges.
//   - [Pairing] ties the messages of one session to calls, and [Tracker]
//     those of a recording.
//   - [Facts] are what a session says about itself.
//   - [Stats] sums up calls, and [Tally] frames.
package session
