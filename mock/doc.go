// Package mock plays the server half of a recorded session to a live client. What
// is said, to what and when, is decided by package replay; this package has the
// transports and the clock.
//
// The law of the package: each message is written alone, in one write, in the
// order and on the stream that replay says, and is gone before the next one is
// asked for. Nothing is decided here, so that a session is the same on every
// transport.
//
// [Load] makes a script of the frames of a recording. [Stdio] serves one client
// on a pair of pipes.
package mock
