package streamable

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// dialTime is the time limit for connecting to the server, including TLS. There is no limit
// for the traffic.
const dialTime = 30 * time.Second

// alpn is the only protocol that is offered to either side, and that the tap can read.
var alpn = []string{"http/1.1"}

// dial connects to the upstream, through a proxy if there is one.
func (t *Tap) dial(ctx context.Context) (wire, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	target := net.JoinHostPort(t.hosts.upstream.host, t.hosts.upstream.port)
	var proxy *url.URL
	if t.proxy != nil {
		var err error
		if proxy, err = t.proxy(t.upstream); err != nil {
			// The error contains the setting, which may have a password.
			return wire{}, errors.New("the proxy setting (HTTP_PROXY, HTTPS_PROXY) is invalid")
		}
	}
	w, err := t.dialFirst(ctx, proxy, target)
	if err != nil {
		return wire{}, err
	}
	if t.hosts.upstream.scheme == "https" {
		w = w.wrapped(tls.Client, t.clientTLS)
		if err := w.handshake(ctx); err != nil {
			w.finish()
			return wire{}, tlsError(err)
		}
	}
	return w, nil
}

// tlsError explains why a TLS handshake failed.
func tlsError(err error) error {
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return errors.New("its certificate is signed by an unknown authority (trust it with --ca-file)")
	case errors.As(err, &plain) && plain.Msg == "first record does not look like a TLS handshake":
		return errors.New("it does not speak TLS (use http:// in its URL)")
	}
	return fmt.Errorf("TLS: %s", strings.TrimPrefix(err.Error(), "tls: "))
}

// dialFirst connects to target, directly or through a proxy.
func (t *Tap) dialFirst(ctx context.Context, proxy *url.URL, target string) (wire, error) {
	var d net.Dialer
	if proxy == nil {
		c, err := d.DialContext(ctx, "tcp", target)
		return wire{Conn: c, socket: c}, err
	}
	if proxy.Scheme != "http" && proxy.Scheme != "https" {
		return wire{}, fmt.Errorf("%s proxies are not supported, only http and https", proxy.Scheme)
	}
	at := originOf(proxy)
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(at.host, at.port))
	if err != nil {
		return wire{}, fmt.Errorf("the proxy: %w", err)
	}
	w := wire{Conn: c, socket: c}
	stop := context.AfterFunc(ctx, w.finish)
	defer stop()
	if proxy.Scheme == "https" {
		w = w.wrapped(tls.Client, tlsFor(t.clientTLS, at.host))
	}
	if err := connectThrough(w, proxy.User, target); err != nil {
		w.finish()
		return wire{}, fmt.Errorf("the proxy %s: %w", at, err)
	}
	return w, nil
}

// maxProxyHead is the maximum size of the response head of a proxy, in bytes.
const maxProxyHead = 64 << 10

// connectThrough requests a tunnel to target from a proxy (RFC 9110, 9.3.6).
func connectThrough(w wire, user *url.Userinfo, target string) error {
	ask := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"
	if user != nil {
		password, _ := user.Password()
		ask += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := w.Write([]byte(ask + "\r\n")); err != nil {
		return err
	}
	// Byte by byte, as the bytes after the head are those of the server.
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err := w.Read(one); err != nil {
			return err
		}
		if head = append(head, one[0]); len(head) > maxProxyHead {
			return errors.New("its response is too long")
		}
	}
	h := parseHead(head)
	line, ok := parseStatusLine(h.first)
	if !ok || line.status < 200 || line.status > 299 {
		return fmt.Errorf("it refused: %s", strings.TrimSpace(h.first))
	}
	return nil
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}
