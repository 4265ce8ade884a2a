package replay

import (
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A key stands for what a message asks for: equal messages have equal keys. It is made of
// the hashes of package jsontree, which are keyed for the process, so that no input can be
// made to collide.
type key = uint64

// newKey makes a key of a kind from a text and other keys.
func newKey(kind byte, text string, more ...key) key {
	k := jsontree.Mix(jsontree.HashString(text), uint64(kind))
	for _, x := range more {
		k = jsontree.Mix(k, x)
	}
	return k
}

// A keyed is what a request or a notification is matched by, and what else is
// read from its params on the way. Slices point into the params.
type keyed struct {
	// exact is its key. loose leaves _meta out, chain the answers to what the
	// server asked for (inputResponses), which is known only if chained.
	exact, loose, chain key
	chained             bool
	kind                jsonrpc.Kind
	method              string
	// subject is the name, uri or taskId, as it stands, nil when absent, and about its hash.
	subject []byte
	about   key
	// token is _meta.progressToken as it stands, nil when absent.
	token []byte
	// modern reports that it names its own version, which is version.
	modern  bool
	version string
}

// A keyer makes keys.
type keyer struct {
	ignore []Path
	match  Match
	// led says which of the paths have led to something.
	led    []bool
	reader jsontree.Reader
}

func newKeyer(opt *Options) keyer {
	return keyer{ignore: opt.Ignore, match: opt.Match, led: make([]bool, len(opt.Ignore))}
}

// key makes the keys of a request or a notification.
func (k *keyer) key(m *jsonrpc.Message) (x keyed) {
	depth := 2 // of what counts by its name
	if k.ignore != nil {
		depth = jsontree.MaxDepth + 1
	}
	k.reader.Checked = m.Kind == jsonrpc.Request || m.Kind == jsonrpc.Notification // by jsonrpc.Peek
	params := readTree(&k.reader, m.Params, depth)
	meta := params.Get("_meta")
	version := meta.Get(jsonrpc.MetaPrefix + "protocolVersion")
	x.token, x.modern, x.version = meta.Get("progressToken").Raw(), version.Exists(), version.Text()
	x.chained = params.Get("inputResponses").Exists() || params.Get("requestState").Exists()
	kind, era := byte('k'), key(0)
	x.kind, x.method = m.Kind, m.Method
	if m.Kind == jsonrpc.Notification {
		kind = 'n'
	}
	if x.modern {
		era = 1
	}
	for _, name := range subjects {
		if v := params.Get(name); v.Kind() == jsontree.String && m.Method != "initialize" {
			x.subject, x.about = v.Raw(), v.Hash()
			break
		}
	}

	k.remove(params, m)
	if m.Method == "initialize" {
		x.exact = newKey(kind, m.Method, era)
		x.loose = x.exact
		return x
	}
	x.exact = newKey(kind, m.Method, era, params.Hash())
	if x.chained {
		x.chain = newKey('c', m.Method, era, hashWithout(params, "inputResponses"))
	}
	if k.match >= MatchParams {
		x.loose = newKey('l', m.Method, era, hashWithout(params, "_meta"))
	}
	return x
}

// subjects are the members that say what a request is about.
var subjects = [...]string{"name", "uri", "taskId"}

// readTree reads params, or another part of a message, down to a depth. What is absent is like
// an object without members.
func readTree(r *jsontree.Reader, raw []byte, depth int) jsontree.Value {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	v, _ := r.ParseTop(raw, depth) // absent if it is not JSON
	return v
}

// remove takes out of the params of a message what is no part of its key: what the person
// ignores, and what differs from run to run without meaning anything. A _meta that has
// nothing else in it might as well not be there.
func (k *keyer) remove(params jsontree.Value, m *jsonrpc.Message) {
	names := []string{"_meta", "task", "id"}
	if k.ignore != nil {
		names = nil
	}
	params.Remove(func(at jsontree.Path, left jsontree.Value) bool {
		ignored := false
		for i, p := range k.ignore {
			if p.leadsTo(at) {
				k.led[i], ignored = true, true
			}
		}
		switch {
		case ignored:
			return true
		case len(at) == 1 && at[0].Name == "id":
			return m.Method == "cancel" // of the 002 dialect: the client's own id
		case len(at) == 1:
			return at[0].Name == "_meta" && isEmpty(left)
		case len(at) == 2 && at[0].Name == "_meta":
			return unkeyed(at[1].Name)
		}
		return len(at) == 2 && at[0].Name == "task" && at[1].Name == "ttl"
	}, names...)
}

// unkeyed names the members of _meta that are no part of a key: what a client says of
// itself, the token, and W3C trace context (2026-07-28 basic/index).
func unkeyed(name string) bool {
	switch name {
	case "progressToken", "traceparent", "tracestate", "baggage":
		return true
	}
	return strings.HasPrefix(name, jsonrpc.MetaPrefix)
}

// hashWithout is the hash of an object without the member of a name.
func hashWithout(params jsontree.Value, without string) key {
	if params.Kind() != jsontree.Object {
		return params.Hash()
	}
	h := key(0)
	for name, v := range params.All() {
		if name != without {
			h += jsontree.Mix(jsontree.HashString(name), v.Hash()) // in any order
		}
	}
	return h
}

// isEmpty reports whether a value is an object without members.
func isEmpty(v jsontree.Value) bool { return v.Kind() == jsontree.Object && v.Len() == 0 }

// variant is the exact key of a request whose head says more than its message.
func (x *keyed) variant(of string) key {
	if of == "" {
		return x.exact
	}
	return newKey('v', of, x.exact)
}

// byMethod is the key of the method alone, near of the method and the tool, prompt, resource
// or task.
func (x *keyed) byMethod() key { return newKey('m', x.method, key(x.kind)) }
func (x *keyed) near() key     { return newKey('a', x.method, x.about) }

// other is a key of a request whose head says more than its message, by its message alone.
func (x *keyed) other() key { return newKey('w', "", x.exact) }

// orphan is the key of a response of the client's to nothing.
func orphan(m *jsonrpc.Message) key { return newKey('o', word(m.ID)) }

// word is what two ids, tokens or names have in common when they are the same: strings
// decoded, numbers by value. It is "" for null, and for what is absent.
func word(raw []byte) string { return string(jsonrpc.AppendKey(nil, raw)) }

// answerKey is the key of what an answer says: its result by value, but for what is another
// one in each run, or the code of its error.
func answerKey(m *jsonrpc.Message) key {
	if m.Kind == jsonrpc.ErrorResponse {
		return newKey('e', m.ErrorCode)
	}
	return newKey('r', "", answered(m.Result).Hash())
}

// answered reads what an answer says, without what is another one in each run.
func answered(raw []byte) jsontree.Value {
	v := readTree(new(jsontree.Reader), raw, jsontree.MaxDepth+1)
	v.Remove(inEachRun)
	return v
}

// inEachRun leads to the members of a client's answer that are others in each run: its
// tasks have names and times (2025-11-25 basic/utilities/tasks).
func inEachRun(at jsontree.Path, _ jsontree.Value) bool {
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
}

// A Key stands for what a request asks for: its method and its params by value,
// but for what differs from run to run without meaning anything (see Matching in
// the package comment). Two keys of one [Keyer] are equal if the requests are.
type Key struct{ exact key }

// A Keyer makes keys. It is not for use by several goroutines at once.
type Keyer struct{ k keyer }

// NewKeyer makes a Keyer.
func NewKeyer() *Keyer { return &Keyer{} }

// Key makes the key of a request, whose params must be valid JSON.
func (k *Keyer) Key(m *jsonrpc.Message) Key { return Key{k.k.key(m).exact} }

// Key is what a request or a notification of a recording is matched by, with what its
// head says beside it.
func (b *Builder) Key(m *jsonrpc.Message, variant string) Key {
	x := b.keyer.key(m)
	return Key{x.variant(variant)}
}

// Key is [Builder.Key] for a live message.
func (s *Script) Key(m *jsonrpc.Message, variant string) Key {
	k := newKeyer(&s.opt)
	x := k.key(m)
	return Key{x.variant(variant)}
}
