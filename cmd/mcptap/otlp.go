package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/export/otlp"
)

// otlpOptions are where a tap's spans go.
type otlpOptions struct {
	url     string
	headers []string

	to     *url.URL // nil for nowhere
	header http.Header
}

func (o *otlpOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.url, "otlp", "", "")
	f.StringArrayVar(&o.headers, "otlp-header", nil, "")
	for _, name := range []string{"otlp", "otlp-header"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// check reads the URL and the fields. Its errors do not repeat them: they may be
// secrets.
func (o *otlpOptions) check() error {
	o.to, o.header = nil, http.Header{}
	if o.url == "" {
		return nil
	}
	if err := checkCollector(o.url); err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	fields, err := parseHeaders("--otlp-header", o.headers)
	if err != nil {
		return err
	}
	for _, f := range fields {
		o.header.Add(f[0], f[1])
	}
	o.to, err = otlp.TracesURL(o.url)
	return err
}

// An otlpTarget is the line of JSON on stdin of the process that sends: others may read
// arguments and environment.
type otlpTarget struct {
	URL    string      `json:"url"`
	Header http.Header `json:"header"`
}

// sendBeside starts the process that sends the calls of a recording, which may not
// exist yet. It returns at once. The first problem is reported on stderr.
func (a *app) sendBeside(o *otlpOptions, path string) {
	go func() {
		if err := o.send(path, a.say); err != nil {
			a.say("no traces: " + err.Error())
		}
	}()
}

// send starts the process, repeats its first line of output, and returns when it has
// ended.
func (o *otlpOptions) send(path string, say func(string)) error {
	settings, err := json.Marshal(otlpTarget{o.to.String(), o.header})
	if err != nil {
		return err
	}
	p, err := startBeside("send-otlp", "--", path)
	if err != nil {
		return err
	}
	defer p.said.Close()
	if _, err := p.stdin.Write(append(settings, '\n')); err != nil {
		return err
	}
	line, _ := bufio.NewReader(io.LimitReader(p.said, maxSaid)).ReadString('\n')
	if line = strings.TrimSpace(line); line != "" {
		say(strings.TrimPrefix(line, "mcptap: "))
	}
	_, _ = io.Copy(io.Discard, p.said)
	return nil
}

// maxSaid limits the line of the process that is repeated.
const maxSaid = 2 << 10
