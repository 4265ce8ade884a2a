// Package tap is the ground floor of mcptap: what a recorded frame is, how a
// byte stream is cut into frames, and every view that is computed from them.
// It is pure. Nothing in here does I/O, reads a clock, starts a goroutine or
// takes a lock, so every view can be tested from text and used by the recorder,
// the command line, the mock, the diff and the viewer alike.
//
// # Laws
//
// These hold for the whole program. Each has a test.
//
//  1. Transparent. Bytes out equal bytes in, per lane, whatever they are (bad
//     JSON, bad UTF-8, CRLF, no final newline, a line of 1 GB) and whatever
//     happens to the recording.
//  2. Lossless. The Raw bytes of one lane, joined, are that lane. Above a
//     memory cap the tap slows the traffic down; when the store fails the tap
//     keeps forwarding, says so once, and marks the recording incomplete with
//     the frame numbers that are missing.
//  3. Causal. Bytes are handed to the [Recorder] before the last of them is
//     forwarded, so no response is ever numbered before its request.
//  4. Raw is truth. Method, id, pairing, sessions, latency and errors are views
//     computed on read. The one exception is the [Tally] kept beside the
//     frames, so that listing a hundred recordings needs no scan.
//  5. One door per dependency. Which package may import what is held by a test
//     at the root of the module.
package tap
