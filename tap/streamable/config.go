package streamable

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// Config says what to stand in front of, and where.
type Config struct {
	// Upstream is the URL of the server: http or https, with the path and the
	// query that a client would use. The tap stands in front of its whole
	// origin.
	Upstream *url.URL
	// Listen is the address to listen on; "127.0.0.1:0" if it is empty. With
	// Listener it only says which host the person named.
	Listen string
	// Listener, if set, is used instead of listening on Listen. The tap closes
	// it.
	Listener net.Listener
	// Names are other names of the tap: hosts, with a port where only that one
	// is meant. A request to one of them is sent on in the upstream's name.
	Names []string
	// Recorder takes what crosses, secrets included. Nil records nothing. It is not
	// used any more when Close or Shutdown has returned.
	Recorder tap.Recorder
	// ClientTLS is for the connections to an https upstream, and ServerTLS, if
	// set, makes the tap listen with TLS. Protocols and the server's name are
	// set by the tap.
	ClientTLS, ServerTLS *tls.Config
	// Proxy, if set, returns the proxy through which the URL is reached, nil
	// for none. A proxy is asked for a tunnel, for http upstreams too.
	Proxy func(*url.URL) (*url.URL, error)
	// Header has fields that are added to each request, names and values. The
	// values are not recorded. With it a request of a web page is refused, unless
	// its origin is the tap's or one of AllowOrigins: otherwise any page that the
	// client's browser shows could use what is added, such as a credential.
	Header [][2]string
	// AllowOrigins are the origins of web pages, such as http://localhost:6274, whose
	// requests are taken although Header adds something.
	AllowOrigins []string
	// RewriteAuth puts the tap's origin in the place of the upstream's in what
	// describes a protected resource (RFC 9728), so that a client which
	// compares it with the URL that it uses is content.
	RewriteAuth bool
	// KeepSecrets reports that the Recorder may have secrets: bytes that cannot be
	// read as HTTP are recorded then, otherwise they are counted.
	KeepSecrets bool
	// Warn, if set, is told in words for a person what is wrong with the
	// recording. It may be called from several goroutines at once.
	Warn func(string)
}

// framingFields are those that a person cannot add to requests: they say where
// a request ends and what the connection is.
var framingFields = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "TE", "Expect"}

// checkUpstream returns the upstream's origin.
func (c *Config) checkUpstream() (origin, error) {
	u := c.Upstream
	switch {
	case u == nil:
		return origin{}, errors.New("no URL of a server was given")
	case u.Scheme != "http" && u.Scheme != "https":
		return origin{}, fmt.Errorf("the server's URL %s begins with neither http:// nor https://", u.Redacted())
	case u.Hostname() == "":
		return origin{}, fmt.Errorf("the server's URL %s has no host", u.Redacted())
	case u.Port() != "" && !isPort(u.Port()):
		return origin{}, fmt.Errorf("the server's URL %s has a port that is none", u.Redacted())
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

// extra returns the lines for Header, and their names.
func (c *Config) extra() (lines string, names []string, err error) {
	for _, f := range c.Header {
		name, value := f[0], f[1]
		if !isToken(name) {
			return "", nil, fmt.Errorf("%q is no name of a header field", name)
		}
		for _, banned := range framingFields {
			if strings.EqualFold(name, banned) {
				return "", nil, fmt.Errorf("the header field %s cannot be added", name)
			}
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return "", nil, fmt.Errorf("the value for the header field %s has a line end in it", name)
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
	addr := c.Listen
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return net.Listen("tcp", addr)
}

// names settles what the tap is called, now that it listens.
func (c *Config) names(upstream origin, addr net.Addr) hosts {
	h := hosts{upstream: upstream, more: c.Names, own: origin{scheme: "http"}}
	if c.ServerTLS != nil {
		h.own.scheme = "https"
	}
	given, _, err := net.SplitHostPort(c.Listen)
	if err == nil {
		h.given = strings.ToLower(given)
	}
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
	h.ownURL, h.upstreamURL, h.upstreamName = h.own.String(), upstream.String(), upstream.authority()
	return h
}

// tlsFor returns conf, or an empty one, that offers HTTP/1.1 alone.
func tlsFor(conf *tls.Config, host string) *tls.Config {
	if conf == nil {
		conf = new(tls.Config)
	}
	conf = conf.Clone()
	conf.NextProtos = alpn
	if host != "" {
		conf.ServerName = host
	}
	return conf
}
