package stdio

import "os"

// A Process is a server between three pipes and nobody in between: for those who
// are the client themselves. Make one with [Start].
type Process struct {
	// Stdin, Stdout and Stderr are our ends of its pipes. Whoever uses the process
	// closes them.
	Stdin          *os.File
	Stdout, Stderr *os.File

	pid    int
	ended  chan struct{}
	code   int
	signal string
}

// PID is the server's process id.
func (p *Process) PID() int { return p.pid }

// Ended is closed when the server has ended. Others may still hold its pipes.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Status is how the server ended: its exit status, or 128+n and the name of the
// signal n. It may be asked for when Ended is closed.
func (p *Process) Status() (code int, signal string) { return p.code, p.signal }
