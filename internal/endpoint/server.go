package endpoint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/redact/record"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/streamable"
)

// Transports are the values of --transport.
var Transports = []string{"auto", "streamable", "sse", "websocket"}

// A Server holds the flags for a live server at a URL.
type Server struct {
	To, Transport string
	Flags         // --header and --ca-file
}

// CheckTransport returns an error for an unknown --transport.
func (o *Server) CheckTransport() error {
	if slices.Contains(Transports, o.Transport) {
		return nil
	}
	return hint.With(fmt.Errorf("--transport: unknown transport %s", term.Quote(o.Transport)), strings.Join(Transports, ", "))
}

// Config returns the configuration of a tap in front of the server.
func (o *Server) Config() (streamable.Config, error) {
	u, err := serverURL(o.To)
	if err != nil {
		return streamable.Config{}, err
	}
	o.To = u.Scheme + o.To[len(u.Scheme):] // normalize the scheme to lower case
	at := o.To
	for _, ws := range []string{"ws://", "wss://"} { // WebSocket starts as HTTP
		if rest, ok := strings.CutPrefix(at, ws); ok {
			at = "http" + ws[2:] + rest
		}
	}
	if _, err := ParseURL(at); err != nil {
		return streamable.Config{}, fmt.Errorf("--to: %w", err)
	}
	return o.Flags.Config(at)
}

// serverURL parses the URL of --to. Its errors do not repeat a password.
func serverURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	var wrong *url.Error
	if errors.As(err, &wrong) {
		if !strings.Contains(raw, "://") && !strings.Contains(raw, "@") {
			return nil, hint.With(fmt.Errorf("--to: invalid server URL %s", term.Quote(raw)), "did you mean http://"+escape.String(raw)+"?")
		}
		return nil, fmt.Errorf("--to: invalid server URL: %w", wrong.Err)
	}
	if u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return nil, hint.With(fmt.Errorf("--to: invalid server URL %s", term.Quote(u.Redacted())), "use http://, https://, ws:// or wss://")
	}
	return u, nil
}

// Dial connects to the server through a tap that adds the header fields and records to rec. sse
// reports that the server may use HTTP+SSE although its path does not end in /sse. The caller closes
// the tap.
func (o *Server) Dial(cfg streamable.Config, rec tap.Recorder, sse bool) (conn client.Conn, closeTap func() error, err error) {
	if cfg.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	watcher := &client.Watcher{Recorder: rec}
	cfg.Recorder = Masked(cfg, watcher)
	t, err := streamable.New(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, cfg.Listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- t.Serve() }()
	return o.conn(t.URL(), watcher, sse), func() error { return errors.Join(t.Close(), <-served) }, nil
}

// conn selects the transport over HTTP.
func (o *Server) conn(tapURL string, watcher *client.Watcher, sse bool) client.Conn {
	kind := o.Transport
	if kind == "auto" {
		u, _ := url.Parse(tapURL)
		switch {
		case strings.HasPrefix(o.To, "ws"):
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

// Masked returns a recorder that masks credentials, unless the user chose to keep them. The key of
// the pseudonyms is discarded.
func Masked(cfg streamable.Config, rec tap.Recorder) tap.Recorder {
	if cfg.KeepSecrets {
		return rec
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return record.NewMasker(key, cfg.Header, rec)
}

// A Watch reports once that the server cannot be reached. It does so in a goroutine, because a write
// to stderr may block and must not delay traffic.
type Watch struct {
	tap.Recorder
	Say     func(string)
	once    sync.Once
	writing sync.WaitGroup
}

// Event implements [tap.Recorder].
func (w *Watch) Event(exchange uint64, e tap.Event) {
	if e.Name == tap.EventDisconnect && e.By == "tap" && strings.Contains(e.Error, " could not be reached: ") {
		w.once.Do(func() { w.writing.Go(func() { w.Say(e.Error) }) })
	}
	w.Recorder.Event(exchange, e)
}

// Finish waits a limited time for the report to be written.
func (w *Watch) Finish() {
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
