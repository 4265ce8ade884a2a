// Package bundle makes and reads the files of bug reports: a zip file with a recording,
// a self-contained page that shows it, and a summary in Markdown. The package is pure: the
// caller opens the files, and removes secrets from the recording first.
//
// A bundle has at most the four files of [Names], each once. [Open] refuses every other
// name, and so all paths; links and directories; encrypted files; and two files of one
// name. It reads at most 16 KiB of the directory, and [Bundle.Unpack] limits the bytes
// that it writes, whatever sizes the bundle claims.
//
// [WriteSummary] reads a recording once, and then the frames that it quotes. Its memory is
// bounded except for open calls. Recorded text is in code spans, and in blocks with fences
// longer than any in the text, with invisible characters escaped: it cannot become markup,
// mention people, or refer to other issues.
package bundle
