// Command mcptap sits unseen between an MCP client and an MCP server, records
// every frame that crosses, and shows what was recorded.
//
// The law of the package: it is the only place that knows flags, environment,
// colours and exit codes. A command is one file: an options struct, a function
// that declares its flags, and one function that runs it on an [app], which
// holds the streams, the environment and the clock, so that tests can put their
// own in place of each.
//
// stdout carries the result of a command, or the protocol (stdio). Everything
// else that mcptap has to say goes to stderr, and when all is well it has
// nothing to say: hosts show a server's stderr to people.
//
// What a recording holds was written by strangers. Nothing of it reaches a
// terminal, in a row, a header or an error text, without going through escape.
package main
