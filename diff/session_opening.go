package diff

import (
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// An opening is where a session says who talks to whom, in whichever revision.
type opening struct {
	initialize, discover *unit
	// tried is the latest initialize that was asked, without one a server/discover,
	// whatever became of it: the opening of a session that was never opened.
	tried *unit
	// meta is the _meta of the client's first request that has a version,
	// serverInfo what the first result says of the server (2026-07-28
	// basic/index).
	meta, serverInfo payload
}

// asked takes a request of the client.
func (o *opening) asked(s *Session, u *unit, v jsontree.Value) {
	if u.lane == tap.ToServer && (u.method == "initialize" || u.method == "server/discover" && o.tried == nil) {
		o.tried = u
	}
	meta := v.Get("_meta")
	if u.lane != tap.ToServer || o.meta.there || !meta.Get(metaPrefix+"protocolVersion").Exists() {
		return
	}
	o.meta = s.at(u.ref, params)
	o.meta.there, o.meta.odd = true, &oddity{within: jsontree.Path{jsontree.To("_meta")}}
}

// answered takes an answer.
func (o *opening) answered(s *Session, u *unit, a *arrived, v jsontree.Value) {
	if u.lane != tap.ToServer || a.m.Kind != jsonrpc.Response {
		return
	}
	switch {
	case u.method == "initialize":
		o.initialize = u
	case u.method == "server/discover" && o.discover == nil:
		o.discover = u
	}
	if info := v.Get("_meta", metaPrefix+"serverInfo"); info.Exists() && !o.serverInfo.there {
		o.serverInfo = s.inside(a, result, info, jsontree.To("_meta"), jsontree.To(metaPrefix+"serverInfo"))
	}
}

// settle takes what was only tried, where nothing came of it.
func (o *opening) settle() {
	switch {
	case o.initialize != nil || o.discover != nil || o.tried == nil:
	case o.tried.method == "initialize":
		o.initialize = o.tried
	default:
		o.discover = o.tried
	}
}
