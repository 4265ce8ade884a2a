package tap

import (
	"bytes"
	"hash/fnv"
	"slices"

	"github.com/tidwall/gjson"
)

const (
	// MaxCountedClients is how many clients of 2026-07-28 a [SessionCount] tells
	// apart.
	MaxCountedClients = 64
	// maxCountedOpening is how many handshakes at once it waits for.
	maxCountedOpening = 64
)

// A SessionCount counts the sessions of a recording of HTTP traffic by a cheap
// rule, so that it can be kept in a [Tally]: the initialize requests that were
// not refused with a status of 400 or above, and the clients of 2026-07-28 that
// have asked for something, by name and version. What [Sessions] tells besides,
// it does not see: sessions that began before the recording, that never got
// beyond asking for versions or being refused, and those of one client that
// differ in their path or their credentials, nor a client that is only ever named
// in the middle of requests of more than 32 KiB. The zero value is ready; it can
// be written as JSON after any frame and continued by another process.
type SessionCount struct {
	// Handshakes counts the initialize requests.
	Handshakes uint64 `json:"handshakes,omitempty"`
	// Opening are the exchanges of those that have no response yet.
	Opening []uint64 `json:"opening,omitempty"`
	// Clients has a hash of each client of 2026-07-28.
	Clients []uint64 `json:"clients,omitempty"`
}

// N is the number of sessions, and whether there may be more of them.
func (c *SessionCount) N() (n uint64, more bool) {
	return c.Handshakes + uint64(len(c.Clients)), len(c.Clients) == MaxCountedClients
}

// clientInfoName stands before what a client of 2026-07-28 calls itself.
const clientInfoName = `"` + metaPrefix + `clientInfo"`

// Request counts the payload of a frame of the client.
func (c *SessionCount) Request(exchange uint64, payload []byte) {
	h := readHead(payload)
	switch {
	case string(h.method) == "initialize", h.member == headOdd && bytes.Contains(payload, []byte(`"initialize"`)) && isHandshake(payload):
		c.Handshakes++
		if len(c.Opening) < maxCountedOpening {
			c.Opening = append(c.Opening, exchange)
		}
	case string(h.method) != "server/discover":
		c.client(payload)
	}
}

func isHandshake(payload []byte) bool {
	m := Peek(payload)
	_, ok := saysInitialize(&m)
	return ok
}

// countedEnds is how much of either end of a large request is searched for the
// name of its client: what makes it large are its arguments, and _meta stands
// before or behind these.
const countedEnds = 16 << 10

// client counts the client that a request names. The name is looked for without
// reading the request.
func (c *SessionCount) client(payload []byte) {
	if len(c.Clients) == MaxCountedClients {
		return
	}
	at := findClientInfo(payload)
	if at < 0 {
		return
	}
	info := payload[at+len(clientInfoName):]
	info = bytes.TrimLeft(info[:min(len(info), 4*MaxWord)], " \t\r\n:")
	key := ""
	// As the first element of a list, since an object alone would be read on
	// beyond its end.
	gjson.ParseBytes(append([]byte("["), info...)).ForEach(func(_, v gjson.Result) bool {
		key = clientKey(written(v.Raw))
		return false
	})
	if key == "" {
		return
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key))
	if h := sum.Sum64(); !slices.Contains(c.Clients, h) {
		c.Clients = append(c.Clients, h)
	}
}

// findClientInfo returns where that name stands, -1 for nowhere.
func findClientInfo(payload []byte) int {
	name := []byte(clientInfoName)
	if len(payload) <= 2*countedEnds {
		return bytes.Index(payload, name)
	}
	if at := bytes.Index(payload[:countedEnds], name); at >= 0 {
		return at
	}
	tail := len(payload) - countedEnds
	if at := bytes.Index(payload[tail:], name); at >= 0 {
		return tail + at
	}
	return -1
}

// Response takes the status of a final response.
func (c *SessionCount) Response(exchange uint64, status int) {
	i := slices.Index(c.Opening, exchange)
	if i < 0 || status < 200 && status != 101 {
		return
	}
	c.Opening = slices.Delete(c.Opening, i, i+1)
	if status >= 400 {
		c.Handshakes--
	}
}
