// Package wrap puts the tap into the configuration files of MCP clients, and takes
// it out again.
//
// The law of the package: of a file only the words change that have to. Comments,
// white space, the byte order mark, line ends and every other entry stay byte for
// byte, and what [File.Wrap] did [File.Unwrap] undoes byte for byte, with nothing
// but the file itself at hand: whoever edits the file in between, or loses the
// backup, can unwrap all the same.
//
// # What is written
//
// Of an entry that starts a server the command becomes the tap, and before the
// arguments come "stdio", the tap's own flags, "--" and the word that was the
// command, as it was spelled:
//
//	"command": "npx", "args": ["-y", "some-server"]
//	"command": "/usr/bin/mcptap", "args": ["stdio", "--", "npx", "-y", "some-server"]
//
// An entry without args gets some, spelled without a space, which is how they are
// known again for ones that were not there.
//
// Of an entry with a URL the origin becomes the tap's, and what it was is kept
// behind #mcptap: in the fragment, which no client sends:
//
//	"url": "https://example.com/mcp"
//	"url": "http://127.0.0.1:8931/mcp#mcptap:https://example.com/mcp"
//
// Nobody starts that tap: `mcptap http` has to run when the client does. A stdio
// entry in the place of the URL was no choice, as it would need a bridge between
// the transports, and a bridge is what a tap must not be.
package wrap
