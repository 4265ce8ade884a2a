package streamable

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// The end of an exchange reports whether the client had closed its side before the
// response was over, even if the server completes the response.
func TestHalfClosed(t *testing.T) {
	for _, c := range []struct {
		name string
		hang bool
	}{{"the client hangs up", true}, {"the client waits for the end", false}} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, nil)
			s.Say(">", `GET / HTTP/1.1\r\nHost: {host}\r\n\r\n`)
			s.Say("<", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
			if c.hang {
				s.Say("client fin", "")
				s.Say("server sees eof", "")
			}
			s.Say("<", `0\r\n\r\n`)
			s.Say("server close", "")
			s.Say("client close", "")
			s.finish()
			e := s.rec.events(tap.EventEnd)
			if len(e) != 1 || e[0].HalfClosed != c.hang || e[0].By != "server" || e[0].Error != "" {
				t.Errorf("ended with %+v", e)
			}
		})
	}
}
