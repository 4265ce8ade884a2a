package diff

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A rewriter replaces each request id and each progress token by a fresh value, wherever they occur,
// and writes members in another order.
type rewriter struct {
	next   int
	ids    map[tap.Lane]map[string]*sameIDs
	listen map[string]string
	tokens map[tap.Lane]map[string]string
	rng    *rand.Rand
	// asked are the ids of the latest request in each HTTP exchange.
	asked    map[uint64]*sameIDs
	exchange uint64
}

// sameIDs are the fresh ids of the open requests with the same id, oldest first, or that of
// the last one that was answered.
type sameIDs struct {
	fresh []string
	over  bool
}

func newRewriter() *rewriter {
	x := &rewriter{next: 5000, listen: map[string]string{}, asked: map[uint64]*sameIDs{}, rng: rand.New(rand.NewPCG(9, 9))}
	x.ids = map[tap.Lane]map[string]*sameIDs{tap.ToServer: {}, tap.ToClient: {}}
	x.tokens = map[tap.Lane]map[string]string{tap.ToServer: {}, tap.ToClient: {}}
	return x
}

func (x *rewriter) all(frames []tap.Frame) []tap.Frame {
	out := slices.Clone(frames)
	for i := range out {
		f := &out[i]
		if f.Lane != tap.ToServer && f.Lane != tap.ToClient {
			x.event(f)
			continue
		}
		x.exchange = f.Exchange
		payload := jsonrpc.Payload(f)
		dec := json.NewDecoder(bytes.NewReader(payload))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			continue
		}
		if batch, ok := v.([]any); ok {
			for _, one := range batch {
				x.message(f.Lane, one)
			}
		} else {
			x.message(f.Lane, v)
		}
		f.Raw = bytes.Replace(f.Raw, bytes.TrimSpace(payload), x.write(nil, v), 1) // an event has an id, too
		f.Size = int64(len(f.Raw))
	}
	return out
}

// event handles a request that is refused with only a status: the next request with its id is a
// different one.
func (x *rewriter) event(f *tap.Frame) {
	if e, err := tap.ParseEvent(f.Raw); err == nil && e.Name == tap.EventResponse && e.Status >= 400 {
		if same := x.asked[f.Exchange]; same != nil {
			same.over = true
		}
	}
}

func key(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// fresh returns another value with the type of the old one.
func (x *rewriter) fresh(old any) any {
	x.next++
	if _, text := old.(string); text {
		return "fresh-" + strconv.Itoa(x.next)
	}
	return json.Number(strconv.Itoa(x.next))
}

func (x *rewriter) message(lane tap.Lane, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	params, _ := m["params"].(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	id, hasID := m["id"]
	method, hasMethod := m["method"].(string)
	switch {
	case hasID && hasMethod:
		if token, ok := meta["progressToken"]; ok {
			now := x.fresh(token)
			x.tokens[lane][key(token)] = key(now)
			meta["progressToken"] = now
		}
		now := x.fresh(id)
		if method == "subscriptions/listen" {
			x.listen[key(id)] = key(now)
		}
		same := x.ids[lane][key(id)]
		if same == nil || same.over {
			same = &sameIDs{}
			x.ids[lane][key(id)] = same
		}
		same.fresh = append(same.fresh, key(now))
		m["id"] = now
		x.asked[x.exchange] = same
	case hasID:
		asked := x.ids[tap.ToServer+tap.ToClient-lane]
		if same := asked[key(id)]; same != nil {
			m["id"] = json.RawMessage(same.fresh[0])
			if same.over = len(same.fresh) == 1; !same.over {
				same.fresh = same.fresh[1:]
			}
		}
		x.subscription(m["result"])
	default:
		x.notification(lane, method, params, meta)
	}
}

func (x *rewriter) notification(lane tap.Lane, method string, params, meta map[string]any) {
	other := tap.ToServer + tap.ToClient - lane
	swap := func(name string, ids map[string]*sameIDs) {
		if same := ids[key(params[name])]; same != nil {
			params[name] = json.RawMessage(same.fresh[0])
		}
	}
	switch method {
	case "notifications/progress":
		if now, ok := x.tokens[other][key(params["progressToken"])]; ok {
			params["progressToken"] = json.RawMessage(now)
		}
	case "progress":
		swap("id", x.ids[other])
	case "cancel":
		swap("id", x.ids[lane])
	case "notifications/cancelled":
		swap("requestId", x.ids[lane])
		if now, ok := x.listen[key(params["requestId"])]; ok {
			params["requestId"] = json.RawMessage(now)
		}
	}
	if now, ok := x.listen[key(meta["io.modelcontextprotocol/subscriptionId"])]; ok {
		meta["io.modelcontextprotocol/subscriptionId"] = json.RawMessage(now)
	}
}

// subscription replaces the id of the subscription that a result ends.
func (x *rewriter) subscription(v any) {
	result, _ := v.(map[string]any)
	meta, _ := result["_meta"].(map[string]any)
	if now, ok := x.listen[key(meta["io.modelcontextprotocol/subscriptionId"])]; ok {
		meta["io.modelcontextprotocol/subscriptionId"] = json.RawMessage(now)
	}
}

// write writes a value with the members of objects in random order, other white space, and
// unnecessary escapes.
func (x *rewriter) write(dst []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		x.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, " , "...)
			}
			dst = append(append(append(dst, key(name)...), ' ', ':', '\t'), x.write(nil, v[name])...)
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',', ' ')
			}
			dst = x.write(dst, e)
		}
		return append(dst, ']')
	case string:
		s := strconv.QuoteToASCII(v)
		if json.Valid([]byte(s)) { // Go's escapes are JSON's, mostly
			return append(dst, s...)
		}
	}
	return append(dst, key(v)...)
}

