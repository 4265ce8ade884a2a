// Package web is the viewer: an HTTP server whose one page lists recordings,
// shows what their clients and servers said, and follows those that are being
// made. It reads, and changes nothing.
//
// # The way of a frame
//
// Each view of a recording is one WebSocket. A loop reads the frames above a
// number, turns them into rows, lets the filter decide, and sends at most
// [maxRows] rows a message; when there is no more it waits until there is, and
// goes on. Backlog and live are that one loop. The page says when it has taken a
// message, and the loop reads no further while [window] of them are out: so a
// slow tab reads later, and nothing is kept for it here.
//
// What a row says may change when later frames come: a request is answered, a
// call ends. Then the message has an update for the row that is there already.
//
// # Filters
//
// A filter is evaluated here, never in the page: the language is
// [filter.Parse]'s. Of a few words only later frames decide (is:pending). A
// request on which they have not yet decided is held back until they have, or
// until all that there is has been read; if it is shown then, and its answer
// comes later, the page is told to drop it.
//
// In the view of calls a frame that matches brings the whole of its call, and
// the calls around that. The rows of an open call of which nothing has matched
// yet are held, the first and the last of them; those of a call that is over
// are not.
//
// # Two recordings
//
// Comparing is the business of whoever provides the [Source]: the page gets the
// document of package diff/report, which is what `mcptap diff` says, and only
// shows it.
//
// # Hostile traffic
//
// Anybody's bytes are recorded. Rows carry texts in which [escape.Escape] has
// spelled out what could hide or reorder; payloads go out as bytes in pieces,
// under a type that no browser renders, and the page puts them nowhere but into
// text nodes. The content policy forbids inline script, evaluation, foreign
// origins and, by trusted types, any sink that takes markup.
//
// # Who may look
//
// The server listens on loopback unless told otherwise. A Host that is no
// address of this machine is refused, which ends DNS rebinding; so is a
// WebSocket from another origin, or from none. Who brings the token of the URL
// that was printed gets a cookie; nobody else gets anything but the page's own
// files.
package web
