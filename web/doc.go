// Package web is the viewer: a read-only HTTP server whose page lists recordings,
// shows their traffic, and follows live ones.
//
// # From frame to row
//
// Each view of a recording is one WebSocket. A loop reads the frames above a
// number, turns them into rows, applies the filter, and sends at most [maxRows] rows
// in a message; then it waits for more frames. Backlog and live are the same loop.
// The page acknowledges each message, and the loop stops reading while [window]
// messages are unacknowledged: a slow tab delays its own view, and nothing is
// buffered for it.
//
// Later frames may change a row: a request gets its response, a call ends. The
// message then has an update of the row.
//
// # Filters
//
// Filters are evaluated here, in the language of [filter.Parse]. Some words, such as
// is:pending, depend on later frames. A request is held back until these have
// decided, or until all recorded frames have been read; if it is shown and its
// response comes later, an update drops it.
//
// In the view of calls a frame that matches brings its whole call, and the calls
// around that. The rows of an open call without a match are held, up to [maxHeld].
//
// # Hostile traffic
//
// Texts in rows are escaped by [escape.String]. Payloads are sent as bytes, in
// pieces, with a content type that no browser renders, and the page puts them into
// text nodes only. The content policy forbids inline script, evaluation, foreign
// origins and, through trusted types, every sink that parses markup.
//
// # Access
//
// The server listens on loopback by default. It refuses a Host that is not an
// address of this machine, which ends DNS rebinding, and a WebSocket without an
// Origin or with a foreign one. Requests with the token of the printed URL receive a
// cookie; all others get nothing but the page's own files.
package web
