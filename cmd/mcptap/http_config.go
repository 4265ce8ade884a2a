package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap/streamable"
)

// config makes of URL and flags what the tap wants.
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
	// http.ProxyFromEnvironment is what other programs do: it spares loopback
	// addresses, and reads the names of the variables in either case.
	cfg.Proxy = func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) }
	return cfg, nil
}

// parseUpstream reads the server's URL. A password in it is not repeated.
func parseUpstream(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong):
		if guess, gerr := url.Parse("http://" + raw); gerr == nil && guess.Host != "" && guess.User == nil && !strings.Contains(raw, "://") {
			return nil, withHint(fmt.Errorf("invalid URL of the server %s: it has no http:// or https://", quote(raw)), "did you mean http://"+raw+"?")
		}
		return nil, withHint(fmt.Errorf("invalid URL of the server: %w", wrong.Err), "a URL begins with http:// or https://, such as http://127.0.0.1:3001/mcp")
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
		return nil, withHint(fmt.Errorf("the server's URL begins with %s://", u.Scheme),
			"WebSockets pass too: begin it with "+scheme+":// here, and the URL for the client with ws://")
	}
	err = fmt.Errorf("the server's URL %s begins with neither http:// nor https://", quote(u.Redacted()))
	if guess, gerr := url.Parse("http://" + raw); gerr == nil && guess.Host != "" && guess.User == nil && !strings.Contains(raw, "://") {
		return nil, withHint(err, "did you mean http://"+raw+"?")
	}
	return nil, err
}

// toASCII gives a host in letters of the world the name that the DNS and servers
// know it by, such as xn--bcher-kva.example. Package net/http has the rules and
// shows them, but for the case of letters, only in what it writes.
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
		return fmt.Errorf("the host of the server's URL %s is no name that the DNS can have", quote(u.Redacted()))
	}
	return nil
}

// parseHeaders reads the fields of a flag, such as "Name: value". A value is not
// repeated: it is a secret as a rule.
func parseHeaders(flag string, list []string) (fields [][2]string, err error) {
	for i, h := range list {
		name, value, ok := strings.Cut(strings.TrimRight(h, "\r\n"), ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, withHint(fmt.Errorf("%s: the %s has no name and colon before its value", flag, ordinal(i+1)), flag+" 'Name: value'")
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

// clientTLS is for an https upstream: what the system trusts, and --ca-file.
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
		return nil, fmt.Errorf("--ca-file: there is no certificate in PEM in %s", o.caFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// serverTLS is for the tap's own side, nil where it listens without.
func (o *httpOptions) serverTLS() (*tls.Config, error) {
	switch {
	case o.tlsCert == "" && o.tlsKey == "":
		return nil, nil
	case o.tlsCert == "" || o.tlsKey == "":
		return nil, errors.New("--tls-cert and --tls-key go together")
	}
	cert, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}, nil
}

// labelForHost makes a recording's name from the server's host. What else is in
// its URL may be a secret.
func labelForHost(u *url.URL) string {
	label := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" {
		label += ":" + port
	}
	if len(label) > maxLabel {
		label = strings.ToValidUTF8(label[:maxLabel], "")
	}
	return label
}

// explain says what it means that other machines reach the tap.
func (o *httpOptions) explain(a *app, t *streamable.Tap) {
	tcp, ok := t.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsLoopback() {
		return
	}
	a.say(fmt.Sprintf("listening on %s, where other machines may reach it: whoever does can use the server through it, with the header fields that you add, and is recorded", t.Addr()))
	if o.tlsCert == "" {
		a.say("what they send, tokens too, is not encrypted on its way here: --tls-cert and --tls-key change that")
	}
	if len(o.names) == 0 {
		a.say("hint: they must use its IP address, or a name that you tell it with --name")
	}
}
