package streamable

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A message that turns out to be undecodable before any of it was decoded is recorded
// completely, in whatever pieces it arrives.
func TestSocketDeflateBrokenLate(t *testing.T) {
	// A stored block whose length does not match its complement (RFC 1951, 3.2.4).
	const broken = "\x00\x05\x00\x00\x00 and more"
	for _, way := range []string{"whole", "single"} {
		l := socket(t, ways[way](0), "permessage-deflate;server_no_context_takeover")
		l.server(wsFrameBytes(0xc0|opText, []byte(broken), nil))
		wantMessages(t, l.rec.messages(tap.ToClient), []string{"bytes " + broken})
	}
}
