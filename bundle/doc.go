// Package bundle makes and reads what goes into a bug report: a zip file with a
// recording, a page of it that needs nobody, and a summary in Markdown. It is
// pure: whoever calls it opens the files, and gives it a recording without
// secrets if there are to be none.
//
// A bundle has at most the four files of [Names], each once, beside nothing else.
// [Open] believes nothing that a bundle says of itself: it refuses every other
// name, and so all paths; links and directories; what is encrypted or has two
// files of one name. Of its directory it reads no more than 16 KiB, and
// [Bundle.Unpack] counts the bytes that come out, whatever sizes are written down.
//
// [WriteSummary] reads a recording once, and then the frames that it quotes. What
// it keeps is bounded, but for what is open. Everything recorded stands in code
// spans and in fences longer than any in it, in which what cannot be seen is
// spelled out: so it can neither become markup, nor mention people, nor refer to
// other issues.
package bundle
