// Package tap defines the parts of a recording: frames, the events that the tap observes,
// and the splitters that cut a byte stream into frames. Like the packages jsonrpc, session,
// view, filter and text below it, it does no I/O, reads no clock, starts no goroutine and
// takes no lock, so recorder, command line, mock, diff and viewer share it, and all of it
// is tested from text.
//
// Package jsonrpc reads the message of a frame, package session pairs messages, and package
// view makes the rows that lists show.
//
// # Laws
//
// These hold for the whole program. Each has a test.
//
//  1. Transparent. Bytes out equal bytes in, per lane, whatever they are (invalid
//     JSON, invalid UTF-8, CRLF, no final newline, a line of 1 GB) and whatever
//     happens to the recording.
//  2. Lossless. The Raw bytes of one lane, joined, are that lane. Above a
//     memory cap the tap slows the traffic down; when the store fails the tap
//     keeps forwarding, warns once, and marks the recording incomplete with
//     the frame numbers that are missing.
//  3. Causal. Bytes are handed to the [Recorder] before the last of them is
//     forwarded, so no response is ever numbered before its request.
//  4. Raw is the truth. Method, id, pairing, sessions, latency and errors are
//     computed on read. The one exception is the tally kept with the frames
//     (package session), so that listing a hundred recordings needs no scan.
//  5. One door per dependency. A test at the root of the module lists which
//     package may import what.
package tap
