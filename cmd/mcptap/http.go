package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/labels"
	"github.com/mcptap/mcptap/internal/term"
	redacting "github.com/mcptap/mcptap/redact/record"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
	"github.com/mcptap/mcptap/tap/text"
)

const httpLong = `Listens for clients, forwards to the server at URL, and records Streamable HTTP,
HTTP+SSE and WebSocket. It prints the URL to give to the client:

    $ mcptap http https://example.com/mcp
    http://127.0.0.1:41873/mcp

The tap stands before the whole origin, so that authorization and other paths work
through it. It changes the Host of requests, the Location of redirects and the endpoint
of HTTP+SSE, and records what it changed.

Authorization, cookies, session ids and OAuth tokens are recorded as pseudonyms.

Ctrl-C and SIGTERM close the recording and exit with 130 or 143; a second signal ends
it at once. HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.

Requests under an unknown host name are refused if the server is on another machine;
--name adds a name. With --header, requests from web pages are refused, except for those
of --allow-origin.`

const httpExample = `  mcptap http https://example.com/mcp
  mcptap http http://localhost:3001/sse --listen 127.0.0.1:8080 --label notes
  mcptap http https://example.com/mcp --header "Authorization: Bearer $TOKEN"`

type httpOptions struct {
	listen, label, queue, web   string
	names, headers, origins     []string
	caFile, tlsCert, tlsKey     string
	off, rewriteAuth, keepsOpen bool
	json                        bool
	redaction                   redaction
	otlp                        otlpOptions
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
	f.StringArrayVar(&o.names, "name", nil, "")
	f.StringVar(&o.label, "label", "", "")
	f.StringArrayVar(&o.headers, "header", nil, "")
	f.StringArrayVar(&o.origins, "allow-origin", nil, "")
	f.StringVar(&o.caFile, "ca-file", "", "")
	f.StringVar(&o.tlsCert, "tls-cert", "", "")
	f.StringVar(&o.tlsKey, "tls-key", "", "")
	f.BoolVar(&o.rewriteAuth, "rewrite-auth", false, "")
	f.BoolVar(&o.keepsOpen, "keep-secrets", false, "")
	f.BoolVar(&o.off, "off", false, "")
	f.StringVar(&o.queue, "queue", "64MiB", "")
	addWeb(f, &o.web)
	o.otlp.addFlags(cmd)
	o.redaction.addFlags(f)
	describeSettings(f)
	addJSON(cmd, &o.json)
}

func (o *httpOptions) run(cmd *cobra.Command, a *app, rawURL string) error {
	a.warnVariables()
	if err := readSettings(a.env, "http", cmd.Flags()); err != nil {
		return err
	}
	queue, err := term.ParseSize(o.queue)
	if err != nil {
		return fmt.Errorf("--queue: %w", err)
	}
	if err := errors.Join(o.redaction.check(), o.otlp.check()); err != nil {
		return err
	}
	var once sync.Once // one word on stderr, whatever else fails
	warn := func(msg string) { once.Do(func() { a.say("not recording: " + msg) }) }
	cfg, err := o.config(rawURL)
	if err != nil {
		return err
	}
	var rec recorderToBe
	cfg.Recorder, cfg.Warn = &rec, warn
	t, err := o.open(cfg)
	if err != nil {
		return err
	}
	// Garbage is mostly short-lived, so collecting rarely saves work. The limit keeps
	// the tap small, without its queue.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(httpHeapLimit)
	header := o.redaction.header(o.recordingHeader(cfg))
	recording := o.record(a, header, queue, warn)
	flush := func() {}
	if rec.Recorder = new(tap.Discard); recording != nil {
		rec.Recorder, flush = o.redaction.recorder(recording)
		rec.Recorder = maskSecrets(cfg, rec.Recorder)
		header = recording.Header()
	}
	watch := &reachWatch{Recorder: rec.Recorder, say: a.say}
	rec.Recorder = watch
	err = o.announce(a, t, header, recording)
	if err == nil {
		if recording != nil {
			a.startReaders(o.web, &o.otlp, recording.Path())
		}
		err = serveHTTP(cmd.Context(), t)
	} else {
		err = errors.Join(err, t.Close())
	}
	watch.finish()
	if flush(); recording != nil {
		recording.Close()
	}
	return err
}

// httpHeapLimit is like heapLimit, with room for connections.
const httpHeapLimit = 128 << 20

// A recorderToBe is set after the tap listens, so that a tap that cannot listen leaves
// no recording.
type recorderToBe struct{ tap.Recorder }

// open listens.
func (o *httpOptions) open(cfg streamable.Config) (*streamable.Tap, error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, listenError("--listen", o.listen, err)
	}
	cfg.Listener, cfg.Listen = listener, o.listen
	t, err := streamable.New(cfg)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return t, nil
}

