// Package view makes of frames what a person looks at: lines, items for a
// filter, calls with all that belongs to them, and what changed between two
// answers. The command line and the viewer both draw from it, so that they
// agree. It is pure: frames go in, in the order of their numbers, and its
// memory grows with what is open only, unless a type documents otherwise.
//
// From what is known of a frame, a [session.Entry], come the [Row] of the frame or of
// one message, and the [filter.Item] that a filter matches. What an event of the run and a frame without a message are is put into
// words here, by [EventWords] and [OtherWords]. An [Outline] gathers rows into calls,
// as [Node] values, in the order in which the calls began. [Answers] compares each
// answer with the one before it.
package view
