package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
)

// serverTransports are the values of --transport.
var serverTransports = []string{"auto", "streamable", "sse", "websocket"}

// serverURLOptions are the flags for a live server at a URL.
type serverURLOptions struct {
	to, transport string
	http          httpOptions // --header and --ca-file
}

// addFlags adds the flags. usage is that of --to.
func (o *serverURLOptions) addFlags(cmd *cobra.Command, usage string) {
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", usage)
	f.StringVar(&o.transport, "transport", "auto", "transport of the server at the URL: `name` is auto, streamable, sse or websocket")
	f.StringArrayVar(&o.http.headers, "header", nil, "header field to add to each request, as `'Name: value'`; the value is not recorded")
	f.StringVar(&o.http.caFile, "ca-file", "", "PEM `file` of further certificates to trust")
	_ = cmd.RegisterFlagCompletionFunc("transport", cobra.FixedCompletions(serverTransports, cobra.ShellCompDirectiveNoFileComp))
}

// checkTransport reports a --transport that does not exist.
func (o *serverURLOptions) checkTransport() error {
	if slices.Contains(serverTransports, o.transport) {
		return nil
	}
	return hint.With(fmt.Errorf("--transport: unknown transport %s", term.Quote(o.transport)), strings.Join(serverTransports, ", "))
}

// config reads the flags, for a tap in front of the server.
func (o *serverURLOptions) config() (streamable.Config, error) {
	u, err := serverURL(o.to)
	if err != nil {
		return streamable.Config{}, err
	}
	o.to = u.Scheme + o.to[len(u.Scheme):] // in lower case
	at := o.to
	for _, ws := range []string{"ws://", "wss://"} { // WebSockets begin as HTTP
		if rest, ok := strings.CutPrefix(at, ws); ok {
			at = "http" + ws[2:] + rest
		}
	}
	if _, err := parseUpstream(at); err != nil {
		return streamable.Config{}, fmt.Errorf("--to: %w", err)
	}
	return o.http.config(at)
}

// serverURL reads the URL of a live server, of --to. A password in it is not repeated.
func serverURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	var wrong *url.Error
	if errors.As(err, &wrong) {
		if !strings.Contains(raw, "://") && !strings.Contains(raw, "@") {
			return nil, hint.With(fmt.Errorf("--to: invalid server URL %s", term.Quote(raw)), "did you mean http://"+safe.String(raw)+"?")
		}
		return nil, fmt.Errorf("--to: invalid server URL: %w", wrong.Err)
	}
	if u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return nil, hint.With(fmt.Errorf("--to: invalid server URL %s", term.Quote(u.Redacted())), "use http://, https://, ws:// or wss://")
	}
	return u, nil
}

// dial connects to the server through a tap that adds the header fields and records to
// rec. sse reports that the server may speak HTTP+SSE although its path does not end in
// /sse. The caller closes the tap.
func (o *serverURLOptions) dial(cfg streamable.Config, rec tap.Recorder, sse bool) (conn client.Conn, closeTap func() error, err error) {
	if cfg.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	watcher := &client.Watcher{Recorder: rec}
	cfg.Recorder = maskSecrets(cfg, watcher)
	t, err := streamable.New(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, cfg.Listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- t.Serve() }()
	return o.conn(t.URL(), watcher, sse), func() error { return errors.Join(t.Close(), <-served) }, nil
}

// conn chooses what is spoken over HTTP.
func (o *serverURLOptions) conn(tapURL string, watcher *client.Watcher, sse bool) client.Conn {
	kind := o.transport
	if kind == "auto" {
		u, _ := url.Parse(tapURL)
		switch {
		case strings.HasPrefix(o.to, "ws"):
			kind = "websocket"
		case sse || strings.HasSuffix(u.Path, "/sse"):
			kind = "sse"
		}
	}
	switch kind {
	case "websocket":
		return client.WebSocket("ws" + strings.TrimPrefix(tapURL, "http"))
	case "sse":
		return client.SSE(tapURL, watcher)
	}
	return client.HTTP(tapURL, watcher)
}
