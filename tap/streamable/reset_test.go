package streamable

import (
	"io"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// A server that resets the connection while the tap waits to write to it has not ended its response:
// the kernel reports the reset to the write, and the read sees a proper end.
func TestResetDuringAnUpload(t *testing.T) {
	s := newStage(t, nil)
	s.Say(">", `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000000000\r\n\r\n`)
	s.Say("<", `HTTP/1.1 200 OK\r\n\r\nthe first part`)
	must(t, s.Client.SetWriteDeadline(time.Now().Add(500*time.Millisecond)))
	for block := text(1 << 20); ; {
		if _, err := s.Client.Write(block); err != nil { // all buffers are full
			break
		}
	}
	s.Say("server close", "")
	s.Say("client sees reset", "")
	s.finish()
}

// A client that uploads to a server that has ended the connection sees that, as without a tap.
func TestServerIsGoneForAnUpload(t *testing.T) {
	s := newStage(t, nil)
	s.Say(">", `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000000000\r\n\r\nabc`)
	s.Say("<", `HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n`)
	s.Say("server close", "")
	s.Say("client sees eof", "")
	for late := time.Now().Add(rawtalk.Patience); ; time.Sleep(time.Millisecond) {
		if _, err := io.WriteString(s.Client, "def"); isReset(err) {
			break
		} else if err != nil || time.Now().After(late) {
			t.Fatalf("the last write of the client: %v", err)
		}
	}
	s.finish()
}

// A tap that is closed ends idle connections properly, on both sides.
func TestCloseOfIdleConnections(t *testing.T) {
	for range 20 {
		s := newStage(t, nil)
		s.Say(">", `GET / HTTP/1.1\r\nHost: {host}\r\n\r\n`)
		s.Say("<", `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`)
		s.rec.wait(func(f []*frame) bool { return countEvents(f, tap.EventEnd) == 1 })
		must(t, s.tap.Close())
		s.Say("client sees eof", "")
		s.Say("server sees eof", "")
	}
}
