//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"errors"
	"io"
	"syscall"
)

// An fd is a descriptor that is read and written with plain blocking system
// calls. An os.File asks the network poller first, which costs 10 % of a round
// trip, and would want O_NONBLOCK, which an inherited descriptor shares with
// whoever else has it open.
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
			// Somebody else made it non-blocking.
			if _, err := poll(f, pollIn, -1); err != nil {
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
			if _, err := poll(f, pollOut, -1); err != nil {
				return done, err
			}
		default:
			return done, err
		}
	}
	return done, nil
}

func (f fd) close() { _ = syscall.Close(int(f)) }

// release closes an inherited descriptor without freeing its number: a file
// opened later must not become somebody's standard output.
func (f fd) release() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		f.close()
		return
	}
	if dup2(null, int(f)) != nil {
		f.close()
	}
	_ = syscall.Close(null)
}

const (
	pollIn  = 0x1
	pollOut = 0x4
	pollBad = 0x20 // POLLNVAL
)

// pollFD is struct pollfd.
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

// poll waits until f is ready, or for ms milliseconds unless that is negative.
func poll(f fd, events int16, ms int) (ready bool, err error) {
	for {
		p := pollFD{fd: int32(f), events: events}
		n, errno := rawPoll(&p, ms)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return false, errno
		case p.revents&pollBad != 0:
			return false, syscall.EBADF
		default:
			return n > 0, nil
		}
	}
}
