// Package web is the viewer: a read-only HTTP server whose page lists recordings,
// shows their traffic, and follows live ones.
//
// # From frame to row
//
// Each view of a recording is one WebSocket. A loop reads the frames above a number, converts them to
// rows, applies the filter, and sends at most [maxRows] rows per message; then it waits for more
// frames. Backlog and live frames use the same loop. The page acknowledges each message, and the loop
// stops reading while [window] messages are unacknowledged: a slow tab delays only its own view, and
// nothing is buffered for it.
//
// Later frames may change a row: a request gets its response, a call ends. The message then includes
// an update of the row.
//
// # Filters
//
// Filters are evaluated here, in the language of [filter.Parse]. Some words, such as is:pending, depend
// on later frames. A request is held back until those frames decide, or until all recorded frames have
// been read; if it is shown and its response arrives later, an update drops it.
//
// In the call view, a matching frame includes its whole call and the calls around it. The rows of an
// open call without a match are held, up to [maxHeld].
//
// # Hostile traffic
//
// Texts in rows are escaped by [escape.String]. Payloads are sent as bytes, in pieces, with a content
// type that no browser renders, and the page inserts them only as text nodes. The content security
// policy forbids inline script, evaluation, foreign origins and, through trusted types, every sink
// that parses markup.
//
// # Access
//
// The server listens on loopback by default. It refuses a Host that is not an address of this machine,
// which prevents DNS rebinding, and a WebSocket with no Origin or a foreign one. Requests with the token
// of the printed URL receive a cookie; all others receive only the page's own files.
package web
