// Package tap has what a recording is made of: frames, the events that the tap
// itself observes, and the splitters that cut a byte stream into frames. It is
// pure, as are the packages below it: nothing does I/O, reads a clock, starts a
// goroutine or takes a lock, so recorder, command line, mock, diff and viewer
// share it, and all of it is tested from text.
//
// A frame is read once, by package jsonrpc, and its messages are paired once, by
// package session. Package view has what a list shows of them.
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
//     keeps forwarding, warns once, and marks the recording incomplete with
//     the frame numbers that are missing.
//  3. Causal. Bytes are handed to the [Recorder] before the last of them is
//     forwarded, so no response is ever numbered before its request.
//  4. Raw is the truth. Method, id, pairing, sessions, latency and errors are
//     computed on read. The one exception is the tally kept beside the frames
//     (package session), so that listing a hundred recordings needs no scan.
//  5. One door per dependency. A test at the root of the module holds which
//     package may import what.
package tap
