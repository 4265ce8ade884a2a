// Package view prepares frames for display: rows, calls with their messages, items for a
// filter, and the changes between two responses. The command line and the viewer both use
// it, so that they agree. It is pure: frames are added in the order of their numbers, and its
// memory grows only with the open calls, unless a type documents otherwise.
//
// A [session.Entry] becomes the [Row] of the frame or of one message, and the [filter.Item]
// that a filter matches. [EventWords] and [OtherWords] describe events of the run and frames
// without a message. An [Outline] collects rows into calls, as [Node] values, in the order in
// which the calls began. [Responses] compares each response with the previous one. A
// [Listing] applies all of these to the [Selection] of a recording.
package view
