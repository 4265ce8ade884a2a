package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// A viewer beside a tap is a process of its own, so that nothing it does can
// hold up the traffic: it has its own memory, and may crash.
//
// It gets none of the tap's own streams. stdout and stderr belong to the host,
// which may wait until the last process that has them is gone.

// addWeb adds the flag that starts the viewer, to a command that records.
func addWeb(f *pflag.FlagSet, web *string) {
	f.StringVar(web, "web", "", "show the recording in a browser while it is made, at this `address`; the URL is said on stderr")
	f.Lookup("web").NoOptDefVal = anyPort
}

// watchBeside starts the viewer on a recording, which may not be there yet, and
// says on stderr where it is. It returns at once. The viewer ends when the tap
// has, and nobody looks any more.
func (a *app) watchBeside(listen, path string) {
	go func() {
		url, err := startViewer(listen, filepath.Dir(path), path)
		if err != nil {
			a.say("no viewer: " + err.Error())
			return
		}
		a.say("watch it at " + url)
	}()
}

// startViewer starts the process and returns the URL of the page.
func startViewer(listen, dir, path string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, "web", "--until-eof", "--listen", listen, "--dir", dir, "--", path)
	// The other end of its stdin is open as long as this process lives, however
	// it ends.
	alive, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	said, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return "", err
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	go func() {
		_ = cmd.Wait()
		alive.Close()
	}()
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "http://") {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%s", strings.TrimPrefix(line, "mcptap: "))
		}
		return "", err
	}
	return line, nil
}
