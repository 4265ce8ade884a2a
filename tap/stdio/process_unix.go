//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A server is the process that was started, with our ends of its pipes.
type server struct {
	pid      int
	ownGroup bool // it leads a process group
	stdin    fd
	stdout   fd
	stderr   fd

	mu     sync.Mutex // held while a signal is sent, so that the pid is not reused
	gone   bool       // reaped, or about to be
	stop   bool       // a forwarded SIGTSTP must stop the tap too
	barred bool       // it was stopped because it used the terminal
	owed   bool       // a signal to end was sent that takes effect when it continues
	asked  time.Time  // when a signal to end was last forwarded
	status ended

	hurry atomic.Bool // it is gone, and the tap must not wait for the client
}

func (e *spawnError) code() int {
	switch {
	case errors.Is(e.Err, errPipes):
		return exitOwnFailure
	case errors.Is(e.Err, syscall.ENOENT):
		return exitNotFound
	}
	return exitCannotExec
}

var errPipes = errors.New("no pipes")

// spawn starts the server between three new pipes. It inherits everything else as it
// would from the client: the environment, the directory, the umask, resource limits, and
// descriptors from 3 up.
func spawn(argv []string, ownGroup bool) (*server, *spawnError) {
	var ends [3][2]fd // read, write
	for i := range ends {
		r, w, err := newPipe()
		if err != nil {
			for _, e := range ends[:i] {
				e[0].close()
				e[1].close()
			}
			return nil, &spawnError{argv[0], fmt.Errorf("%w: %w", errPipes, err)}
		}
		ends[i] = [2]fd{r, w}
	}
	attr := &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{uintptr(ends[0][0]), uintptr(ends[1][1]), uintptr(ends[2][1])},
		Sys:   sysProcAttr(ownGroup),
	}
	pid, err := execvp(argv, attr)
	ends[0][0].close()
	ends[1][1].close()
	ends[2][1].close()
	if err != nil {
		ends[0][1].close()
		ends[1][0].close()
		ends[2][0].close()
		return nil, &spawnError{argv[0], err}
	}
	return &server{pid: pid, ownGroup: ownGroup, stdin: ends[0][1], stdout: ends[1][0], stderr: ends[2][0]}, nil
}

// execvp starts argv as the C function of that name does. Package os/exec is stricter: it
// refuses files that PATH finds in the current directory, and scripts without a #! line.
func execvp(argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	denied := false
	err = syscall.ENOENT
	for _, file := range candidates(argv[0]) {
		pid, err = start(file, argv, attr)
		switch {
		case err == nil:
			return pid, nil
		case errors.Is(err, syscall.EACCES):
			denied = true
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR),
			errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ESTALE), errors.Is(err, syscall.ETIMEDOUT):
		default:
			return 0, err
		}
	}
	if denied {
		return 0, syscall.EACCES
	}
	return 0, err
}

// candidates returns the files that name may stand for, in order.
func candidates(name string) []string {
	if name == "" {
		return nil
	}
	if strings.Contains(name, "/") {
		return []string{name}
	}
	path, ok := os.LookupEnv("PATH")
	if !ok {
		path = "/bin:/usr/bin"
	}
	var files []string
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		files = append(files, dir+"/"+name)
	}
	return files
}

// start starts one file, with /bin/sh if it is a script without a #! line.
func start(file string, argv []string, attr *syscall.ProcAttr) (int, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil { // cheaper than a fork for each directory of PATH
		return 0, err
	}
	pid, err := syscall.ForkExec(file, argv, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		sh := append([]string{"/bin/sh", file}, argv[1:]...)
		return syscall.ForkExec(sh[0], sh, attr)
	}
	return pid, err
}

// Start starts a server in a process group of its own. The error is like that of
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

// run starts the process and waits for its end, on one thread: on Linux the process is
// killed when the thread that started it ends.
func (p *Process) run(command []string, started chan<- error) {
	runtime.LockOSThread() // until the goroutine ends, and with it the thread
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

// file returns one of our pipes as a file whose reads end when it is closed.
func (f fd) file() *os.File {
	_ = syscall.SetNonblock(int(f), true)
	return os.NewFile(uintptr(f), "pipe")
}

// Terminate asks the server to end: SIGTERM to its group. It returns the name of
// the signal.
func (p *Process) Terminate() (string, error) { return "SIGTERM", p.signalGroup(syscall.SIGTERM) }

// Kill ends the server and its children that are still in its group.
func (p *Process) Kill() (string, error) { return "SIGKILL", p.signalGroup(syscall.SIGKILL) }

// signalGroup signals the whole group. While the process is not waited for, its pid cannot
// be that of another group; afterwards the group may still have other processes.
func (p *Process) signalGroup(s syscall.Signal) error {
	err := syscall.Kill(-p.pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// An fd is a descriptor that is read and written with blocking system calls. An os.File
// uses the network poller, which costs 10 % of a round trip, and sets O_NONBLOCK, which an
// inherited descriptor shares with other processes.
type fd int

// Read implements [io.Reader].
func (f fd) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(f), b)
		switch {
		case err == nil && n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			// Another process made it non-blocking.
			if _, err := poll(f, unix.POLLIN, -1); err != nil {
				return 0, err
			}
		default:
			return 0, err
		}
	}
}

// Write implements [io.Writer].
func (f fd) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := syscall.Write(int(f), b[done:])
		switch {
		case err == nil:
			done += n
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			if _, err := poll(f, unix.POLLOUT, -1); err != nil {
				return done, err
			}
		default:
			return done, err
		}
	}
	return done, nil
}

func (f fd) close() { _ = syscall.Close(int(f)) }

// release closes an inherited descriptor without freeing its number: a file opened later
// must not become the standard output of a child.
func (f fd) release() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		f.close()
		return
	}
	if unix.Dup2(null, int(f)) != nil {
		f.close()
	}
	_ = syscall.Close(null)
}

// poll waits until f is ready, or for ms milliseconds unless that is negative.
func poll(f fd, events int16, ms int) (ready bool, err error) {
	for {
		p := []unix.PollFd{{Fd: int32(f), Events: events}}
		n, err := unix.Poll(p, ms)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false, err
		case p[0].Revents&unix.POLLNVAL != 0:
			return false, syscall.EBADF
		default:
			return n > 0, nil
		}
	}
}
