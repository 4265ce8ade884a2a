//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func init() {
	roles["echo"] = roleEcho
	roles["both"] = roleBoth
	roles["sizes"] = roleSizes
	roles["signals"] = roleSignals
	roles["flood"] = roleFlood
	roles["host"] = roleHost
	roles["heir"] = roleHeir
	roles["mute"] = roleMute
	roles["deaf"] = roleDeaf
	roles["noisy"] = roleNoisy
}

// roleEcho answers each read with the same bytes in one write.
func roleEcho([]string) int {
	b := make([]byte, 1<<20)
	for {
		n, err := fd(0).Read(b)
		if err != nil {
			return 0
		}
		if _, err := fd(1).Write(b[:n]); err != nil {
			return 3
		}
	}
}

// roleBoth copies stdin to stdout and stderr.
func roleBoth([]string) int {
	_, _ = io.Copy(io.MultiWriter(os.Stdout, os.Stderr), os.Stdin)
	return 0
}

// roleSizes answers each read with a line that has its size.
func roleSizes([]string) int {
	b := make([]byte, 1<<20)
	for {
		n, err := fd(0).Read(b)
		if err != nil {
			return 0
		}
		fmt.Println(n)
	}
}

// roleSignals prints the name of each signal as it arrives, echoes each line, and ends
// with the stream.
func roleSignals(args []string) int {
	c := make(chan os.Signal, 100)
	for _, s := range forwarded {
		if s != syscall.SIGTSTP || len(args) > 0 {
			signal.Notify(c, s)
		}
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	fmt.Println("ready")
	for {
		select {
		case s := <-c:
			fmt.Println(signalName(s.(syscall.Signal)))
		case line, ok := <-lines:
			if !ok {
				return 0
			}
			fmt.Println(line)
		}
	}
}

// roleFlood writes a number of megabytes.
func roleFlood(args []string) int {
	mb, _ := strconv.Atoi(args[0])
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = byte(i)
	}
	for range mb {
		if _, err := fd(1).Write(b); err != nil {
			return 3
		}
	}
	return 0
}

// roleHost runs the command in its own process group, as most MCP clients do,
// and returns its status.
func roleHost(args []string) int {
	signal.Notify(make(chan os.Signal, 10), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 99
	}
	st, _ := p.Wait()
	return st.ExitCode()
}

// roleHeir leaves its stdout to a child. It writes some output itself and ends with
// its own status; the child writes a line after a while.
func roleHeir(args []string) int {
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "sleep " + args[0] + "; echo late"},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		return 99
	}
	_ = p.Release()
	_, _ = fd(1).Write([]byte(strings.Repeat("x", 500_000) + "\n"))
	return 7
}

// roleMute closes its stdout, and runs until its stdin ends.
func roleMute([]string) int {
	fmt.Println("last")
	_ = os.Stdout.Close()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 4
}

// roleDeaf closes its stdin and writes until its stdout is closed.
func roleDeaf([]string) int {
	_ = os.Stdin.Close()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	fmt.Println("deaf")
	for {
		if _, err := fmt.Println("tick"); err != nil {
			return 5
		}
		time.Sleep(time.Millisecond)
	}
}

// roleNoisy writes to stderr until it is closed, then echoes.
func roleNoisy([]string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for {
		if _, err := fmt.Fprintln(os.Stderr, "noise"); err != nil {
			break
		}
	}
	fmt.Println("nobody reads stderr")
	return roleEcho(nil)
}
