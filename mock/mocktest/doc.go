// Package mocktest plays a recorded server to the client of a test in Go, and fails the test
// when the client asks for something that was not recorded.
//
//	func TestForecast(t *testing.T) {
//		m := mocktest.Start(t, "testdata/session.mcptap")
//		client := startMyClient(t, m.Command()) // as it starts any server
//		…
//	}
//
// The file is a recording, or its text: NDJSON, or a transcript as `mcptap export --format
// txtar` writes it, which people can write and review.
//
// A client that starts its server gets a command line, [Mock.Command]. The command is the test's
// own binary, so that nothing has to be installed. Started with that argument it relays its
// stdin and stdout to the test, before any test or TestMain runs. A client that takes pipes gets
// [Mock.Pipe], and one that speaks HTTP gets [Mock.URL], whatever the recorded transport was.
// Each client plays a session of its own, from the start. Several may run at once.
package mocktest
