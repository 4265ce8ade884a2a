// Package demo has the peers that `mcptap demo` records: a small weather service on the official Go
// SDK, and a client that uses each of its features once. They are connected by pipes through the
// tap, and need no network.
//
// [Serve] is the server. Like the SDK, it supports both eras on stdio, depending on the first
// message. [Drive] is the client. It runs a command that starts the server, and uses one revision.
//
// Texts, dates, tokens and ids are fixed, and the client waits for each message that could race with
// the next one, because the documentation shows recordings of the demo, which must not vary.
//
// The tap itself does not use an SDK, which would decode and encode messages. The peers behave like
// real programs, even where the SDK deviates from the specification: for example, it responds to a
// cancelled call.
package demo

// The revisions of [Drive], one per era.
const (
	// Handshake opens with initialize, keeps a session, and lets the server send
	// requests.
	Handshake = "2025-11-25"
	// Stateless has no session: every request is self-contained, and a server that needs
	// input returns input_required.
	Stateless = "2026-07-28"
)

// serverName is the name of the built-in server.
const serverName = "mcptap-demo-server"

// version is the version of both peers. It is not the program's version, so that recordings in the
// documentation do not change with each release.
const version = "1.0.0"

const (
	uriStations = "weather://stations"
	uriDay      = "weather://stations/{city}/days/{date}"
)

func uriStation(city string) string { return uriStations + "/" + city }
