// Package demo has the peers that `mcptap demo` records: a small weather service on the
// official Go SDK, and a client that uses each of its features once. They are connected by
// pipes through the tap, and need no network.
//
// [Serve] is the server. Like the SDK it supports both eras on stdio, by the first message.
// [Drive] is the client. It runs a command that starts the server, and uses one revision.
//
// Texts, dates, tokens and ids are fixed, and the client waits for a message before the next
// one if the two could race, because the documentation shows recordings of the demo, which
// should always look the same.
//
// The tap itself does not use an SDK, which would decode and encode messages. The peers behave
// as real programs, also if the SDK deviates from the specification: for example, it responds
// to a cancelled call.
package demo

// The revisions of [Drive], one of each era.
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

// version is that of both peers, not of the program: recordings in the documentation should
// not change with each release.
const version = "1.0.0"

const (
	uriStations = "weather://stations"
	uriDay      = "weather://stations/{city}/days/{date}"
)

func uriStation(city string) string { return uriStations + "/" + city }
