package diff

import (
	"strings"

	"github.com/mcptap/mcptap/diff/tree"
	"github.com/mcptap/mcptap/tap"
)

// An opening is where a session says who talks to whom, in whichever revision.
type opening struct {
	initialize, discover *unit
	// meta is the _meta of the client's first request that has a version,
	// serverInfo what the first result says of the server (2026-07-28
	// basic/index).
	meta, serverInfo payload
}

// asked takes a request of the client.
func (o *opening) asked(u *unit, v tree.Value) {
	meta := v.Get("_meta")
	if u.lane != tap.ToServer || o.meta.there || !meta.Get(metaPrefix+"protocolVersion").Exists() {
		return
	}
	o.meta = payload{ref: u.ref, part: params, there: true, within: tree.Path{tree.To("_meta")}}
}

// answered takes an answer.
func (o *opening) answered(u *unit, a *arrived, v tree.Value) {
	if u.lane != tap.ToServer || a.m.Kind != tap.Response {
		return
	}
	switch {
	case u.method == "initialize":
		o.initialize = u
	case u.method == "server/discover" && o.discover == nil:
		o.discover = u
	}
	if info := v.Get("_meta", metaPrefix+"serverInfo"); info.Exists() && !o.serverInfo.there {
		o.serverInfo = payload{ref: a.p.Message, part: result, there: true, within: tree.Path{tree.To("_meta"), tree.To(metaPrefix + "serverInfo")}}
	}
}

// headers are the header fields of the protocol that were seen on HTTP, each
// with whose they are before it, such as "request mcp-method".
type headers map[string]bool

// maxHeaders bounds them.
const maxHeaders = 64

// life takes an event of the run: of those of HTTP, status and fields.
func (s *Session) life(f *tap.Frame) {
	if f.Exchange == 0 {
		return
	}
	e, err := tap.ParseEvent(f.Raw)
	if err != nil {
		return
	}
	switch e.Name {
	case tap.EventRequest:
		s.headers.add("request", e.Header)
	case tap.EventResponse:
		if e.Status < 200 {
			return
		}
		s.headers.add("response", e.Header)
		for _, u := range s.inExchange[f.Exchange] {
			u.http = e.Status
		}
	case tap.EventEnd:
		delete(s.inExchange, f.Exchange)
	}
}

func (h headers) add(whose string, fields [][2]string) {
	for _, f := range fields {
		name := strings.ToLower(f[0])
		if strings.HasPrefix(name, "mcp-") && len(name) < 100 && len(h) < maxHeaders {
			if strings.HasPrefix(name, "mcp-param-") {
				name = "mcp-param-*"
			}
			h[whose+" "+name] = true
		}
	}
}
