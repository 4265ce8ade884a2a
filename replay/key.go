package replay

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Key is a hash of what a message asks for; see Matching in the package comment. Keys are
// comparable within one process only: a random seed prevents crafted collisions.
type Key uint64

// KeyOf returns the key of a request or a notification whose HTTP head has the given variant
// (see [Head.Variant]).
func KeyOf(m *jsonrpc.Message, variant string, opt *Options) Key {
	k := newKeyer(opt)
	x := k.key(m)
	return x.variant(variant)
}

// newKey makes a key of a kind from a text and other keys.
func newKey(kind byte, text string, more ...Key) Key {
	k := jsontree.Mix(jsontree.HashString(text), uint64(kind))
	for _, x := range more {
		k = jsontree.Mix(k, uint64(x))
	}
	return Key(k)
}

// A keyed has the keys by which a request or a notification is matched, and other values of
// its params. Slices point into the params.
type keyed struct {
	// exact is the key, loose the key without _meta, and chain the key without inputResponses,
	// which is set only if chained.
	exact, loose, chain Key
	chained             bool
	kind                jsonrpc.Kind
	method              string
	subject             []byte // the name, uri or taskId, nil for none
	about               Key    // a hash of subject
	token               []byte // _meta.progressToken, nil for none
	modern              bool   // the message names its own protocol version
	version             string
	level               string // _meta's logLevel
}

// A keyer computes keys.
type keyer struct {
	ignore  []Path
	match   Match
	matched []bool // which of the ignored paths matched something
}

func newKeyer(opt *Options) keyer {
	return keyer{ignore: opt.Ignore, match: opt.Match, matched: make([]bool, len(opt.Ignore))}
}

// key computes the keys of a request or a notification.
func (k *keyer) key(m *jsonrpc.Message) (x keyed) {
	depth := 2 // enough for the members with a meaning
	if k.ignore != nil {
		depth = jsontree.MaxDepth + 1
	}
	params := readTree(m.Params, depth)
	meta := params.Get("_meta")
	version := meta.Get(jsonrpc.MetaPrefix + "protocolVersion")
	x.token, x.modern, x.version = meta.Get("progressToken").Raw(), version.Exists(), version.Text()
	x.level = meta.Get(jsonrpc.MetaPrefix + "logLevel").Text()
	x.chained = params.Get("inputResponses").Exists() || params.Get("requestState").Exists()
	kind, era := byte('k'), Key(0)
	x.kind, x.method = m.Kind, m.Method
	if m.Kind == jsonrpc.Notification {
		kind = 'n'
	}
	if x.modern {
		era = 1
	}
	for _, name := range []string{"name", "uri", "taskId"} {
		if v := params.Get(name); v.Kind() == jsontree.String && m.Method != "initialize" {
			x.subject, x.about = v.Raw(), Key(v.Hash())
			break
		}
	}
	k.remove(params, m)
	if m.Method == "initialize" {
		x.exact = newKey(kind, m.Method, era)
		x.loose = x.exact
		return x
	}
	x.exact = newKey(kind, m.Method, era, Key(params.Hash()))
	if x.chained {
		x.chain = newKey('c', m.Method, era, keyWithout(params, "inputResponses"))
	}
	if k.match >= MatchParams {
		x.loose = newKey('l', m.Method, era, keyWithout(params, "_meta"))
	}
	return x
}

// readTree parses a part of a message to a given depth. An absent part is read as an empty
// object.
func readTree(raw []byte, depth int) jsontree.Value {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	v, _ := new(jsontree.Reader).ParseTop(raw, depth) // absent if it is not JSON
	return v
}

// params reads those params of a message that are part of its key.
func (k *keyer) params(m *jsonrpc.Message) jsontree.Value {
	v := readTree(m.Params, jsontree.MaxDepth+1)
	k.remove(v, m)
	return v
}

// remove removes from params what is not part of the key: ignored members, members that
// differ between runs, and a _meta that is empty without them.
func (k *keyer) remove(params jsontree.Value, m *jsonrpc.Message) {
	names := []string{"_meta", "task", "id", "mode"}
	if k.ignore != nil {
		names = nil
	}
	params.Remove(func(at jsontree.Path, left jsontree.Value) bool {
		ignored := false
		for i, p := range k.ignore {
			if p[1:].Exactly(at) { // at begins at params
				k.matched[i], ignored = true, true
			}
		}
		switch {
		case ignored:
			return true
		case len(at) == 1 && at[0].Name == "id":
			return m.Method == "cancel" // of the 002 dialect: the client's own id
		case len(at) == 1 && at[0].Name == "mode":
			return m.Method == "elicitation/create" && left.Text() == "form" // the default
		case len(at) == 1:
			return at[0].Name == "_meta" && isEmpty(left)
		case len(at) == 2 && at[0].Name == "_meta":
			return unkeyed(at[1].Name)
		}
		return len(at) == 2 && at[0].Name == "task" && at[1].Name == "ttl"
	}, names...)
}

// unkeyed reports whether a member of _meta is excluded from keys: the progress token, W3C
// trace context, and what describes the client (2026-07-28 basic/index).
func unkeyed(name string) bool {
	switch name {
	case "progressToken", "traceparent", "tracestate", "baggage":
		return true
	}
	return strings.HasPrefix(name, jsonrpc.MetaPrefix)
}

// keyWithout hashes an object without one member.
func keyWithout(params jsontree.Value, without string) Key {
	h, _ := params.HashWithout(func(name string) bool { return name == without })
	return Key(h)
}

// isEmpty reports whether a value is an empty object.
func isEmpty(v jsontree.Value) bool { return v.Kind() == jsontree.Object && v.Len() == 0 }

// variant returns the exact key of a request with a variant of its HTTP head.
func (x *keyed) variant(of string) Key {
	if of == "" {
		return x.exact
	}
	return newKey('v', of, x.exact)
}

// byMethod returns the key of the method alone, near the key of the method and the subject.
func (x *keyed) byMethod() Key { return newKey('m', x.method, Key(x.kind)) }
func (x *keyed) near() Key     { return newKey('a', x.method, x.about) }

// other returns the key, ignoring the variant, under which requests with a variant are indexed.
func (x *keyed) other() Key { return newKey('w', "", x.exact) }

// orphan returns the key of a client response that matches no server request.
func orphan(m *jsonrpc.Message) Key { return newKey('o', canonical(m.ID)) }

// canonical returns an id, token or name in canonical form: strings decoded, numbers by value.
// It returns "" for null and for an absent value.
func canonical(raw []byte) string { return string(jsonrpc.AppendKey(nil, raw)) }

// answerKey returns the key of a response: its error code, or its result without the members
// that differ between runs.
func answerKey(m *jsonrpc.Message) Key {
	if m.Kind == jsonrpc.ErrorResponse {
		return newKey('e', m.ErrorCode)
	}
	return newKey('r', "", Key(answered(m.Result).Hash()))
}

// answered reads the result of a client response without the members that differ between
// runs, such as task ids and times (2025-11-25 basic/utilities/tasks).
func answered(raw []byte) jsontree.Value {
	v := readTree(raw, jsontree.MaxDepth+1)
	v.Remove(func(at jsontree.Path, _ jsontree.Value) bool {
		if len(at) == 2 && at[0].Name == "task" {
			at = at[1:]
		}
		if len(at) != 1 {
			return false
		}
		switch at[0].Name {
		case "_meta", "taskId", "createdAt", "lastUpdatedAt":
			return true
		}
		return false
	})
	return v
}
