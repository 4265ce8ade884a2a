// Package streamable stands unseen in the HTTP connections between clients and
// a server: Streamable HTTP, HTTP+SSE and WebSocket, and whatever else crosses.
//
// # The law
//
// A tap of connections, not a proxy of requests. Each connection of a client
// gets one of its own to the server, and bytes are forwarded as they arrive, one
// write for each read. So the order and the spelling of headers, duplicates,
// chunk boundaries, interim responses, trailers, pipelining, upgrades, HTTP/1.0,
// pauses, and who hung up when cross unchanged without anybody taking care of
// them, and requests cannot be smuggled: one client, one connection, one order.
// There are no limits on bodies, in size or time, no retries, no redirects
// followed and no decompression of what is forwarded.
//
// Before bytes are forwarded they are cut, on the same goroutine, into requests,
// responses, bodies, events and messages, and those are recorded (law 3). The
// plan of cutting a copy off the path was left: only a cut head can be edited,
// only a cut body can be masked before it reaches the disk, and a reply could be
// recorded before its request. It costs some microseconds an exchange. The
// cutters are push-style and know nothing of connections; the same bytes make
// the same records whatever the chunks are.
//
// A cutter that panics forwards what it holds and is not used any more on that
// connection. A recorder that panics is replaced by one that records nothing.
// Both are said once.
//
// # What is held
//
// A head is forwarded when it is complete, as it is edited and may be refused;
// so are the trailer fields of a request. The beginning of an event stream that
// answers a GET is held until its first event is complete, 8 KiB at the most,
// since it may be an endpoint event; and with RewriteAuth the description of a
// protected resource, 64 KiB at the most. When a connection ends, what is held
// is forwarded as it came.
//
// The server is dialled when there is something to forward to it: a client that
// connects and says nothing costs it nothing, a request that is refused does not
// reach it, and a failure to reach it has a request that it can be the answer to.
//
// What a client sends behind a request for another protocol waits until the
// server has agreed or not. Clients wait for that by themselves.
//
// # What is changed
//
// Where a request names the tap, in Host or in an absolute target, the server is
// named instead, and fields that the person asked for are added at the end of
// the head. A foreign Host passes as it is to a server on loopback, which may
// defend itself against DNS rebinding, and gets a 403 in front of any other.
//
// In responses Location, where it is on the server's origin, becomes the tap's;
// so do the URL of an endpoint event, and with RewriteAuth resource_metadata in
// challenges and resource in the description of a protected resource. An
// endpoint event in a stream whose content is coded, or that has a
// Content-Length, stays as it is. Each change is an event "rewrite" in the
// recording, whose frames have what came.
//
// Chunks that hold a rewritten body become one chunk. Nothing else is changed.
//
// # What is refused
//
// A request that two readers may understand differently is answered with 400:
// both Content-Length and Transfer-Encoding, a Content-Length that occurs twice
// or is no number, codings that do not end in one chunked, folded lines, CR or
// LF alone, NUL, a space before a colon, two Hosts, chunks that are none. A head
// of more than 1 MiB is answered with 431, one that is not complete after a minute with
// 408. What is not HTTP/1 at all passes.
// Servers are not judged: what of a response cannot be read passes too.
//
// The tap answers in the order of the requests, and ends the connection with it.
// A server that cannot be reached is 502 and a plain sentence. These answers are
// recorded as the tap's own.
//
// # Ends
//
// The end of one side's bytes is the end of the other's, and a reset is a reset.
// Where nothing but the end of the connection can end a body, and the server's
// TLS ended without saying so, the client's connection is reset: it must not
// look whole. A client that closes looks like one that only says that it is
// done, until something is sent to it; so the server learns by a reset one write
// later than without a tap. Servers do not wait for that.
//
// Each exchange has one event "end", which says by whom and how it was broken
// off where it was.
//
// # What is recorded
//
// For each connection connect and disconnect; for each exchange request, each
// response with the interim ones, rewrite, end. Bodies are frames without their
// codings, server-sent events are frames, and so are the messages of a
// WebSocket, unmasked, decompressed and with their fragments joined. A message
// in fragments is recorded when it is complete, up to 1 MiB: control frames that
// come between its fragments are recorded before it.
//
// A body whose coding is not known, or that is not what its coding says, is
// recorded as it crossed. One that fails later, or that decodes to 200 times its
// size, is decoded as far as that and continues as a frame of bytes.
//
// # Secrets
//
// They are replaced by pseudonyms before they are recorded: values of the fields
// that carry credentials, cookies and session ids, parameters of URLs such as
// apiKey, code, state and sessionId, segments of paths that look random, and the
// same in forms and in the JSON of OAuth endpoints, which are recognised by their
// paths. Which names have secrets is up to [redact.SecretName]. Such bodies are recorded when
// they are complete; of one beyond 64 KiB, or that cannot be decoded, only the
// size is. The same value has the same pseudonym, so that sessions can be told
// apart. Of bytes that cannot be read as HTTP only the number is recorded, as
// there may be secrets in them; what cannot be read as a WebSocket is recorded
// as bytes. What was masked once, or added to requests by the tap, is masked
// wherever it is repeated, JSON-RPC included: see [redact.Values]. Other secrets in
// the JSON-RPC itself are not recognised.
package streamable
