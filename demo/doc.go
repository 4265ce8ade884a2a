// Package demo is what `mcptap demo` records: a small weather service on the official
// Go SDK, and a client that uses each of its features once. They talk through real
// pipes with the tap between them; no server, key or network is needed.
//
// [Serve] is the server. It speaks both eras on stdio, as the SDK does: the first
// message decides. [Drive] is the client. It runs a command that leads to the server
// and speaks one revision.
//
// Texts, dates, tokens and ids are fixed, and the client waits for a message before it
// sends the next wherever two could race: recordings of the demo are in the
// documentation and should look the same each time.
//
// The tap itself is never built on an SDK, because those decode and re-encode. Here
// both ends behave as real programs do, also where the SDK departs from the
// specification: it still responds to a call that was cancelled, for one.
package demo

// The revisions that [Drive] speaks, one of each era.
const (
	// Handshake opens with initialize, keeps a session, and lets the server send
	// requests.
	Handshake = "2025-11-25"
	// Stateless has no session: every request is complete in itself, and a server that
	// needs something returns input_required.
	Stateless = "2026-07-28"
)

// ServerName is the name of the built-in server.
const ServerName = "mcptap-demo-server"

// version of both halves. It is not the program's: the recordings in the docs should
// not change with each release.
const version = "1.0.0"

const (
	toolsChanged     = "notifications/tools/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	resourceUpdated  = "notifications/resources/updated"

	uriStations = "weather://stations"
	uriDay      = "weather://stations/{city}/days/{date}"
)

func uriStation(city string) string { return uriStations + "/" + city }
