package peertest

import (
	"fmt"
	"os"
	"testing"
)

// The test binary plays every part that is not JavaScript. A part is chosen by an argument, not by the
// environment, because clients, especially the TypeScript SDKs, do not pass their environment on.
var parts = map[string]func(args []string) int{
	"part=spy":      spy,
	"part=goclient": goClient,
	"part=goserver": goServer,
	"part=shout":    shout,
	"part=listener": listener,
	"part=wrap":     wrap,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if part, ok := parts[os.Args[1]]; ok {
			os.Exit(part(os.Args[2:]))
		}
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// self returns the command for a part.
func self(part string, args ...string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{exe, "part=" + part}, args...)
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "peertest:", err)
	return 2
}
