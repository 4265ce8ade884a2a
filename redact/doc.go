// Package redact replaces secrets in recorded frames with pseudonyms.
//
// Everything else is unchanged byte for byte. A secret becomes a value of the same JSON
// type, the same one for each occurrence, so a redacted recording can still be paired,
// mocked, replayed and compared. Without the key, a guess at a value cannot be checked
// against its pseudonym.
//
// # Secrets
//
//   - The value of a member, parameter, header field, variable or flag with the name of
//     a secret: password, API_KEY, --token, client_secret. See names.go. The name may
//     be the value of another member, and the value may be an object; see json.go. In a
//     JSON Schema only defaults and examples count.
//   - Keys with the form of a provider, JSON Web Tokens, private keys, and passwords in
//     URLs and connection strings. See shapes.txt.
//   - The matches of a user's [Rule].
//   - Further occurrences of these values, and in a second pass earlier ones. Values that
//     may be ordinary words are exempt, except those of a Rule if they stand alone;
//     see known.go. [Redactor.Kept] lists the exempt ones that occur.
//   - Values in the contexts of contexts.go: SQL, XML, YAML, commands, sentences.
//
// Values that only look like secrets are kept: code that reads a value, a placeholder such
// as <your key>, a variable, the version of a package; see plausible.go.
//
// Frames are decoded to any depth: JSON, JSON inside strings and other text, tables,
// base64 of text, escapes of URLs and JSON, server-sent events, forms, URLs, argument
// lists, HTTP headers; see http.go, table.go and nested.go.
//
// # Implementation
//
// An automaton first searches for the words that the built-in rules need. A frame without
// any of these, and without a long run of base64, has no secret. All rules take linear
// time.
//
// The package is pure. A [Redactor] is not safe for concurrent use; package redact/record
// locks it for the tap.
package redact
