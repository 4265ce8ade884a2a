package streamable

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// An origin is a scheme, a host and a port, lower-case and with the port that
// the scheme implies filled in, so that origins can be compared.
type origin struct{ scheme, host, port string }

var defaultPorts = map[string]string{"http": "80", "https": "443"}

func originOf(u *url.URL) origin {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = defaultPorts[scheme]
	}
	return origin{scheme, strings.ToLower(u.Hostname()), port}
}

// String returns the origin as a URL has it.
func (o origin) String() string { return o.scheme + "://" + o.authority() }

// authority is the origin as a Host header has it: without a port where the
// scheme implies it.
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

// splitAuthority cuts a Host header's value. A port that is not there is empty.
func splitAuthority(s string) (host, port string) {
	u := url.URL{Host: strings.ToLower(s)}
	return u.Hostname(), u.Port()
}

// hosts decides what becomes of a request by the name that it was sent to.
type hosts struct {
	// own is the tap's origin, by the name that it prints.
	own origin
	// given is the host that the person asked the tap to listen on.
	given string
	// more are other names of the tap: hosts, with or without a port.
	more     []string
	upstream origin
	// ownURL and upstreamURL are the two origins as a URL has them, upstreamName
	// the second one as a Host header has it.
	ownURL, upstreamURL, upstreamName string
}

// isOwn reports whether a Host names the tap: then the upstream must be sent
// its own name instead. local is the IP address that the client connected to.
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

// isSelf reports whether the upstream is the tap itself, which would ask itself without
// end.
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

// forwardsForeign reports whether a request for another name may pass. To a
// loopback upstream it does, as it is: that is where servers defend themselves
// against DNS rebinding, and the defence must still see the foreign name. A
// remote upstream would not know what to do with it, and nobody but a page that
// abuses the client's browser would send it.
func (h *hosts) forwardsForeign() bool {
	ip := net.ParseIP(h.upstream.host)
	return ip.IsLoopback() || h.upstream.host == "localhost" || strings.HasSuffix(h.upstream.host, ".localhost")
}

// absoluteTarget cuts a request target that names its host itself (RFC 9112,
// 3.2.2): scheme and host, and the rest.
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

// swapOrigin returns raw, an absolute URL, with to in the place of its origin
// if that is from; everything behind the origin stays byte for byte. A URL
// without a scheme, as //host/path, is taken as one of from's scheme.
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
