// Package peertest tests mcptap between peers that other people wrote. On stdio
// these are the clients of the TypeScript SDK v1 and v2 and of the Go SDK, the
// reference servers everything, filesystem and memory, and a server of the Go
// SDK, which also speaks revision 2026-07-28. It is a module of its own, so that mcptap
// depends on none of them.
//
//	cd peertest && npm ci && go test ./...
//
// By default the client of each SDK runs once on each transport, and the conformance
// suite once on the tap and once on the mock. MCPTAP_LONG=1 runs all pairs and suites.
//
// Each pair of client and server plays the same scenario twice, directly and
// through `mcptap stdio`, and the client writes down all that it observed. The
// two records must not differ. In the tapped run a spy stands on either side of
// the tap and keeps the bytes of each lane:
//
//	client - spy A - mcptap stdio - spy B - server
//
// Spy A, spy B and the recording, as `mcptap export` gives it, must agree on
// every byte of every lane.
//
// Over HTTP the clients are those two and that of mcp-go, and the servers are
// everything (Streamable HTTP and HTTP+SSE), and ones of the Go SDK and of mcp-go,
// of which one names its message endpoint with an absolute URL. There a relay
// stands between `mcptap http` and the server and keeps the bytes of each
// connection: read with net/http's own readers, they must be the exchanges that
// the recording has.
//
//	client - mcptap http - relay - server
//
// The official conformance suite judges the Go SDK's everything server and client
// with a tap between and without: its verdicts must be the same, but for the
// scenarios that docs/transparency-http.md names. Every recording that is made
// here is exported, imported and exported again, and must be the same then.
//
// # The mock
//
// The same scenarios are played with `mcptap mock`, on stdio and over HTTP, from a
// recording of the run with the real server, and what the client writes down must not
// differ, whichever transport was recorded and whichever is served. The conformance
// suite judges the mock as it judged the Go SDK's server, twice in a row. Two servers,
// of the Go SDK and clients/poller.mjs, close their event streams before the answer,
// and the clients must come back to the mock as often as to them. vitest/ has
// the test of a client in TypeScript in docs/mock.md, which is a package of its own:
//
//	cd peertest/vitest && npm ci
//
// # The oracle
//
// The conformance suite judges each message that crosses it by the schema of the revision, as
// the check wire-schema-valid. TestWireOracle has this and package check judge some 20,000
// frames: the messages in oracle_seeds.txt, and each with one change at one place. What they
// judge differently is in oracle_differences.tsv, with the reason, and nothing else may be.
//
// # The collector
//
// The receiver of the OpenTelemetry collector, as a Go module, gets the spans of taps
// while these run, and the lines of the files of their recordings. Both must be the
// same to it. It takes minutes to compile, so its test has a build tag:
//
//	go test -tags collector -run TestCollector
//
// MCPTAP_BIN names the program to test; without it the test builds the parent
// module. Where Node or the npm packages are missing the pairs are skipped, or
// fail with CI set.
//
// # Scenarios
//
// A scenario is a JSON list of steps, which clients/play.mjs, goclient_play_test.go
// and mcpgoclient_test.go play alike. "do" is the verb; "name" tells two steps of the
// same verb apart; "only" lists the clients that play the step, "not" those that
// do not; "fails" says
// that the step must end in an error (true, or the clients for which it does).
// "${tmp}" in a string becomes the pair's own directory, "${big}" a text of a
// good mebibyte.
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
