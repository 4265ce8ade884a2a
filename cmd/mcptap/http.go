package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/labels"
	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
	"github.com/mcptap/mcptap/tap/text"
)

const httpLong = `Listens for clients, forwards to the server at URL, and records Streamable HTTP,
HTTP+SSE and WebSocket. It prints the URL to give to the client:

    $ mcptap http https://example.com/mcp
    http://127.0.0.1:41873/mcp

The tap covers the whole origin, so authorization and other paths also work through
it. It changes the Host of requests, the Location of redirects and the endpoint of
HTTP+SSE, and records what it changed.

Authorization, cookies, session ids and OAuth tokens are recorded as pseudonyms.

Ctrl-C and SIGTERM close the recording and exit with 130 or 143; a second signal ends
it immediately. HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.

Requests under an unknown host name are refused if the server is on another machine;
--name adds a name. With --header, requests from web pages are refused, except for those
of --allow-origin.`

const httpExample = `  mcptap http https://example.com/mcp
  mcptap http http://localhost:3001/sse --listen 127.0.0.1:8080 --label notes
  mcptap http https://example.com/mcp --header "Authorization: Bearer $TOKEN"`

type httpOptions struct {
	listen, label, queue, web string
	tap                       endpoint.Flags
	off, json                 bool
	redaction                 redaction
	otlp                      otlpOptions
}

func newHTTP(a *app) *cobra.Command {
	var o httpOptions
	cmd := &cobra.Command{
		Use:               "http URL [flags]",
		Short:             "Record a server on HTTP: forward from a local URL",
		Long:              httpLong,
		Example:           httpExample,
		Args:              takes(1, 1, "the URL of a server"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, a, args[0])
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *httpOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "")
	f.StringArrayVar(&o.tap.Names, "name", nil, "")
	f.StringVar(&o.label, "label", "", "")
	f.StringArrayVar(&o.tap.Headers, "header", nil, "")
	f.StringArrayVar(&o.tap.Origins, "allow-origin", nil, "")
	f.StringVar(&o.tap.CAFile, "ca-file", "", "")
	f.StringVar(&o.tap.TLSCert, "tls-cert", "", "")
	f.StringVar(&o.tap.TLSKey, "tls-key", "", "")
	f.BoolVar(&o.tap.RewriteAuth, "rewrite-auth", false, "")
	f.BoolVar(&o.tap.KeepSecrets, "keep-secrets", false, "")
	f.BoolVar(&o.off, "off", false, "")
	f.StringVar(&o.queue, "queue", "64MiB", "")
	addWeb(f, &o.web)
	o.otlp.addFlags(cmd)
	o.redaction.addFlags(f)
	settings.Describe(f)
	addJSON(cmd, &o.json)
}

func (o *httpOptions) run(cmd *cobra.Command, a *app, rawURL string) error {
	a.warnVariables()
	if err := settings.Read(a.env, "http", cmd.Flags()); err != nil {
		return err
	}
	queue, err := term.ParseSize(o.queue)
	if err != nil {
		return fmt.Errorf("--queue: %w", err)
	}
	if err := errors.Join(o.redaction.check(), o.otlp.check()); err != nil {
		return err
	}
	var once sync.Once // one line on stderr, whatever else fails
	warn := func(msg string) { once.Do(func() { a.say("not recording: " + msg) }) }
	cfg, err := o.tap.Config(rawURL)
	if err != nil {
		return err
	}
	var rec lateRecorder
	cfg.Recorder, cfg.Warn = &rec, warn
	t, err := o.open(cfg)
	if err != nil {
		return err
	}
	// Garbage is mostly short-lived, so collecting it rarely saves work. The limit bounds
	// the tap without its queue.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(httpHeapLimit)
	header := o.redaction.header(o.recordingHeader(cfg))
	recording := o.record(a, header, queue, warn)
	flush := func() {}
	if rec.Recorder = new(tap.Discard); recording != nil {
		rec.Recorder, flush = o.redaction.recorder(recording)
		rec.Recorder = endpoint.Masked(cfg, rec.Recorder)
		header = recording.Header()
	}
	watch := &endpoint.Watch{Recorder: rec.Recorder, Say: a.say}
	rec.Recorder = watch
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endSignals()...)
	err = o.announce(a, t, header, recording)
	if err == nil {
		if recording != nil {
			a.startReaders(o.web, &o.otlp, recording.Path())
		}
		err = serveHTTP(cmd.Context(), t, signals)
	} else {
		err = errors.Join(err, t.Close())
	}
	watch.Finish()
	if flush(); recording != nil {
		recording.Close()
	}
	return err
}

