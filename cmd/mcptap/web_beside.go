package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

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
	p, err := startBeside("web", "--until-eof", "--listen", listen, "--dir", dir, "--", path)
	if err != nil {
		return "", err
	}
	defer p.said.Close()
	line, err := bufio.NewReader(p.said).ReadString('\n')
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "http://") {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%s", strings.TrimPrefix(line, "mcptap: "))
		}
		return "", err
	}
	return line, nil
}
