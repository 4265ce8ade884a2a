package tap

import (
	"crypto/sha256"
	"net/url"
	"strings"
)

// The first letters of the names in Sessions.names.
const (
	keyOnly   = "o" // the one session of a recording without exchanges
	keyID     = 'i' // a session id
	keyTarget = 't' // the target of the requests of HTTP+SSE
	keyClient = 'c' // a path, a client and its credentials
	keyAgent  = 'a' // a path, a program and its credentials
)

// maxKey is how long a part of a name may be; of a longer one it has a hash.
const maxKey = 256

// sessionKey joins the parts of a name, none of which runs into the next.
func sessionKey(letter byte, parts ...string) string {
	var b strings.Builder
	b.WriteByte(letter)
	for _, p := range parts {
		if len(p) > maxKey {
			sum := sha256.Sum256([]byte(p))
			p = "\x01" + string(sum[:])
		}
		b.WriteString(strings.ReplaceAll(p, "\x00", "\x00\x00"))
		b.WriteString("\x00.")
	}
	return b.String()
}

// headFields are those of a request's head by which sessions are told.
type headFields struct {
	id, version, agent, credentials string
	last                            string // the last event that it has of a stream
	events                          bool   // it asks for an event stream
	socket                          bool   // it asks for a WebSocket
}

// credentialFields have what identifies a client's user and does not change
// from request to request, as cookies may.
var credentialFields = []string{"authorization", "x-api-key", "api-key"}

func readFields(header [][2]string) (x headFields) {
	for _, h := range header {
		name, value := h[0], h[1]
		switch strings.ToLower(name) {
		case "mcp-session-id":
			x.id = value
		case "mcp-protocol-version":
			x.version = value
		case "user-agent":
			x.agent = value
		case "last-event-id":
			x.last = value
		case "accept":
			x.events = x.events || strings.Contains(value, "text/event-stream")
		case "upgrade":
			x.socket = x.socket || strings.EqualFold(value, "websocket")
		default:
			for _, known := range credentialFields {
				if strings.EqualFold(name, known) {
					x.credentials += value + "\n"
				}
			}
		}
	}
	return x
}

// splitTarget returns the path of a request's target, and the path with the
// query: without scheme and host, if it has these.
func splitTarget(target string) (path, whole string) {
	whole = target
	if u, err := url.Parse(target); err == nil {
		whole = localPart(u)
	}
	path, _, _ = strings.Cut(whole, "?")
	return path, whole
}

func localPart(u *url.URL) string {
	whole := u.EscapedPath()
	if u.RawQuery != "" {
		whole += "?" + u.RawQuery
	}
	return whole
}

// endpointTarget returns the target that an endpoint event names, which came on
// a stream that was asked for with another target.
func endpointTarget(stream, data string) string {
	base, err := url.Parse(stream)
	if err != nil {
		base = &url.URL{Path: "/"}
	}
	u, err := base.Parse(strings.TrimSpace(data))
	if err != nil {
		return data
	}
	return localPart(u)
}

// clientKey is what a client calls itself; "" where it does not.
func clientKey(info written) string {
	var p Party
	if p.refine(info); p.Name == "" {
		return ""
	}
	return p.Name + "\x00" + p.Version
}

// saysInitialize and saysModern find, among the messages of a frame, one that
// opens a session or belongs to 2026-07-28, and what its client calls itself.
func saysInitialize(m *Message) (client string, ok bool) {
	for _, r := range requestsIn(m) {
		if r.Method == "initialize" {
			params := written(r.Params)
			if client = clientKey(params.get("clientInfo")); client == "" {
				client = clientKey(params.get("client")) // the 002 dialect
			}
			return client, true
		}
	}
	return "", false
}

func saysModern(m *Message) (client string, probe, ok bool) {
	for _, r := range requestsIn(m) {
		if r.Method == "server/discover" {
			probe, ok = true, true
		}
		meta := written(r.Params).get("_meta")
		if EraOf(Revision(meta.get(metaPrefix+"protocolVersion").text())) != Modern {
			continue
		}
		return clientKey(meta.get(metaPrefix + "clientInfo")), probe, true
	}
	return "", probe, ok
}

// requestsIn returns the requests and notifications in a frame.
func requestsIn(m *Message) (list []*Message) {
	if m.Kind != Batch {
		if m.Kind == Request || m.Kind == Notification {
			list = append(list, m)
		}
		return list
	}
	for i := range m.Batch {
		list = append(list, requestsIn(&m.Batch[i])...)
	}
	return list
}
