package mocktest

import (
	"io"
	"net"
	"os"
)

// relayArgument makes the test's binary a relay: it must be the first of three.
const relayArgument = "mcptap-mocktest-relay"

// A relay is not a matter of the tests: it begins, and ends, before they are run,
// so that nobody needs a TestMain for it.
func init() {
	if len(os.Args) == 4 && os.Args[1] == relayArgument {
		os.Exit(relay(os.Args[2], os.Args[3]))
	}
}

// relay passes stdin and stdout on to the mock, and says its secret first.
func relay(addr, secret string) int {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		_, err = io.WriteString(c, secret)
	}
	if err != nil {
		os.Stderr.WriteString("mocktest: the test that this mock belongs to has ended: " + err.Error() + "\n")
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, c); err != nil {
		return 1
	}
	return 0
}
