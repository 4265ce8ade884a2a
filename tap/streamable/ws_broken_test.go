package streamable

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// All of a message is recorded that turns out not to be decodable before anything of
// it was, in whatever pieces it came.
func TestSocketDeflateBrokenLate(t *testing.T) {
	// A stored block whose length is not what its complement says (RFC 1951, 3.2.4).
	const broken = "\x00\x05\x00\x00\x00 and more"
	for _, way := range []string{"whole", "single"} {
		l := socket(t, ways[way](0), "permessage-deflate;server_no_context_takeover")
		l.server(wsFrameBytes(0xc0|opText, []byte(broken), nil))
		wantMessages(t, l.rec.messages(tap.ToClient), []string{"bytes " + broken})
	}
}
