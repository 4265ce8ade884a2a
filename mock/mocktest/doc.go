// Package mocktest plays a recorded server to a client in a Go test, and fails the test if the
// client sends a request that was not recorded.
//
//	func TestForecast(t *testing.T) {
//		m := mocktest.Start(t, "testdata/session.mcptap")
//		client := startMyClient(t, m.Command()) // as for any server
//		…
//	}
//
// The file is a recording, or a recording as text: NDJSON, or a transcript in the format of
// `mcptap export --format txtar`, which people can write and review.
//
// A client that starts its server gets a command line, [Mock.Command]. The command is the test
// binary itself, so nothing needs to be installed. Started with these arguments, it relays its
// stdin and stdout to the test before any test or TestMain runs. A client that takes pipes gets
// [Mock.Pipe], and one that speaks HTTP gets [Mock.URL], whatever the recorded transport was.
// Each client gets a separate session, from the start. Several clients may run concurrently.
package mocktest
