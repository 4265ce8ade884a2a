// Package view makes frames presentable: lines, items for a filter, calls with their
// messages, and the changes between two answers. The command line and the viewer use it, so
// that they agree. It is pure: frames are added in the order of their numbers, and its memory
// grows only with what is open, unless a type documents otherwise.
//
// A [session.Entry] becomes the [Row] of the frame or of one message, and the [filter.Item]
// that a filter matches. [EventWords] and [OtherWords] describe events of the run and frames
// without a message. An [Outline] collects rows into calls, as [Node] values, in the order in
// which the calls began. [Answers] compares each answer with the one before it.
package view
