package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/export/otlp"
	"github.com/mcptap/mcptap/internal/beside"
	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/settings"
)

// startReaders starts the processes that read a recording while it is written: the viewer
// and the trace sender. It returns immediately.
func (a *app) startReaders(web string, traces *otlpOptions, path string) {
	if web != "" {
		a.openViewer(web, path)
	}
	if traces.to != nil {
		a.sendTraces(traces, path)
	}
}

// openViewer starts the viewer on a recording, which may not exist yet, and prints its
// URL on stderr. It returns immediately. The viewer exits when the tap has exited and no
// page is open.
func (a *app) openViewer(listen, path string) {
	go func() {
		url, err := beside.StartViewer(listen, filepath.Dir(path), path)
		if err != nil {
			a.say("no viewer: " + err.Error())
			return
		}
		a.say("watch it at " + url)
	}()
}

// otlpOptions says where a tap sends its spans.
type otlpOptions struct {
	url     string
	headers []string

	to     *url.URL // nil if unset
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

// check parses the URL and the fields. Its errors do not repeat them, because they may
// be secrets.
func (o *otlpOptions) check() error {
	o.to, o.header = nil, http.Header{}
	if o.url == "" {
		return nil
	}
	if err := settings.CheckCollector(o.url); err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	fields, err := endpoint.ParseHeaders("--otlp-header", o.headers)
	if err != nil {
		return err
	}
	for _, f := range fields {
		o.header.Add(f[0], f[1])
	}
	o.to, err = otlp.TracesURL(o.url)
	return err
}

// sendTraces starts the process that sends the calls of a recording, which may not exist
// yet. It returns immediately, and reports the first problem on stderr.
func (a *app) sendTraces(o *otlpOptions, path string) {
	go func() {
		if err := beside.SendTraces(o.to, o.header, path, a.say); err != nil {
			a.say("no traces: " + err.Error())
		}
	}()
}

// newSendOTLP returns the command that a tap runs for --otlp.
func newSendOTLP(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "send-otlp FILE", Short: "Send the calls of a recording that is being made", Hidden: true,
		Args:              takes(1, 1, "the file of a recording"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			return beside.Send(a.stdin, args[0], programVersion(), a.env("OTEL_RESOURCE_ATTRIBUTES"), a.say)
		},
	}
}
