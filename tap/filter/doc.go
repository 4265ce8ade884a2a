// Package filter is the one query language of mcptap, for the command line and
// the viewer. It is pure: frames and what the views know of them go in, yes or
// no comes out.
//
// # Language
//
// A query is a list of terms; a frame has to match all of them. The empty query
// matches every frame.
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
// OR, AND and NOT are operators only in capitals and standing alone. As text is
// searched whatever its case, nothing is lost by that.
//
// A quoted value is literal: commas, spaces, stars, slashes and a leading minus
// mean themselves. Inside, \" is a quote and \\ a backslash; any other backslash
// is itself. Elsewhere than at the beginning of a value a quote is itself, and
// so are parentheses inside a word: main() is text. A star in a bare value
// stands for any characters, also none.
//
// A value is a regular expression (RE2, as in package regexp) if it begins with
// a slash and also ends with one. It may hold spaces and commas; it ends at the
// first slash that a space, a comma, a closing parenthesis or the end follows,
// unless there is a backslash before it. So tools/call and /usr/bin are text.
// Only a value with both a space and a slash inside could be two things, and is
// an error. Case counts unless it says (?i). It matches anywhere unless it says
// ^ and $, which in a payload match at the ends of each line.
//
// A key is letters before a colon, in any case. Letters that are no known key
// are an error, so that a slip does not silently become a search, but for what
// is plainly none: http://host, C:\path, std::string. Names with other
// characters than letters (12:30, Content-Type:) are text.
//
// # Fields
//
// The texts of a frame (method, tool, prompt, uri, session, rev) match as a
// whole, whatever their case, with stars, or as a regular expression. What a
// frame does not have matches nothing, not even a star: -tool:* finds the
// frames without a tool.
//
// Words (dir, kind, is) are known in any case. What a list calls a frame is one of
// them, with spaces, or with underscores in their place: kind:"SSE priming" and
// kind:sse_priming are kind:priming.
//
// A number matches itself, a comparison (>5, >=5, <5, <=5, =5) or a range that
// holds both its ends (2..5, 2.., ..5). Durations need a unit (500ms, 1.5s,
// 1m30s, 3d04h). Sizes may have one: kB, MB, GB and TB count in 1000s, KiB, MiB,
// GiB and TiB as well as a lone k, M, G and T in 1024s, as they do everywhere in
// mcptap. Durations and sizes are measured, so they need a comparison.
//
// An id is compared as it stands on the wire: id:1 is the number, id:"1" the
// string, id:1,"1" both. id:abc is a string as well, as no number is spelled
// that way. The numbers 1 and 1.0 differ here.
//
// # Payload
//
// Text is looked for in three views of a payload: its bytes as they crossed,
// the same with the escapes of JSON strings replaced by what they stand for,
// and once more so, as tool results have JSON inside of JSON strings. So the
// text is found as a person reads it, in values and in names, also across an
// escaped newline, and as it stands. What is no JSON is searched the same way;
// its bytes as they are always belong to it. Stars in a text stand for
// anything in between, across the whole view.
//
// Upper and lower case are the same by the simple folding of Unicode, as in
// [strings.EqualFold]: no ß for ss, no composed for decomposed letters.
//
// A search reads each view once, whatever text and payload are, and takes
// constant memory. Regular expressions take time linear in the payload too, but
// are some ten times slower; they run only where a text without which they
// cannot match has been found.
package filter
