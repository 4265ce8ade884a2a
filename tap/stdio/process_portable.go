//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package stdio

import (
	"fmt"
	"os/exec"
)

// Start starts a server. The error is as that of [Run] for a command that cannot be
// started.
func Start(command []string) (*Process, error) {
	if len(command) == 0 {
		return nil, errNoCommand
	}
	p := &Process{ended: make(chan struct{})}
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("cannot start %q: %w", command[0], err)
	}
	tie(cmd.Process)
	p.pid, p.handle = cmd.Process.Pid, cmd.Process
	go func() {
		if state, err := p.handle.Wait(); err == nil {
			p.code = state.ExitCode()
		}
		close(p.ended)
	}()
	return p, nil
}

// Terminate does nothing: there is no such signal here. It returns "".
func (p *Process) Terminate() (string, error) { return "", nil }

// Kill ends the server.
func (p *Process) Kill() (string, error) { return "SIGKILL", p.handle.Kill() }
