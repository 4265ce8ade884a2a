// Package endpoint parses user input about HTTP endpoints: URLs, header fields, addresses and
// certificates. It also connects to a live server at a URL, through a tap.
package endpoint

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
	"syscall"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/streamable"
)

// Flags are the flags of a tap in front of a server at a URL.
type Flags struct {
	Names, Headers, Origins []string
	CAFile, TLSCert, TLSKey string
	RewriteAuth             bool
	KeepSecrets             bool
}

// ParseURL parses the URL of the server. Its errors do not repeat a password.
func ParseURL(raw string) (*url.URL, error) {
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
		u.Fragment, u.RawFragment = "", "" // a fragment is never sent
		return u, toASCII(u)
	case "ws", "wss":
		scheme := "http" + strings.TrimPrefix(u.Scheme, "ws")
		return nil, hint.With(fmt.Errorf("invalid server URL: the scheme is %s", u.Scheme),
			"WebSocket works too: use "+scheme+":// here, and ws:// in the client's URL")
	}
	err = fmt.Errorf("invalid server URL %s: the scheme is neither http nor https", term.Quote(u.Redacted()))
	if guess, gerr := url.Parse("http://" + raw); gerr == nil && guess.Host != "" && guess.User == nil && !strings.Contains(raw, "://") {
		return nil, hint.With(err, "did you mean http://"+raw+"?")
	}
	return nil, err
}

// toASCII converts an international host name to its form in the DNS, such as xn--bcher-kva.example.
// Package net/http applies the rules only when it writes a request, and does not change the case.
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

// ParseHeaders parses the fields of a flag, such as "Name: value". Its errors do not repeat values,
// which are usually secrets.
func ParseHeaders(flag string, list []string) (fields [][2]string, err error) {
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

// Config returns the configuration of the tap for a URL and the flags.
func (f *Flags) Config(rawURL string) (streamable.Config, error) {
	cfg := streamable.Config{Names: f.Names, AllowOrigins: f.Origins, RewriteAuth: f.RewriteAuth, KeepSecrets: f.KeepSecrets}
	var err error
	if cfg.Upstream, err = ParseURL(rawURL); err != nil {
		return cfg, err
	}
	if cfg.Header, err = ParseHeaders("--header", f.Headers); err != nil {
		return cfg, err
	}
	if cfg.ClientTLS, err = f.clientTLS(); err != nil {
		return cfg, err
	}
	if cfg.ServerTLS, err = f.serverTLS(); err != nil {
		return cfg, err
	}
	// Like other programs, http.ProxyFromEnvironment bypasses loopback addresses, and reads the
	// variables in either case.
	cfg.Proxy = func(u *url.URL) (*url.URL, error) { return http.ProxyFromEnvironment(&http.Request{URL: u}) }
	return cfg, nil
}

// clientTLS returns the configuration for an https upstream: the system roots and
// --ca-file.
func (f *Flags) clientTLS() (*tls.Config, error) {
	if f.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(f.CAFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca-file: no PEM certificate in %s", f.CAFile)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// serverTLS returns the configuration for the tap's own listener, or nil without TLS.
func (f *Flags) serverTLS() (*tls.Config, error) {
	switch {
	case f.TLSCert == "" && f.TLSKey == "":
		return nil, nil
	case f.TLSCert == "" || f.TLSKey == "":
		return nil, errors.New("--tls-cert and --tls-key must be used together")
	}
	cert, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}}, nil
}

// CheckAddress checks an address to listen on.
func CheckAddress(value string) error {
	_, _, err := net.SplitHostPort(value)
	if err != nil {
		err = hint.With(fmt.Errorf("%s: %w", term.Quote(value), addressError(err)), addressHint)
	}
	return err
}

// addressError returns the cause of an address error, without the address.
func addressError(err error) error {
	var wrong *net.AddrError
	if errors.As(err, &wrong) {
		return errors.New(wrong.Err)
	}
	return err
}

// ListenError returns the error for a flag whose address cannot be listened on.
func ListenError(flag, address string, err error) error {
	advice := addressHint
	if errors.Is(err, syscall.EADDRINUSE) {
		advice = "another program uses this port; port 0 picks a free one"
	}
	return hint.With(fmt.Errorf("%s %s: %w", flag, term.Quote(address), addressError(err)), advice)
}

// Reachable returns the host and port by which this machine reaches an address.
func Reachable(addr net.Addr) string {
	host := addr.String()
	if h, port, err := net.SplitHostPort(host); err == nil {
		if ip := net.ParseIP(h); ip != nil && ip.IsUnspecified() {
			return net.JoinHostPort("127.0.0.1", port)
		}
	}
	return host
}

const addressHint = "use an address and a port, such as 127.0.0.1:8080; port 0 picks a free port"
