package peertest

import (
	"bytes"
	"testing"
)

// Servers that close an event stream before the answer, so that clients poll, are played in the same
// way: the clients resume the streams as often as recorded, and observe the same.
func TestMockPollsAsRecorded(t *testing.T) {
	needLong(t)
	needPeers(t)
	tapBinary(t)
	servers := []webServer{
		{name: "gosdk-polling", transport: "http", scenario: "polling", start: goListener("gosdk-polling")},
		{name: "typescript-polling", transport: "http", scenario: "polling", start: func(t *testing.T, _ string) string {
			return start(t, true, nil, "node", abs("clients/poller.mjs")).line
		}},
	}
	for _, s := range servers {
		for _, name := range []string{"v1-legacy", "v2-legacy", "go-auto"} {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				c := webClient(name)
				live, file := recordHTTP(t, c, s)
				if len(live["failed"]) > 0 {
					t.Fatal(live["failed"])
				}
				again := t.TempDir()
				mock := start(t, true, nil, tapBinary(t), "mock", file, "--listen", "127.0.0.1:0", "--json")
				tap := tapHTTP(t, again, mockURL(t, mock.line, false), "--keep-secrets")
				compare(t, live, playHTTP(t, c, s, tap.line))
				before, after := comebacks(t, file), comebacks(t, endTap(t, tap, again))
				// Once for each call, and once more if the client was back in time.
				if before < 5 || after != before {
					t.Errorf("clients resumed streams %d times of the server's, %d of the mock's", before, after)
				}
				if code := mock.stop(); code != 0 || mock.stderr.Len() > 0 {
					t.Errorf("the mock returned %d and wrote %q", code, mock.stderr.String())
				}
			})
		}
	}
}

// comebacks counts the requests in a recording that resume a stream.
func comebacks(t *testing.T, file string) int {
	t.Helper()
	return bytes.Count(bytes.ToLower(output(t, "export", file)), []byte("last-event-id"))
}
