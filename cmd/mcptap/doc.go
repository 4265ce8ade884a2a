// Command mcptap runs between an MCP client and an MCP server, records every frame
// that crosses, and shows the recordings.
//
// Only this package knows flags, environment, colours and exit codes. A command is one
// file: an options struct, a function that declares its flags, and a function that runs
// it on an [app]. The app holds the streams, the environment and the clock, so that tests
// can replace them.
//
// stdout carries the result of a command, or the protocol (stdio). Everything else goes to
// stderr. On success mcptap writes nothing there, because hosts show a server's stderr
// to users.
//
// Recordings hold untrusted text. It must pass through package escape before it is printed
// on a terminal, in a row, a header or an error.
package main