func TestIdsOrderOfMembersAndEscapesAreIgnored(t *testing.T) {
	for name, frames := range corpus(t, "") {
		if strings.Contains(name, "broken") {
			continue // duplicate names, ids without a type: nothing to replace
		}
		rewritten := newRewriter().all(frames)
		if r := compare(t, frames, rewritten, Options{}); len(r.Differences) > 0 {
			t.Errorf("%s:\n%s", name, reportLines(r))
		}
	}
}

func TestTimesWithinTheThresholdAreIgnored(t *testing.T) {
	for name, frames := range corpus(t, "healthy") {
		rng := rand.New(rand.NewPCG(1, 1))
		rewritten := slices.Clone(frames)
		by := time.Duration(0)
		for i := range rewritten {
			by += time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
			by = min(by, 200*time.Millisecond)
			rewritten[i].At += by
		}
		if r := compare(t, frames, rewritten, Options{}); len(r.Differences) > 0 {
			t.Errorf("%s:\n%s", name, reportLines(r))
		}
	}
}

// shuffled moves frames of calls past those of unrelated calls.
func shuffled(frames []tap.Frame, rng *rand.Rand) []tap.Frame {
	owner, about := owners(frames)
	out := slices.Clone(frames)
	for range 20 * len(out) {
		i := rng.IntN(len(out) - 1)
		a, b := owner[out[i].Seq], owner[out[i+1].Seq]
		if a == 0 || b == 0 || a == b || about[a] == about[b] {
			continue
		}
		out[i], out[i+1] = out[i+1], out[i]
	}
	for i := range out {
		out[i].At, out[i].Seq = frames[i].At, uint64(i+1)
	}
	return out
}

// owners returns the outermost calls to which frames belong, 0 for frames that must not be moved:
// those that open the session, those of no call and batches. about identifies what calls refer to:
// the order of calls that refer to the same thing matters.
func owners(frames []tap.Frame) (owner map[uint64]uint64, about map[uint64]string) {
	var tracker session.Pairing
	root := map[session.Ref]session.Ref{}
	owner, about = map[uint64]uint64{}, map[uint64]string{}
	for i := range frames {
		f := &frames[i]
		m := jsonrpc.PeekFrame(f)
		for _, p := range tracker.Add(f, &m) {
			call := p.Call
			if p.Call == p.Message {
				root[call] = call
				about[f.Seq] = p.Method
				if p.Method == "tools/call" || p.Method == "prompts/get" {
					about[f.Seq] = jsonrpc.Subject(m)
				}
				if r, ok := root[p.Parent]; ok {
					root[call] = r
				}
				if p.Method == "initialize" || p.Method == "server/discover" || p.Method == "logging/setLevel" {
					root[call] = session.Ref{}
				}
			}
			owner[f.Seq] = root[call].Seq
		}
		if m.Kind == jsonrpc.Batch {
			owner[f.Seq] = 0
		}
	}
	return owner, about
}

func TestIndependentCallsMayComeInAnyOrder(t *testing.T) {
	for name, frames := range corpus(t, "") {
		if strings.Contains(name, "broken") {
			continue
		}
		unique := newRewriter().all(frames) // a reused id would be ambiguous
		for seed := range 6 {
			rewritten := shuffled(unique, rand.New(rand.NewPCG(uint64(seed), 3)))
			if r := compare(t, frames, rewritten, Options{Slower: time.Hour}); len(r.Differences) > 0 {
				t.Errorf("%s, seed %d:\n%s", name, seed, reportLines(r))
				break
			}
		}
	}
}
