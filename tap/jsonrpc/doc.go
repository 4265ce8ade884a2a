// Package jsonrpc reads JSON-RPC messages from frames: the one reader that the
// recorder and every view use. [PeekFrame] takes any bytes and reports what they are,
// or why they are not a message. Nothing is decoded that a list does not need, and
// no number goes through a float.
//
// It also has the vocabulary of the protocol: methods ([Methods]), revisions
// ([Revisions]), and what a message is about ([Subject]).
package jsonrpc
