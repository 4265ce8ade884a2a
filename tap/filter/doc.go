// Package filter implements the query language of mcptap for the command line and
// the viewer. It does no I/O.
//
// # Language
//
// A query is a list of terms; an item matches if it matches all of them. The empty
// query matches everything.
//
//	query = [ any ]
//	any   = all { "OR" all }
//	all   = one { [ "AND" ] one }
//	one   = { "NOT" } [ "-" ] ( "(" any ")" | term )
//	term  = [ key ":" ] value { "," value }
//	value = bare | quoted | /regexp/ | [ comparison ] number
//
// A term without a key searches the payload. Commas mean or.
//
// OR, AND and NOT are operators only in upper case and as separate words. As text
// is searched in any case, they can be written in lower case as text.
//
// A quoted value is literal: commas, spaces, stars, slashes and a leading minus
// have no special meaning. In it \" is a quote and \\ a backslash; any other
// backslash is literal. A quote that does not begin a value is literal, and so
// are parentheses inside a word: main() is text. A star in a bare value stands for
// any characters or none.
//
// A value is a regular expression (RE2, as in package regexp) if it begins and
// ends with a slash. It may have spaces and commas. It ends at the first slash that
// is followed by a space, a comma, a closing parenthesis or the end, and does not
// follow a backslash. So tools/call and /usr/bin are text. A value with both a
// space and a slash inside is ambiguous, and an error. Case is significant unless
// the expression has (?i). It matches anywhere unless it has ^ and $, which in a
// payload match at the ends of lines.
//
// A key is letters before a colon, in any case. An unknown key is an error, so that
// a typo does not become a search, except in http://host, C:\path and std::string.
// Names with other characters (12:30, Content-Type:) are text.
//
// # Fields
//
// The keys of text (method, tool, prompt, uri, session, rev) match the whole text,
// in any case, with stars, or by a regular expression. A field that an item does
// not have matches nothing, not even a star: -tool:* matches items without a tool.
//
// Words (dir, kind, is) are matched in any case. The names that listings use are
// accepted too, with spaces or underscores: kind:"SSE priming" and
// kind:sse_priming are kind:priming.
//
// A number matches itself, a comparison (>5, >=5, <5, <=5, =5) or a range that
// includes both ends (2..5, 2.., ..5). Durations need a unit (500ms, 1.5s, 1m30s,
// 3d04h). Sizes may have one: kB, MB, GB and TB are powers of 1000; KiB, MiB, GiB,
// TiB, k, M, G and T are powers of 1024. Durations and sizes need a comparison or
// a range.
//
// An id is compared as written: id:1 is the number, id:"1" the string, id:1,"1"
// both. A bare value that is not a number is a string too. The numbers 1 and 1.0
// differ here.
//
// # Payload
//
// Text is searched in three views of a payload: its bytes, the same with the
// escapes of JSON strings replaced, and that with escapes replaced again, for JSON
// inside JSON strings, as in tool results. So a text is found as it is displayed,
// in values and names, also across an escaped newline, and as it is encoded. A
// payload that is not JSON is searched in the same way. A star stands for any part
// of a view.
//
// Case is ignored by Unicode simple folding, as in [strings.EqualFold]: ß does not
// equal ss, and composed letters do not equal decomposed ones.
//
// A payload is searched in linear time. A call matches a text if one of its
// messages does. Frames above 64 MiB are not loaded whole; only their beginning is
// searched.
package filter
