package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/tap/text"
)

// mockHTTPOptions are the flags of serving HTTP.
type mockHTTPOptions struct {
	listen string
	names  []string
	cut    int // of --fault cut=N
	json   bool
}

func (o *mockHTTPOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "", "serve HTTP on this `address`, such as 127.0.0.1:0; port 0 picks a free port")
	f.StringArrayVar(&o.names, "name", nil, "with --listen, another `host` name of the mock (repeatable)")
	f.BoolVar(&o.json, "json", false, "with --listen, print the URLs as one line of JSON")
}

// check returns an error for invalid combinations of flags.
func (o *mockHTTPOptions) check() error {
	var flag string
	switch {
	case o.listen != "":
	case o.cut > 0:
		flag = "--fault cut=N"
	case len(o.names) > 0:
		flag = "--name"
	case o.json:
		flag = "--json"
	}
	if flag != "" {
		return hint.With(errors.New(flag+" requires HTTP"), "add --listen 127.0.0.1:0")
	}
	return nil
}

// jsonMockListening is the line of `mock --listen --json`. The names are stable.
type jsonMockListening struct {
	V      int    `json:"v"`
	Type   string `json:"type"` // "listening"
	URL    string `json:"url"`
	Listen string `json:"listen"`
	// EventsURL is for clients of HTTP+SSE, SocketURL for those of WebSocket.
	EventsURL string `json:"events_url,omitempty"`
	SocketURL string `json:"socket_url,omitempty"`
	Sessions  int    `json:"sessions"`
}

// bind listens, and adds to the options by which names clients may call the mock.
func (o *mockHTTPOptions) bind(a *app, opt *mock.ServerOptions) (net.Listener, error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, endpoint.ListenError("--listen", o.listen, err)
	}
	opt.Names = o.names
	if host, _, err := net.SplitHostPort(o.listen); err == nil && host != "" && net.ParseIP(host) == nil {
		opt.Names = append(opt.Names, host)
	}
	tcp, ok := listener.Addr().(*net.TCPAddr)
	opt.AnyAddress = !ok || !tcp.IP.IsLoopback()
	if opt.AnyAddress {
		gets := "what was recorded"
		if opt.Live != nil {
			gets += ", and what the server says"
		}
		a.say(fmt.Sprintf("listening on %s, which other machines may reach: they can read %s", listener.Addr(), gets))
	}
	return listener, nil
}

// serve serves a recording over HTTP until the context ends.
func (o *mockHTTPOptions) serve(ctx context.Context, a *app, rec *mock.Recording, opt mock.ServerOptions) error {
	listener, err := o.bind(a, &opt)
	if err != nil {
		return err
	}
	opt.Cut = o.cut
	server := mock.NewServer(rec, opt)
	host := endpoint.Reachable(listener.Addr())
	line := jsonMockListening{
		URL: "http://" + host + server.Recorded(), Listen: listener.Addr().String(), Sessions: len(rec.Scripts()),
		EventsURL: "http://" + host + server.EventPath(), SocketURL: "ws://" + host + server.SocketPath(),
	}
	if server.Recorded() == server.SocketPath() {
		line.URL = line.SocketURL
	}
	if err := o.announce(a, line); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := mock.Serve(ctx, listener, server); err != nil {
		return fmt.Errorf("listening on %s: %w", listener.Addr(), err)
	}
	return nil
}

// announce prints the URLs to use.
func (o *mockHTTPOptions) announce(a *app, line jsonMockListening) error {
	w := bufio.NewWriter(a.stdout)
	if !o.json {
		fmt.Fprintln(w, line.URL)
		return w.Flush()
	}
	line.V, line.Type = text.Version, "listening"
	return errors.Join(term.WriteJSON(w, line), w.Flush())
}
