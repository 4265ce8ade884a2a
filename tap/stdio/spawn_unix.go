//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A server is the process that was started, with our ends of its pipes.
type server struct {
	pid      int
	ownGroup bool
	stdin    fd
	stdout   fd
	stderr   fd

	mu     sync.Mutex // held while a signal is sent, so that the pid is its own
	gone   bool       // reaped, or about to be: its output is being seen through
	stop   bool       // a stop that we forwarded must stop us too
	barred bool       // it is stopped, because it reached for the terminal
	owed   bool       // a signal that asks it to end may wait for it to go on
	asked  time.Time  // when a signal that asks it to end was forwarded last
	status ended

	hurry atomic.Bool // it is gone, and the tap must not wait for the client
}

// A spawnError is a server that could not be started.
type spawnError struct {
	Name string
	Err  error
}

func (e *spawnError) Error() string { return fmt.Sprintf("cannot start %q: %v", e.Name, e.Err) }
func (e *spawnError) Unwrap() error { return e.Err }

// code is the status that env(1) returns for the failure.
func (e *spawnError) code() int {
	switch {
	case errors.Is(e.Err, errPipes):
		return ExitOwnFailure
	case errors.Is(e.Err, syscall.ENOENT):
		return exitNotFound
	}
	return exitCannotExec
}

var errPipes = errors.New("no pipes")

// spawn starts the server between three new pipes. Everything else (the
// environment, the directory, the umask, resource limits, descriptors from 3
// up) it inherits as it would from the client.
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
	return &server{pid: pid, ownGroup: ownGroup,
		stdin: ends[0][1], stdout: ends[1][0], stderr: ends[2][0]}, nil
}

// execvp starts argv as the C function of that name finds it. The standard
// library's LookPath is stricter: it refuses what PATH finds in the current
// directory, and scripts without a first line.
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

// start starts one file, with /bin/sh if it is a script that does not say what
// runs it.
func start(file string, argv []string, attr *syscall.ProcAttr) (int, error) {
	// A look first: a fork for each directory of PATH would be dear.
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(file, argv, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		sh := append([]string{"/bin/sh", file}, argv[1:]...)
		return syscall.ForkExec(sh[0], sh, attr)
	}
	return pid, err
}
