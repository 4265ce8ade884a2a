package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The test binary plays three parts. As "serve" it is what `mcptap demo serve`
// will be. As "tee" it is a tap: it runs itself as "serve" and keeps the lines
// that cross in a directory. With a third argument it is a bad tap.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			if err := Serve(context.Background(), os.Stdin, os.Stdout, os.Stderr); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "tee":
			os.Exit(tee(os.Args[2], os.Args[3:]...))
		}
	}
	os.Exit(m.Run())
}

// The files that tee writes.
const (
	toServer = "to-server"
	toClient = "to-client"
)

// tee runs the server and forwards line by line. Fault, if given, is what goes
// wrong with the lines: see spoil.
func tee(dir string, fault ...string) int {
	cmd := exec.Command(os.Args[0], "serve")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if !slices.Contains(fault, "drop stderr") {
		cmd.Stderr = os.Stderr
	}
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	go func() {
		forward(filepath.Join(dir, toServer), os.Stdin, in, fault)
		_ = in.Close()
	}()
	forward(filepath.Join(dir, toClient), out, os.Stdout, fault)
	if err := cmd.Wait(); err != nil || slices.Contains(fault, "exit 3") {
		return 3
	}
	return 0
}

func forward(file string, from io.Reader, to io.Writer, fault []string) {
	kept, err := os.Create(file)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewReader(from)
	held := ""
	for {
		line, err := lines.ReadString('\n')
		_, _ = kept.WriteString(line)
		if err != nil {
			break
		}
		for _, l := range spoil(line, fault, &held) {
			_, _ = io.WriteString(to, l)
		}
	}
}

// spoil does to a line what a bad tap would: "drop X" loses the lines that
// contain X, "twice X" repeats them, "late X" swaps each with the line that
// follows, "edit X Y" puts Y in the place of X.
func spoil(line string, fault []string, held *string) []string {
	out := []string{line}
	for _, f := range fault {
		verb, what, _ := strings.Cut(f, " ")
		from, to, _ := strings.Cut(what, " ")
		switch has := strings.Contains(line, from); {
		case verb == "drop" && has:
			out = nil
		case verb == "twice" && has:
			out = []string{line, line}
		case verb == "late" && has && *held == "":
			*held, out = line, nil
		case verb == "late" && *held != "":
			out, *held = []string{line, *held}, ""
		case verb == "edit" && has:
			out = []string{strings.ReplaceAll(line, from, to)}
		}
	}
	return out
}

func exe(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
