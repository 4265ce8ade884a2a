// Package mocktest plays a recorded server to the client of a test in Go, and fails
// the test when the client asks for something that was not recorded, with the
// explanation.
//
//	func TestForecast(t *testing.T) {
//		m := mocktest.Start(t, "testdata/session.mcptap")
//		client := startMyClient(t, m.Command()) // as it starts any server
//		…
//	}
//
// The file is a recording, or a text of one: NDJSON, or the transcript that `mcptap
// export --format txtar` writes and people can write and review.
//
// A client that starts its server gets a command line, [Mock.Command]. It is the
// test's own binary, so that nothing need be built or installed: started with that
// argument, it passes its stdin and stdout on to the test, before any test or
// TestMain runs. A client that takes pipes gets [Mock.Pipe], with no process at all,
// and one that speaks HTTP a [Mock.URL], whatever the recording was made on. Each
// client plays a session of its own, from the top; several may be there at once.
//
// This is not in package mock, which knows nothing of files, nor of package testing.
package mocktest
