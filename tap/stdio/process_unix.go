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
	srv, failure := spawn(command, true)
	if failure != nil {
		started <- failure
		return
	}
	p.pid, p.Stdin, p.Stdout, p.Stderr = srv.pid, srv.stdin.file(), srv.stdout.file(), srv.stderr.file()
	started <- nil
	srv.awaitExit()
	status := srv.reap()
	if p.code = status.ExitStatus(); status.Signaled() {
		p.code, p.signal = 128+int(status.Signal()), signalName(status.Signal())
	}
	close(p.ended)
}

// file returns a pipe of ours as a file whose reads end when it is closed.
func (f fd) file() *os.File {
	_ = syscall.SetNonblock(int(f), true)
	return os.NewFile(uintptr(f), "pipe")
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
