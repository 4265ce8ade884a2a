package tap

import (
	"hash/fnv"
	"slices"
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
// differ in their path or their credentials. The zero value is ready; it can
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

// Request counts the message of a frame of the client.
func (c *SessionCount) Request(exchange uint64, m *Message) {
	if _, ok := saysInitialize(m); ok {
		c.Handshakes++
		if len(c.Opening) < maxCountedOpening {
			c.Opening = append(c.Opening, exchange)
		}
		return
	}
	client, probe, ok := saysModern(m)
	if !ok || probe || client == "" || len(c.Clients) == MaxCountedClients {
		return
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(client))
	if h := sum.Sum64(); !slices.Contains(c.Clients, h) {
		c.Clients = append(c.Clients, h)
	}
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
