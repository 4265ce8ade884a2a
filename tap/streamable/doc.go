// Package streamable taps the HTTP connections between clients and a server: Streamable
// HTTP, HTTP+SSE, WebSocket, and any other traffic.
//
// # Design
//
// It is a tap of connections, not a proxy of requests. Each client connection has one
// server connection, and bytes are forwarded as they arrive, one write for each read. So
// the order and spelling of headers, duplicates, chunk boundaries, interim responses,
// trailers, pipelining, upgrades, HTTP/1.0, pauses, and the side and time of a hang-up
// are preserved without further code, and requests cannot be smuggled: one client, one
// connection, one order. There are no limits for bodies, in size or time, no retries, no
// redirects and no decompression of forwarded bytes.
//
// Before bytes are forwarded they are split, on the same goroutine, into requests,
// responses, bodies, events and messages, which are recorded (law 3). Splitting a copy
// off the path would not suffice: only a held head can be edited, only a held body can be
// masked before it reaches the disk, and a response could be recorded before its
// request. It costs a few microseconds per exchange. The cutters are push parsers
// without connections. The same bytes produce the same records whatever the chunks are.
//
// A cutter that panics forwards the bytes that it holds and is not used again on that
// connection. A recorder that panics is replaced by one that records nothing. Both are
// reported once.
//
// # Held bytes
//
// A head is forwarded when it is complete, as it is edited and may be refused. The same
// holds for the trailer fields of a request. The beginning of an event stream that
// responds to a GET is held until its first event is complete, up to 8 KiB, because it
// may be an endpoint event. With RewriteAuth, the description of a protected resource is
// held, up to 64 KiB. When a connection ends, held bytes are forwarded unchanged.
//
// The server is dialed when there are bytes to forward: a client that only connects does
// not reach it, a refused request does not reach it, and a failure to reach it can be
// reported in the response to a request.
//
// Bytes of a client after a request for another protocol wait until the server has
// agreed or refused. Clients themselves wait for that.
//
// # Changes
//
// The name of the tap in the Host or the absolute target of a request is replaced by that
// of the server, and the fields that the user configured are added at the end of the head. A
// foreign Host is forwarded unchanged to a server on loopback, which may defend itself
// against DNS rebinding. For other servers it is refused with 403.
//
// In responses, the origin of the server is replaced by that of the tap in Location and
// in the URL of an endpoint event, and with RewriteAuth in resource_metadata of
// challenges and in resource of the description of a protected resource. An endpoint
// event in a stream with a content coding or a Content-Length is not changed. Each change
// is an event "rewrite" in the recording, whose frames have the original bytes.
//
// The chunks of a rewritten body become one chunk. Nothing else is changed.
//
// # Refusals
//
// A request that readers may interpret differently is refused with 400: both
// Content-Length and Transfer-Encoding, a Content-Length that is repeated or not a
// number, codings that do not end in a single chunked, folded lines, a lone CR or LF,
// NUL, a space before a colon, two Hosts, invalid chunks. A head of more than 1 MiB is
// refused with 431, one that is not complete after a minute with 408. Connections that
// are not HTTP/1 at all are forwarded. Servers are not checked: unreadable parts of a
// response are forwarded too.
//
// The tap responds in the order of the requests, and then ends the connection. If the
// server cannot be reached, the response is a 502 with one sentence. These responses are
// recorded as those of the tap.
//
// # Ends
//
// The end of one side's bytes is forwarded as an end, and a reset as a reset. If only the
// end of the connection can end a body, and the TLS connection of the server ended without
// an alert, the client connection is reset, because the body must not look complete. A
// client that closes its connection cannot be distinguished from one that closes only its
// side until something is sent to it, so the server learns of it from a reset, one write
// later than without a tap. Servers do not wait for that.
//
// Each exchange has one event "end". If the exchange was aborted, it names the side and
// the cause.
//
// # Recording
//
// Each connection has connect and disconnect. Each exchange has request, response
// (interim ones too), rewrite, hang_up if the client ends its connection while the response
// is due, and end. Bodies are frames without their codings,
// server-sent events are frames, and so are the messages of a WebSocket, unmasked,
// decompressed and defragmented. What is forwarded of a body or a message is recorded
// immediately, so control frames between the fragments of a message are recorded after it.
// If a message breaks off, the end of its exchange reports that it is incomplete.
//
// A body with an unknown coding, or whose bytes do not have its coding, is recorded as it
// crossed. If decoding fails later, or the body decodes to 200 times its size, the rest is
// recorded as a frame of bytes.
//
// # Secrets
//
// Secrets are replaced by pseudonyms before they are recorded: the values of fields with
// credentials, cookies and session ids, URL parameters such as apiKey, code, state and
// sessionId, path segments that look random, and the same in forms and in the JSON of
// OAuth endpoints, which are recognized by their paths. [redact.SecretName] decides which
// names have secrets. Such bodies are recorded when they are complete. Of a body that is
// longer than 64 KiB or cannot be decoded, only the size is recorded. The same value has
// the same pseudonym, so that sessions can be distinguished. Bytes that cannot be read as
// HTTP may have secrets, so only their number is recorded. Bytes that cannot be read as
// WebSocket are recorded. Values that were masked once, or that the tap adds to requests,
// are masked wherever they are repeated, also in JSON-RPC: see [redact.Values]. Other
// secrets in JSON-RPC are not recognized.
package streamable