// httpHeapLimit is like heapLimit, with room for connections.
const httpHeapLimit = 128 << 20

// A lateRecorder gets its recorder once the tap listens, so that a tap that cannot listen
// leaves no recording.
type lateRecorder struct{ tap.Recorder }

// open listens.
func (o *httpOptions) open(cfg streamable.Config) (*streamable.Tap, error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, endpoint.ListenError("--listen", o.listen, err)
	}
	cfg.Listener, cfg.Listen = listener, o.listen
	t, err := streamable.New(cfg)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return t, nil
}

// recordingHeader returns the header of the recording. It holds only the origin of the
// URL, because the rest may be secret.
func (o *httpOptions) recordingHeader(cfg streamable.Config) tap.Header {
	label := o.label
	if label == "" {
		label = labels.ForHost(cfg.Upstream)
	}
	return tap.Header{
		Label: label, Transport: "http", Upstream: cfg.Upstream.Scheme + "://" + cfg.Upstream.Host,
		Program:  "mcptap " + programVersion(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// record opens the recording. It returns nil with --off, or without a data directory.
func (o *httpOptions) record(a *app, h tap.Header, queue int64, warn func(string)) *store.Recorder {
	if o.off {
		return nil
	}
	dir, err := a.dataDir()
	if err != nil {
		warn(err.Error())
		a.hintFor(err)
		return nil
	}
	return store.Create(dir, h, store.Options{Queue: queue, Warn: func(err error) { warn(err.Error()) }})
}

// jsonListening is the line that `http --json` prints. The names are stable.
type jsonListening struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "listening"
	URL      string `json:"url"`
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
	Label    string `json:"label"`
	// ID and Path are the recording's, absent with --off.
	ID   string `json:"id,omitempty"`
	Path string `json:"path,omitempty"`
}

// announce prints the URL to use, what is recorded, how to stop, and the consequences of
// the listening address.
func (o *httpOptions) announce(a *app, t *streamable.Tap, h tap.Header, rec *store.Recorder) error {
	o.explain(a, t)
	if o.json {
		return o.announceJSON(a, t, h, rec)
	}
	a.say(fmt.Sprintf("connect the client to %s in place of the server's URL", t.URL()))
	if rec != nil {
		a.say(fmt.Sprintf("recording %s; `mcptap show -f %s --calls%s` follows it, Ctrl-C stops", h.ID, h.ID, a.dirArg()))
	} else {
		a.say("not recording; Ctrl-C stops")
	}
	_, err := fmt.Fprintln(a.stdout, t.URL())
	return err
}

// announceJSON prints the line of --json.
func (o *httpOptions) announceJSON(a *app, t *streamable.Tap, h tap.Header, rec *store.Recorder) error {
	line := jsonListening{
		V: text.Version, Type: "listening", URL: t.URL(), Listen: t.Addr().String(), Upstream: h.Upstream, Label: h.Label,
	}
	if rec != nil {
		line.ID, line.Path = h.ID, rec.Path()
	}
	return term.WriteJSON(a.stdout, line)
}

// serveHTTP serves until a signal arrives. A second one ends the process immediately.
func serveHTTP(ctx context.Context, t *streamable.Tap, signals <-chan os.Signal) error {
	served := make(chan error, 1)
	go func() { served <- t.Serve() }()
	var err error
	select {
	case err = <-served:
		if err != nil {
			err = fmt.Errorf("listening on %s: %w", t.Addr(), err)
		}
	case s := <-signals:
		err = exitCode(128 + int(s.(syscall.Signal)))
	case <-ctx.Done():
		err = ctx.Err()
	}
	afterEcho(func() { signal.Reset(append(endSignals(), os.Interrupt)...) })
	if closed := t.Close(); err == nil {
		err = closed
	}
	return err
}

// explain prints the consequences if other machines can reach the tap.
func (o *httpOptions) explain(a *app, t *streamable.Tap) {
	tcp, ok := t.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsLoopback() {
		return
	}
	a.say(fmt.Sprintf("listening on %s, which other machines may reach: they can use the server, with the header fields that you add, and are recorded", t.Addr()))
	if o.tap.TLSCert == "" {
		a.say("their traffic, tokens included, is not encrypted; use --tls-cert and --tls-key")
	}
	if len(o.tap.Names) == 0 {
		a.say("hint: clients must use an IP address, or a name given by --name")
	}
}