// maskSecrets returns a recorder that masks credentials, unless the user chose to keep
// them. The key of the pseudonyms is discarded.
func maskSecrets(cfg streamable.Config, rec tap.Recorder) tap.Recorder {
	if cfg.KeepSecrets {
		return rec
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return redacting.NewMasker(key, cfg.Header, rec)
}

// recordingHeader returns the header of the recording. It has only the origin of the
// URL: the rest may be a secret.
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

// jsonListening is the line of `http --json`. The names are stable.
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

// A reachWatch reports once that the server cannot be reached. It does so in a
// goroutine, because a write to stderr may block and traffic must not wait.
type reachWatch struct {
	tap.Recorder
	say     func(string)
	once    sync.Once
	writing sync.WaitGroup
}

// Event implements [tap.Recorder].
func (w *reachWatch) Event(exchange uint64, e tap.Event) {
	if e.Name == tap.EventDisconnect && e.By == "tap" && strings.Contains(e.Error, " could not be reached: ") {
		w.once.Do(func() { w.writing.Go(func() { w.say(e.Error) }) })
	}
	w.Recorder.Event(exchange, e)
}

// finish waits a limited time for the report to be written.
func (w *reachWatch) finish() {
	written := make(chan struct{})
	go func() {
		w.writing.Wait()
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(time.Second):
	}
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

// serveHTTP serves until a signal arrives. The next one ends the process at once.
func serveHTTP(ctx context.Context, t *streamable.Tap) error {
	ours := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ours = append(ours, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ours...)
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
	signal.Reset(append(ours, os.Interrupt)...)
	if closed := t.Close(); err == nil {
		err = closed
	}
	return err
}

// config returns the configuration of the tap for a URL and the flags.
func (o *httpOptions) config(rawURL string) (streamable.Config, error) {
	cfg := streamable.Config{Names: o.names, AllowOrigins: o.origins, RewriteAuth: o.rewriteAuth, KeepSecrets: o.keepsOpen}
	var err error
	if cfg.Upstream, err = parseUpstream(rawURL); err != nil {
		return cfg, err
	}
	if cfg.Header, err = parseHeaders("--header", o.headers); err != nil {
		return cfg, err
	}
	if cfg.ClientTLS, err = o.clientTLS(); err != nil {
		return cfg, err
	}
	if cfg.ServerTLS, err = o.serverTLS(); err != nil {
		return cfg, err
	}
	// http.ProxyFromEnvironment is what other programs use: it bypasses loopback
	// addresses, and reads the variables in either case.
	cfg.Proxy = func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) }
	return cfg, nil
}

// parseUpstream parses the URL of the server. Its errors do not repeat a password.
func parseUpstream(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong):
		if guess, gerr := url.Parse("http://" + raw); gerr == nil && guess.Host != "" && guess.User == nil && !strings.Contains(raw, "://") {
			return nil, hint.With(fmt.Errorf("invalid server URL %s: http:// or https:// is missing", term.Quote(raw)), "did you mean http://"+raw+"?")
		}
		return nil, hint.With(fmt.Errorf("invalid server URL: %w", wrong.Err), "use a URL such as http://127.0.0.1:3001/mcp")
	case err != nil:
		return nil, err
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch u.Scheme {
	case "http", "https":
		u.Fragment, u.RawFragment = "", "" // it is never sent
		return u, toASCII(u)
	case "ws", "wss":
		scheme := "http" + strings.TrimPrefix(u.Scheme, "ws")
		return nil, hint.With(fmt.Errorf("invalid server URL: the scheme is %s", u.Scheme),
			"WebSockets pass too: begin it with "+scheme+":// here, and the URL for the client with ws://")
	}
	err = fmt.Errorf("invalid server URL %s: the scheme is neither http nor https", term.Quote(u.Redacted()))
	if guess, gerr := url.Parse("http://" + raw); gerr == nil && guess.Host != "" && guess.User == nil && !strings.Contains(raw, "://") {
		return nil, hint.With(err, "did you mean http://"+raw+"?")
	}
	return nil, err
}

// toASCII converts an international host name to the form that the DNS uses, such as
// xn--bcher-kva.example. Package net/http applies the rules, except for case, only when
// it writes a request.
func toASCII(u *url.URL) error {
	if !strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	var head bytes.Buffer
	err := (&http.Request{URL: u, Host: strings.ToLower(u.Host)}).Write(&head)
	if err == nil {
		var sent *http.Request
		if sent, err = http.ReadRequest(bufio.NewReader(&head)); err == nil {
			u.Host = sent.Host
		}
	}
	if err != nil || strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return fmt.Errorf("invalid server URL %s: the host is not a valid DNS name", term.Quote(u.Redacted()))
	}
	return nil
}

// parseHeaders parses the fields of a flag, such as "Name: value". Its errors do not
// repeat a value, which is usually a secret.
func parseHeaders(flag string, list []string) (fields [][2]string, err error) {
	for i, h := range list {
		name, value, ok := strings.Cut(strings.TrimRight(h, "\r\n"), ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, hint.With(fmt.Errorf("%s: the %s field has no name and colon before its value", flag, ordinal(i+1)), flag+" 'Name: value'")
		}
		fields = append(fields, [2]string{name, strings.TrimSpace(value)})
	}
	return fields, nil
}

func ordinal(n int) string {
	words := []string{"first", "second", "third"}
	if n <= len(words) {
		return words[n-1]
	}
	return strconv.Itoa(n) + "th"
}

// clientTLS returns the configuration for an https upstream: the system roots, and
// --ca-file.
func (o *httpOptions) clientTLS() (*tls.Config, error) {
	if o.caFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.caFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca-file: no PEM certificate in %s", o.caFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// serverTLS returns the configuration for the tap's own listener, nil without TLS.
func (o *httpOptions) serverTLS() (*tls.Config, error) {
	switch {
	case o.tlsCert == "" && o.tlsKey == "":
		return nil, nil
	case o.tlsCert == "" || o.tlsKey == "":
		return nil, errors.New("--tls-cert and --tls-key must be used together")
	}
	cert, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}, nil
}

// explain prints the consequences if other machines can reach the tap.
func (o *httpOptions) explain(a *app, t *streamable.Tap) {
	tcp, ok := t.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsLoopback() {
		return
	}
	a.say(fmt.Sprintf("listening on %s, which other machines may reach: they can use the server, with the header fields that you add, and are recorded", t.Addr()))
	if o.tlsCert == "" {
		a.say("their traffic, tokens included, is not encrypted; use --tls-cert and --tls-key")
	}
	if len(o.names) == 0 {
		a.say("hint: clients must use an IP address, or a name given by --name")
	}
}
