package streamable

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// Config has the settings of a [Tap].
type Config struct {
	// Upstream is the URL of the server: http or https, with the path and the
	// query that a client would use. The tap forwards to its whole
	// origin.
	Upstream *url.URL
	// Listen is the address to listen on, "127.0.0.1:0" if empty. With
	// Listener set, it is only the host that the user named.
	Listen string
	// Listener, if set, is used instead of listening on Listen. The tap closes
	// it.
	Listener net.Listener
	// Names are additional names of the tap: hosts, with a port if only that one
	// is meant. Requests to one of them are forwarded with the name of the upstream.
	Names []string
	// Recorder records the traffic, including secrets. It may be nil. It is not
	// used after Close or Shutdown has returned.
	Recorder tap.Recorder
	// ClientTLS is used for connections to an https upstream. ServerTLS, if
	// set, makes the tap listen with TLS. Protocols and the server name are
	// set by the tap.
	ClientTLS, ServerTLS *tls.Config
	// Proxy, if set, returns the proxy for the URL, nil
	// for none. Proxies are used with CONNECT, also for http upstreams.
	Proxy func(*url.URL) (*url.URL, error)
	// Header has the names and values of fields that are added to each request. The
	// values are not recorded. With Header, requests of a web page are refused unless
	// its origin is that of the tap or in AllowOrigins. Otherwise any page that the
	// browser of the client shows could use the added fields, such as a credential.
	Header [][2]string
	// AllowOrigins are the origins of web pages, such as http://localhost:6274, whose
	// requests are accepted with Header.
	AllowOrigins []string
	// RewriteAuth replaces the origin of the upstream by that of the tap in
	// descriptions of a protected resource (RFC 9728), so that a client that
	// compares it with its URL accepts it.
	RewriteAuth bool
	// KeepSecrets reports that the Recorder may have secrets: bytes that cannot be
	// read as HTTP are recorded then, otherwise they are counted.
	KeepSecrets bool
	// Warn, if set, is called with a message for the user about problems of the
	// recording. It may be called concurrently.
	Warn func(string)
}

// framingFields are the fields that cannot be added to requests: they determine the end of
// a request and the use of the connection.
var framingFields = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "TE", "Expect"}

// checkUpstream returns the origin of the upstream.
func (c *Config) checkUpstream() (origin, error) {
	u := c.Upstream
	switch {
	case u == nil:
		return origin{}, errors.New("no server URL was given")
	case u.Scheme != "http" && u.Scheme != "https":
		return origin{}, fmt.Errorf("the server's URL %s begins with neither http:// nor https://", u.Redacted())
	case u.Hostname() == "":
		return origin{}, fmt.Errorf("the server's URL %s has no host", u.Redacted())
	case u.Port() != "" && !isPort(u.Port()):
		return origin{}, fmt.Errorf("the server's URL %s has an invalid port", u.Redacted())
	case u.User != nil:
		return origin{}, fmt.Errorf("the server's URL %s has a user in it: use a header instead", u.Redacted())
	}
	return originOf(u), nil
}

// isPort reports whether s is the number of a TCP port.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// extra returns the header lines for Header, and their names.
func (c *Config) extra() (lines string, names []string, err error) {
	for _, f := range c.Header {
		name, value := f[0], f[1]
		if !isToken(name) {
			return "", nil, fmt.Errorf("%q is not a valid name of a header field", name)
		}
		for _, banned := range framingFields {
			if strings.EqualFold(name, banned) {
				return "", nil, fmt.Errorf("the header field %s cannot be added", name)
			}
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return "", nil, fmt.Errorf("the value of the header field %s contains a line end", name)
		}
		lines += name + ": " + value + "\r\n"
		names = append(names, name)
	}
	return lines, names, nil
}

// listen opens the listener.
func (c *Config) listen() (net.Listener, error) {
	if c.Listener != nil {
		return c.Listener, nil
	}
	return net.Listen("tcp", cmp.Or(c.Listen, "127.0.0.1:0"))
}

// names determines the names of the tap, given its address.
func (c *Config) names(upstream origin, addr net.Addr) hosts {
	h := hosts{upstream: upstream, more: c.Names, own: origin{scheme: "http"}}
	if c.ServerTLS != nil {
		h.own.scheme = "https"
	}
	given, _, _ := net.SplitHostPort(c.Listen)
	h.given = strings.ToLower(given)
	h.own.host, h.own.port, _ = net.SplitHostPort(addr.String())
	if ip := net.ParseIP(h.own.host); ip.IsUnspecified() {
		h.own.host = "127.0.0.1"
		if net.ParseIP(h.given).IsUnspecified() {
			h.given = ""
		}
	}
	if h.given != "" {
		h.own.host = h.given
	}
	return h
}

// tlsFor returns a copy of conf, which may be nil, that offers only HTTP/1.1, for
// connections to host.
func tlsFor(conf *tls.Config, host string) *tls.Config {
	conf = cmp.Or(conf, new(tls.Config)).Clone()
	conf.NextProtos, conf.ServerName = alpn, host
	return conf
}
