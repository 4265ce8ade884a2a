// Package redact puts pseudonyms in the place of secrets in recorded frames.
//
// The law of the package: what is not a secret stays byte for byte, and what is
// one becomes a value of the same JSON type, the same one wherever it occurs, so
// that a redacted recording still pairs, mocks, replays and diffs. Nobody can find
// out by trying which value a pseudonym stands for without the key.
//
// # What is taken for a secret
//
//   - The value of a member, a parameter, a header field, a variable or a flag
//     whose name says so: password, API_KEY, --token, client_secret. See names.go.
//     The name may stand beside it, and below it there may be an object; see
//     json.go. A JSON schema has such names too, and its meaning: there only
//     defaults and examples count.
//   - What has the shape of a provider's key, a JSON Web Token, a private key, or
//     the password in a URL or a connection string. See shapes.txt.
//   - What a [Rule] of the person says.
//   - Any such value again, wherever it occurs later, and in a second pass
//     wherever it occurred before: a server that repeats a token in a sentence
//     gives it no name. Values that may be ordinary words are exempt; see known.go.
//   - In text, what contexts.go lists: SQL, XML, blocks of YAML, flags of commands,
//     sentences.
//
// A value that only looks like one is left alone: code that gets a value, a stand-in
// such as <your key>, a variable, the version of a package; see plausible.go.
//
// Frames are looked into as deep as they go: JSON, JSON inside strings and other
// text, tables, base64 of text, also in lines, what is escaped for URLs or JSON,
// server-sent events, forms, URLs, argument lists, heads of HTTP; see http.go,
// table.go and nested.go.
//
// # How
//
// One automaton runs over the bytes first and looks for the words that every
// built-in rule needs: a frame without any of them, and without a long run of
// base64, is done. Shapes are matched by hand at the place of their word, so no
// rule costs more than linear time, but for patterns of the person, which Go's
// regular expressions keep linear too.
//
// The package is pure. A [Redactor] is not for use by several goroutines at once;
// package redact/record locks it for the tap.
package redact
