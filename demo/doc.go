// Package demo is what `mcptap demo` records: a small weather service on the
// official Go SDK and a client that makes it show everything a recording can
// hold. Both halves talk through real pipes with the tap between them, so a
// newcomer needs no server, no key and no network.
//
// [Serve] is the server half. It speaks both eras on stdio, as the SDK does:
// the first message decides. [Drive] is the client half. It runs a command
// that leads to the server, speaks one revision, and checks what it saw, so
// each demo is also a test of the tap in front of its user: a frame that is
// lost, changed or moved makes Drive fail.
//
// # The same picture each time
//
// The recordings end up in documentation, so nothing in them is random: texts,
// dates, tokens and ids are fixed, and the client lets a message pass before
// it sends the next wherever two could race. Two runs put the same lines on
// the wire in the same order per direction; only the durations differ.
//
// # Why the SDK
//
// The tap itself is never built on an SDK, because those decode and re-encode.
// Here that is the point: both ends behave as real programs do, including
// where the SDK departs from the specification. It still answers a call that
// was cancelled, for one. No frame is written by hand: all of 2026-07-28 that
// the demo shows is reachable by the SDK's public API.
//
// This is the only package that imports the SDK.
package demo

// The revisions that [Drive] speaks, one of each era.
const (
	// Handshake opens with initialize, keeps a session, and lets the server
	// send requests of its own.
	Handshake = "2025-11-25"
	// Stateless has no session: every request says all there is to know, and
	// a server that needs something answers input_required.
	Stateless = "2026-07-28"
)

// ServerName is how the built-in server introduces itself.
const ServerName = "mcptap-demo-server"

// version of both halves. It is not the program's: a recording in the docs
// should not change with each release.
const version = "1.0.0"

// The names that both halves use.
const (
	toolForecast  = "forecast"
	toolSurvey    = "survey"
	toolCalibrate = "calibrate"
	toolSweep     = "sweep"
	toolRadar     = "radar"
	toolRecord    = "record_reading"
	toolOpen      = "open_station"
	toolClose     = "close_station"
	toolBriefing  = "briefing"

	promptPacking = "packing_list"
	promptExplain = "explain_forecast"

	toolsChanged     = "notifications/tools/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
	resourceUpdated  = "notifications/resources/updated"

	uriStations = "weather://stations"
	uriDay      = "weather://stations/{city}/days/{date}"
)

func uriStation(city string) string { return uriStations + "/" + city }

func uriOfDay(city, date string) string { return uriStation(city) + "/days/" + date }
