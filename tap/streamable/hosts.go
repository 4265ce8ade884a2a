package streamable

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// An origin is a scheme, a host and a port, in lower case and with the default port
// filled in, so that origins can be compared.
type origin struct{ scheme, host, port string }

var defaultPorts = map[string]string{"http": "80", "https": "443"}

func originOf(u *url.URL) origin {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = defaultPorts[scheme]
	}
	return origin{scheme, strings.ToLower(u.Hostname()), port}
}

// String returns the origin as in a URL.
func (o origin) String() string { return o.scheme + "://" + o.authority() }

// authority returns the origin as in a Host header, without the default port.
func (o origin) authority() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port == defaultPorts[o.scheme] {
		return host
	}
	return host + ":" + o.port
}

// splitAuthority splits the value of a Host header. A missing port is empty.
func splitAuthority(s string) (host, port string) {
	u := url.URL{Host: strings.ToLower(s)}
	return u.Hostname(), u.Port()
}

// hosts decides about a request by its host name.
type hosts struct {
	// own is the origin of the tap, as it is printed.
	own origin
	// given is the host in the listen address of the user.
	given string
	// more are other names of the tap, with or without a port.
	more     []string
	upstream origin
}

// isOwn reports whether a Host names the tap. It must then be replaced by that of the
// upstream. local is the IP address that the client connected to.
func (h *hosts) isOwn(host, local string) bool {
	name, port := splitAuthority(host)
	if name == "" {
		return false
	}
	for _, more := range h.more {
		n, p := splitAuthority(more)
		if name == n && (p == "" || p == port) {
			return true
		}
	}
	if name == h.given && port == "" {
		return true
	}
	if port == "" {
		port = defaultPorts[h.own.scheme]
	}
	if port != h.own.port {
		return false
	}
	switch name {
	case h.own.host, h.given, local, "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

// isSelf reports whether the upstream is the tap itself, which would be an endless
// loop.
func (h *hosts) isSelf(addr net.Addr) bool {
	if h.isOwn(net.JoinHostPort(h.upstream.host, h.upstream.port), "") && h.upstream.port == h.own.port {
		return true
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || strconv.Itoa(tcp.Port) != h.upstream.port || !tcp.IP.IsUnspecified() {
		return false
	}
	ip := net.ParseIP(h.upstream.host)
	addrs, err := net.InterfaceAddrs()
	return ip != nil && err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(ip)
	})
}

// forwardsForeign reports whether a request with another Host may pass. To a
// loopback upstream it passes unchanged, as such servers defend themselves
// against DNS rebinding and need the foreign name. A
// remote upstream would not accept it, and only a page that
// abuses the browser of the client would send it.
func (h *hosts) forwardsForeign() bool {
	ip := net.ParseIP(h.upstream.host)
	return ip.IsLoopback() || h.upstream.host == "localhost" || strings.HasSuffix(h.upstream.host, ".localhost")
}

// absoluteTarget splits a request target in absolute form (RFC 9112,
// 3.2.2) into scheme and host, and the rest.
func absoluteTarget(target string) (authority, rest string, ok bool) {
	scheme, after, ok := strings.Cut(target, "://")
	if !ok || !isToken(scheme) {
		return "", "", false
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	return after[:end], after[end:], true
}

// swapOrigin returns raw, an absolute URL, with its origin replaced by to
// if it is from. The rest is kept byte for byte. A URL
// without a scheme, such as //host/path, has the scheme of from.
func swapOrigin(raw string, from origin, to string) (string, bool) {
	full := raw
	if strings.HasPrefix(raw, "//") {
		full = from.scheme + ":" + raw
	}
	authority, rest, ok := absoluteTarget(full)
	if !ok {
		return raw, false
	}
	scheme, _, _ := strings.Cut(full, ":")
	u := url.URL{Scheme: scheme, Host: authority}
	if originOf(&u) != from {
		return raw, false
	}
	return to + rest, true
}
