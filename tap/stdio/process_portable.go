//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package stdio

import (
	"fmt"
	"os"
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
	p.pid = cmd.Process.Pid
	go func() {
		if state, err := cmd.Process.Wait(); err == nil {
			p.code = state.ExitCode()
		}
		close(p.ended)
	}()
	return p, nil
}

// Terminate does nothing: there is no such signal here. It returns "".
func (p *Process) Terminate() (string, error) { return "", nil }

// Kill ends the server.
func (p *Process) Kill() (string, error) {
	select {
	case <-p.ended:
		return "SIGKILL", nil // the pid may be that of another process by now
	default:
	}
	handle, err := os.FindProcess(p.pid)
	if err == nil {
		err = handle.Kill()
	}
	return "SIGKILL", err
}

// pipes makes the pipes and returns the server's ends.
func (p *Process) pipes() (theirs [3]*os.File, err error) {
	var all []*os.File
	for i, ours := range []**os.File{&p.Stdin, &p.Stdout, &p.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range all {
				f.Close()
			}
			return theirs, err
		}
		if i == 0 {
			theirs[i], *ours = r, w
		} else {
			*ours, theirs[i] = r, w
		}
		all = append(all, r, w)
	}
	return theirs, nil
}

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		f.Close()
	}
}
