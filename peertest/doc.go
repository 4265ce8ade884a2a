// Package peertest tests mcptap between third-party peers. On stdio these are the clients of the
// TypeScript SDK v1 and v2 and of the Go SDK, the reference servers everything, filesystem and memory,
// and a server of the Go SDK, which also speaks revision 2026-07-28. It is a separate module, so that
// mcptap depends on none of them.
//
//	cd peertest && npm ci && go test ./...
//
// By default the client of each SDK runs once on each transport, and the conformance suite once with
// the tap and once with the mock. MCPTAP_LONG=1 runs all pairs and suites.
//
// Each pair of client and server plays the same scenario twice, directly and through `mcptap stdio`.
// The client writes a transcript of everything that it observes, and the two transcripts must not
// differ. In the tapped run there is a spy on each side of the tap, which keeps the bytes of each lane:
//
//	client - spy A - mcptap stdio - spy B - server
//
// Spy A, spy B and the recording, as exported by `mcptap export`, must agree on every byte of every
// lane.
//
// Over HTTP the clients are those above and that of mcp-go. The servers are everything
// (Streamable HTTP and HTTP+SSE), and servers of the Go SDK, of the TypeScript SDK v2 and of mcp-go.
// One of them names its message endpoint with an absolute URL. A relay between `mcptap http` and the
// server keeps the bytes of each connection. Parsed with net/http, they must be the exchanges in the
// recording.
//
//	client - mcptap http - relay - server
//
// The official conformance suite checks the Go SDK's everything server and client with and without a
// tap in between. Its verdicts must be the same, except for the scenarios listed in
// docs/transparency-http.md. Every recording that is made here is exported, imported and exported
// again, and the two exports must be equal.
//
// # The mock
//
// The same scenarios are played with `mcptap mock`, on stdio and over HTTP, from a recording of the run
// with the real server. The transcript of the client must not differ, whatever the transports of the
// recording and of the mock. The conformance suite must have the same verdicts for the mock as for the
// Go SDK's server, twice in a row. Two servers, of the Go SDK and clients/poller.mjs, close their event
// streams before the answer, and the clients must resume the streams of the mock as often as theirs.
// vitest/ has the TypeScript client test from docs/mock.md, which is a separate package:
//
//	cd peertest/vitest && npm ci
//
// # The oracle
//
// The conformance suite validates each message against the schema of the revision, in the check
// wire-schema-valid. TestWireOracle compares its verdicts with those of package check on some 20,000
// frames: the messages in oracle_seeds.txt, and each with one change at one place. The differences in
// verdict are listed in oracle_differences.tsv, with reasons. There must be no others.
//
// # The collector
//
// The receiver of the OpenTelemetry collector, as a Go module, gets the spans of taps while they run,
// and the lines of the exports of their recordings. Both must decode to the same spans. The receiver
// takes minutes to compile, so its test has a build tag:
//
//	go test -tags collector -run TestCollector
//
// MCPTAP_BIN names the program to test; without it, the test builds the parent module. If Node or the
// npm packages are missing, the pairs are skipped, or fail if CI is set.
//
// # Scenarios
//
// A scenario is a JSON list of steps, which clients/play.mjs, goclient_play_test.go and
// mcpgoclient_test.go play in the same way. "do" is the verb. "name" distinguishes two steps with the
// same verb. "only" lists the clients that play the step, "not" those that do not. "fails" means that
// the step must end in an error (true, or the clients for which it does). "${tmp}" in a string becomes
// the directory of the pair, "${big}" a text of slightly more than one mebibyte.
//
//	ping, tools, resources, templates, prompts    no arguments
//	call         tool, args
//	progress     tool, args: a call that asks for progress
//	cancel       tool, args, after_ms: a call that is cancelled
//	task         tool, args: a call that runs as a task and is polled
//	read, subscribe, unsubscribe    uri
//	listen       filter: opens a subscription (2026-07-28)
//	prompt       prompt, args
//	complete     ref, argument, context
//	level        level
//	roots_changed
//	await        method, count: until the server has sent that many
//	parallel     steps, all at once
package peertest
