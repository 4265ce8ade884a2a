// Package wrap adds the tap to the configuration files of MCP clients and removes it.
//
// It edits text: all bytes outside the changed entry stay as they are, including comments, white space,
// the byte order mark and line ends. [File.Unwrap] undoes [File.Wrap] byte for byte and needs only the
// file: it works without the backup and after other edits.
//
// # The format
//
// In an entry that starts a server, the command is replaced by the tap. "stdio", the tap's flags,
// "--" and the original command, as spelled, are inserted before the arguments:
//
//	"command": "npx", "args": ["-y", "some-server"]
//	"command": "/usr/bin/mcptap", "args": ["stdio", "--", "npx", "-y", "some-server"]
//
// An entry without args gets args written without spaces. Unwrap removes only args written that way.
//
// In an entry with a URL, the origin is replaced by the tap's. The original URL follows #mcptap: in the
// fragment, which clients do not send:
//
//	"url": "https://example.com/mcp"
//	"url": "http://127.0.0.1:8931/mcp#mcptap:https://example.com/mcp"
//
// No client starts that tap: `mcptap http` must be running. A stdio entry instead of the URL would
// need a bridge between the transports, which a tap must not be.
package wrap
