//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Start starts a server in a process group of its own. The error is as that of
// [Run] for a command that cannot be started.
func Start(command []string) (*Process, error) {
	if len(command) == 0 {
		return nil, errNoCommand
	}
	p := &Process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(command, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the process and waits for its end, on one thread: on Linux the
// process dies with the thread that started it.
func (p *Process) run(command []string, started chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the process
	theirs, err := p.pipes()
	if err == nil {
		p.pid, err = execvp(command, &syscall.ProcAttr{
			Env:   os.Environ(),
			Files: []uintptr{theirs[0].Fd(), theirs[1].Fd(), theirs[2].Fd()},
			Sys:   sysProcAttr(true),
		})
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			p.closePipes()
			err = &spawnError{command[0], err}
		}
	}
	var handle *os.Process
	if err == nil {
		handle, err = os.FindProcess(p.pid)
	}
	p.handle = handle
	if started <- err; err != nil {
		return
	}
	state, err := handle.Wait()
	if err == nil {
		p.code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			p.code, p.signal = 128+int(status.Signal()), signalName(status.Signal())
		}
	}
	close(p.ended)
}

// Terminate asks the server to end: SIGTERM to its group. It returns the name of
// the signal.
func (p *Process) Terminate() (string, error) { return "SIGTERM", p.signalGroup(syscall.SIGTERM) }

// Kill ends the server and all that it has started and that is still in its group.
func (p *Process) Kill() (string, error) { return "SIGKILL", p.signalGroup(syscall.SIGKILL) }

// signalGroup signals the whole group. While the process is not waited for, its
// pid cannot be that of another group; afterwards the group may still have others.
func (p *Process) signalGroup(s syscall.Signal) error {
	err := syscall.Kill(-p.pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
