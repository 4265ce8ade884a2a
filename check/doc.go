// Package check judges recorded sessions: what violates the specification, what breaks real
// clients, and what deserves attention. It is pure, and neither parses nor pairs messages: it
// reads the entries of package session.
//
// A [Rule] states one requirement. It is declared once, in the file of its family, with the
// function that judges it. Each rule has a file testdata/rules/ID.txt with two sessions: one
// that violates it, and one that comes as close as possible without violating it.
//
// A [Checker] passes each message to the rules of the revision in force. A rule holds, is
// violated, or cannot be judged, for example because the recording started too late. All three
// are counted. Violations become [Finding] values: one for each rule, subject and path,
// however often it occurs.
package check
