package view

import (
	"bytes"
	"encoding/json"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// Limits of [Responses].
const (
	// MaxResponses is how many requests are remembered with their last response.
	MaxResponses = 512
	// MaxResponse is the size in bytes above which a response is not kept, and
	// MaxResponseBytes the limit for all responses.
	MaxResponse      = 256 << 10
	MaxResponseBytes = 16 << 20
	// MaxChanges is how many changes of one response are returned.
	MaxChanges = 20
)

// Responses compares each response with the previous one to an equal request: one by the
// same side with the same method and equal params, except for _meta, which differs between
// calls. Make one with [NewResponses].
type Responses struct {
	// TooLarge counts responses that were not compared because of their size. Forgotten
	// counts those that were not compared because an earlier response may have been
	// dropped.
	TooLarge, Forgotten uint64
	// AnyParams compares with the previous response to the same method and tool, prompt or
	// resource, whatever the other params.
	AnyParams bool

	open    map[session.Ref]openRequest // the open calls
	last    bounded.Map[requestKey, *response]
	bytes   int
	dropped bool // responses have been dropped
}

// A requestKey identifies equal requests. Params is a hash.
type requestKey struct {
	lane      tap.Lane
	method    string
	hasParams bool
	params    uint64
}

// An openRequest is a request without a response so far. Its params are kept with AnyParams.
type openRequest struct {
	key    requestKey
	params []byte
}

type response struct {
	ref  session.Ref
	call session.Ref
	// params are those of the request, with AnyParams.
	params []byte
	kind   jsonrpc.Kind
	raw    []byte
}

// A Delta has the changes from one response to the next.
type Delta struct {
	// Call names the call, Message its response, Previous the previous response, and
	// PreviousCall the call of that.
	Call, Message, Previous, PreviousCall session.Ref
	// Params are the changes of the params, with AnyParams.
	Params []Change
	// Changes are the first [MaxChanges], none if the two are equal; More counts others.
	Changes []Change
	More    int
}

// NewResponses returns an empty Responses.
func NewResponses() *Responses {
	return &Responses{open: map[session.Ref]openRequest{}, last: bounded.Map[requestKey, *response]{Max: MaxResponses}}
}

// Add adds the next entry. It returns the changes of its responses that have a previous one.
func (a *Responses) Add(r *session.Entry) (deltas []*Delta) {
	for i := range r.Parts {
		p, m := &r.Parts[i], r.Of(i)
		switch p.Role {
		case session.RoleRequest:
			q, ok := keyOf(p, m)
			if !ok {
				continue
			}
			open := openRequest{key: q}
			if a.AnyParams {
				open.key.params, open.params = jsontree.HashString(jsonrpc.Subject(*m)), bytes.Clone(m.Params)
			}
			a.open[p.Call] = open
		case session.RoleResponse, session.RoleLate:
			q, ok := a.open[p.Call]
			if !ok {
				continue
			}
			if d := a.compare(q, p, m); d != nil {
				deltas = append(deltas, d)
			}
		}
	}
	for _, c := range r.Ended {
		delete(a.open, c.Ref)
	}
	return deltas
}

// keyOf returns the key of a request; ok is false if the params are too large or not JSON.
func keyOf(p *session.Part, m *jsonrpc.Message) (q requestKey, ok bool) {
	if len(m.Params) > MaxResponse {
		return requestKey{}, false
	}
	params := []byte("null")
	if len(m.Params) > 0 {
		params = m.Params
	}
	v, err := jsontree.Parse(params)
	if err != nil {
		return requestKey{}, false
	}
	v.Remove(func(at jsontree.Path, _ jsontree.Value) bool { return len(at) == 1 }, "_meta")
	return requestKey{p.Lane, m.Method, len(m.Params) > 0, v.Hash()}, true
}

func (a *Responses) compare(of openRequest, p *session.Part, m *jsonrpc.Message) *Delta {
	raw := m.Result
	if p.Kind == jsonrpc.ErrorResponse {
		raw = m.Error
	}
	if len(raw) == 0 || len(raw) > MaxResponse {
		a.TooLarge++
		return nil
	}
	next := &response{ref: p.Message, call: p.Call, params: of.params, kind: p.Kind, raw: bytes.Clone(raw)}
	before, ok := a.last.Get(of.key)
	a.keep(of.key, before, next)
	if !ok {
		return nil
	}
	d := &Delta{Call: p.Call, Message: p.Message, Previous: before.ref, PreviousCall: before.call}
	d.Changes, d.More = Changes(before.tree(), next.tree(), MaxChanges)
	if a.AnyParams {
		d.Params, _ = Changes(paramsTree(before.params), paramsTree(next.params), MaxChanges)
	}
	return d
}

// tree returns the response as an object with a member result or error.
func (a *response) tree() json.RawMessage {
	name := `{"result":`
	if a.kind == jsonrpc.ErrorResponse {
		name = `{"error":`
	}
	return append(append([]byte(name), a.raw...), '}')
}

// paramsTree returns params as an object with a member params.
func paramsTree(params []byte) json.RawMessage {
	if len(params) == 0 {
		return json.RawMessage("{}")
	}
	return append(append([]byte(`{"params":`), params...), '}')
}

// keep replaces the response to a request, and drops those to the requests made
// longest ago.
func (a *Responses) keep(q requestKey, before, next *response) {
	if before == nil && a.dropped {
		a.Forgotten++
	}
	dropped, full := a.last.Put(q, next)
	a.bytes += next.size() - before.size() - dropped.size()
	a.dropped = a.dropped || full
	for q, old := range a.last.All {
		if a.bytes <= MaxResponseBytes {
			break
		}
		a.last.Delete(q)
		a.bytes -= old.size()
		a.dropped = true
	}
}

// size returns the length of a response, 0 for none.
func (a *response) size() int {
	if a == nil {
		return 0
	}
	return len(a.raw) + len(a.params)
}
