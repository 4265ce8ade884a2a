package main

import (
	"io"
	"os"
	"os/exec"
)

// A beside is a process that a tap has started for something that looks at its
// recording: a process of its own, so that nothing it does can hold up the traffic.
// It has its own memory, and may crash.
//
// It gets none of the tap's own streams. stdout and stderr belong to the host, which
// may wait until the last process that has them is gone.
type beside struct {
	// stdin is its own. It is open as long as the tap lives, however that ends.
	stdin io.Writer
	// said is what it says on stdout and stderr. It ends with the process.
	said *os.File
}

// startBeside starts this program with other arguments.
func startBeside(args ...string) (*beside, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		said.Close()
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		alive.Close()
	}()
	return &beside{alive, said}, nil
}

// lookBeside starts what was asked for to look at a recording while it is made: the
// viewer, and what sends traces. It returns at once.
func (a *app) lookBeside(web string, traces *otlpOptions, path string) {
	if web != "" {
		a.watchBeside(web, path)
	}
	if traces.to != nil {
		a.sendBeside(traces, path)
	}
}
