package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/mcptap/mcptap/tap"
)

// One signal ends a mock whose client sends but does not read, even while it is writing to it. The
// result covers what the client had requested.
func TestMockOfClientThatDoesNotRead(t *testing.T) {
	needSignals(t)
	const request = `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n"
	answer := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 1<<20) + `"}` + "\n" // more than a pipe holds
	path := record(t, []tap.Frame{{Lane: tap.ToServer, Raw: []byte(request)}, {Lane: tap.ToClient, Raw: []byte(answer)}})
	other := record(t, []tap.Frame{{Lane: tap.ToServer, Raw: []byte(`{"id":1,"method":"b"}`)}})
	for _, c := range []struct {
		name string
		args []string
		sig  os.Signal
		code int
	}{
		{"SIGTERM", []string{path, "--verify"}, syscall.SIGTERM, 0},
		{"SIGINT", []string{path}, os.Interrupt, 130},
		{"while recording", []string{other, "--record", "new", "--", "mcptap", "mock", path}, syscall.SIGTERM, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("mcptap", append([]string{"mock", "--dir", t.TempDir()}, c.args...)...)
			var output bytes.Buffer
			cmd.Stderr = &output
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			if _, err := io.WriteString(in, request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // the rest is still being written
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // without reading, or closing anything
			if code := cmd.ProcessState.ExitCode(); code != c.code || output.Len() > 0 {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, &output)
			}
		})
	}
}

// The error that ended a run is reported even if a request was missed before.
func TestMockFailureAfterMiss(t *testing.T) {
	path := record(t, []tap.Frame{{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"b"}`)}})
	a, out := testApp(nil)
	a.stdin = io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"a"}`+"\n"), iotest.ErrReader(errors.New("disk on fire")))
	if code := a.run([]string{"mock", path}); code != 2 || !strings.Contains(out.String(), "no recorded response for a") || !strings.Contains(out.String(), "disk on fire") {
		t.Errorf("exit %d: %s", code, out)
	}
}
