package mock

import (
	"encoding/base64"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// circumstances are those of a request that may make a server refuse it, whatever
// it asks for.
type circumstances uint16

const (
	foreignHost   circumstances = 1 << iota // the Host is no name of the server's
	foreignOrigin                           // a page of somewhere else sent it
	noCredentials                           // there is no Authorization
	overSession                             // the session is over, or never was
	noSession                               // the session is not named
	wrongVersion                            // MCP-Protocol-Version does not exist, or is not the body's
	wrongMethod                             // Mcp-Method is missing, or not the body's
	wrongName                               // Mcp-Name is missing, or not the body's
	wrongAccept                             // the client does not take both forms of an answer
)

// blamed are the circumstances in the order in which they are looked at.
var blamed = []circumstances{
	foreignHost, foreignOrigin, noCredentials, overSession, noSession, wrongVersion, wrongMethod, wrongName, wrongAccept,
}

// fields are those of a request's head that are looked at.
type fields struct {
	host, origin, session, version, method, name, lastEvent, agent string
	accept                                                         string
	credentials                                                    string
	hasOrigin                                                      bool
}

// modern reports whether the request says that it is of 2026-07-28, or later.
func (f *fields) modern() bool { return jsonrpc.EraOf(jsonrpc.Revision(f.version)) == jsonrpc.Modern }

// read takes a field.
func (f *fields) read(name, value string) {
	switch http.CanonicalHeaderKey(name) {
	case "Host":
		f.host = value
	case "Origin":
		f.origin, f.hasOrigin = value, true
	case "Mcp-Session-Id":
		f.session = value
	case "Mcp-Protocol-Version":
		f.version = value
	case "Mcp-Method":
		f.method = value
	case "Mcp-Name":
		f.name = unsentinel(value)
	case "Last-Event-Id":
		f.lastEvent = value
	case "User-Agent":
		f.agent = value
	case "Accept":
		f.accept += value + ","
	case "Authorization":
		f.credentials = value
	}
}

func readFields(header [][2]string) (f fields) {
	for _, h := range header {
		f.read(h[0], h[1])
	}
	return f
}

func fieldsOf(r *http.Request) (f fields) {
	for name, values := range r.Header {
		for _, v := range values {
			f.read(name, v)
		}
	}
	f.host = r.Host
	return f
}

// unsentinel reads a value that cannot stand in a header as it is (2026-07-28
// basic/transports#value-encoding).
func unsentinel(value string) string {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return value
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return value
	}
	return string(b)
}

// takes reports whether the client takes a media type.
func (f *fields) takes(media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for part := range strings.SplitSeq(f.accept, ",") {
		name, _, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err == nil && (name == media || name == "*/*" || name == kind+"/*") {
			return true
		}
	}
	return false
}

// circumstances are those of a request of a client's, as far as they do not depend on
// sessions.
func (s *site) circumstances(f *fields, c *replay.Claim) (all circumstances) {
	if !s.knows(f.host) {
		all |= foreignHost
	}
	if f.hasOrigin && !s.knowsOrigin(f) {
		all |= foreignOrigin
	}
	if f.credentials == "" {
		all |= noCredentials
	}
	if c.Kind == jsonrpc.Request && (!f.takes("application/json") || !f.takes("text/event-stream")) {
		all |= wrongAccept
	}
	if !f.modern() && !c.Modern {
		if f.version != "" && !slices.Contains(legacyVersions, jsonrpc.Revision(f.version)) {
			all |= wrongVersion
		}
		return all
	}
	if c.Kind != jsonrpc.Request {
		return all // of notifications nothing is said
	}
	if f.version != c.Version {
		all |= wrongVersion
	}
	if f.method != c.Method {
		all |= wrongMethod
	}
	if c.HasName && f.name != c.Name {
		all |= wrongName
	}
	return all
}

// legacyVersions are those that a header can name before 2026-07-28.
var legacyVersions = []jsonrpc.Revision{jsonrpc.Rev20241105, jsonrpc.Rev20250326, jsonrpc.Rev20250618, jsonrpc.Rev20251125}

// knows reports whether a Host is a name of the server's: a page elsewhere can make
// its own name lead here, but not change the Host that the browser sends.
func (s *site) knows(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(s.hosts, host) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (s.anyAddress || addr.Unmap().IsLoopback())
}

// knowsOrigin is knows for the Origin of a page. A page at any other address is one of
// another machine's, though any address may name this one.
func (s *site) knowsOrigin(f *fields) bool {
	u, err := url.Parse(f.origin)
	if err != nil || u.Host == "" {
		return false
	}
	if strings.EqualFold(u.Host, f.host) {
		return s.knows(u.Host)
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return (err != nil || addr.Unmap().IsLoopback()) && s.knows(u.Host)
}
