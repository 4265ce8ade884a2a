package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// A Tap forwards the traffic of one server.
type Tap struct {
	rec       tap.Recorder
	warn      func(string)
	listener  net.Listener
	upstream  *url.URL
	proxy     func(*url.URL) (*url.URL, error)
	clientTLS *tls.Config
	serverTLS *tls.Config // nil without TLS
	hosts     hosts
	// extra has the lines that are added to each request head, and extraNames
	// their names. The values are never recorded.
	extra      string
	extraNames []string
	// origins are the origins of web pages that may use extra.
	origins     []string
	rewriteAuth bool
	// keepSecrets reports that bytes that are not HTTP, which may have credentials, are
	// recorded instead of counted.
	keepSecrets bool

	conns, exchanges atomic.Uint64 // the numbers of the last ones
	heads            atomic.Int64  // number of connections whose head is incomplete

	ctx    context.Context // done when the tap is closed
	cancel context.CancelFunc
	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
	work   sync.WaitGroup
}

// New returns a tap that listens but does not serve yet.
func New(cfg Config) (*Tap, error) {
	upstream, err := cfg.checkUpstream()
	if err != nil {
		return nil, err
	}
	extra, extraNames, err := cfg.extra()
	if err != nil {
		return nil, err
	}
	listener, err := cfg.listen()
	if err != nil {
		return nil, err
	}
	names := cfg.names(upstream, listener.Addr())
	if names.isSelf(listener.Addr()) {
		_ = listener.Close()
		return nil, fmt.Errorf("the server's URL %s is the tap's own address: give it that of the server", cfg.Upstream.Redacted())
	}
	t := &Tap{
		rec: tap.Guard(cfg.Recorder, cfg.Warn), warn: cfg.Warn, keepSecrets: cfg.KeepSecrets,
		listener: listener, upstream: cfg.Upstream, proxy: cfg.Proxy,
		clientTLS: tlsFor(cfg.ClientTLS, upstream.host),
		hosts:     names, extra: extra, extraNames: extraNames, origins: cfg.AllowOrigins,
		rewriteAuth: cfg.RewriteAuth,
		open:        map[*conn]struct{}{},
	}
	if cfg.ServerTLS != nil {
		t.serverTLS = tlsFor(cfg.ServerTLS, "")
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// URL returns the URL for the client: the origin of the tap with the path and query of the
// upstream.
func (t *Tap) URL() string {
	u := *t.upstream
	u.Scheme, u.Host = t.hosts.own.scheme, t.hosts.own.authority()
	return u.String()
}

// Addr returns the address that the tap listens on.
func (t *Tap) Addr() net.Addr { return t.listener.Addr() }

// Serve accepts connections until the tap is closed, which returns nil, or the listener
// fails.
func (t *Tap) Serve() error {
	t.rec.Event(0, tap.Event{Name: tap.EventStart, Transport: "http", Listen: t.Addr().String(),
		Upstream: t.hosts.upstream.String(), KeepsSecrets: t.keepSecrets})
	var pause time.Duration
	for {
		c, err := t.listener.Accept()
		switch {
		case err == nil:
			pause = 0
			t.start(c)
		case t.ctx.Err() != nil:
			return nil
		case !isShort(err):
			return err
		default: // for example too many open files, which may be temporary
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			select {
			case <-time.After(pause):
			case <-t.ctx.Done():
			}
		}
	}
}

// isShort reports whether an error of Accept is temporary.
func isShort(err error) bool {
	var n net.Error
	//lint:ignore SA1019 there is no replacement; net/http uses it too
	return errors.As(err, &n) && n.Temporary()
}

// start serves a connection.
func (t *Tap) start(c net.Conn) {
	k := t.newConn(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = c.Close()
		return
	}
	t.open[k] = struct{}{}
	t.work.Go(func() {
		k.serve()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, k)
	})
}

// Close ends the tap with all its connections. It returns when everything is recorded.
func (t *Tap) Close() error {
	t.cancel()
	err := t.listener.Close()
	t.mu.Lock()
	t.closed = true
	for k := range t.open {
		k.stop()
	}
	t.mu.Unlock()
	t.work.Wait()
	return err
}
