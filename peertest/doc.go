// Package peertest tests mcptap between peers that other people wrote: the
// clients of the TypeScript SDK v1 and v2 and of the Go SDK, and the reference
// servers everything, filesystem and memory, and a server of the Go SDK, which
// also speaks revision 2026-07-28. It is a module of its own, so that mcptap
// depends on none of them.
//
//	cd peertest && npm ci && go test ./...
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
// MCPTAP_BIN names the program to test; without it the test builds the parent
// module. Where Node or the npm packages are missing the pairs are skipped, or
// fail with CI set.
//
// # Scenarios
//
// A scenario is a JSON list of steps, which clients/play.mjs and
// goclient_test.go play alike. "do" is the verb; "name" tells two steps of the
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
