//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// echo is the server: it writes what it reads, as it reads it.
func echo() {
	buf := make([]byte, 256<<10)
	for {
		n, err := syscall.Read(0, buf)
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return
		}
		if writeAll(1, buf[:n]) != nil {
			return
		}
	}
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(fd, p)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// relay is the bare relay: what a plain Go program in the path costs.
func relay(command []string) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	io.Copy(os.Stdout, out)
	cmd.Wait()
}
