package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// corpus returns the recorded sessions to play, by name.
func corpus(tb testing.TB) map[string][]tap.Frame {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("..", "testdata", "sessions", "*.txtar"))
	if err != nil || len(names) < 100 {
		tb.Fatalf("%d sessions: %v", len(names), err)
	}
	all := map[string][]tap.Frame{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".txtar")] = parse(tb, string(data))
	}
	return all
}

func parse(tb testing.TB, data string) []tap.Frame {
	tb.Helper()
	_, frames, err := text.Parse([]byte(data))
	if err != nil {
		tb.Fatal(err)
	}
	return frames
}

// script builds a script from frames.
func script(tb testing.TB, frames []tap.Frame, opt Options) *Script {
	tb.Helper()
	b := NewBuilder(opt)
	var tracker session.Tracker
	for i := range frames {
		b.Add(tracker.Add(&frames[i]), nil)
	}
	return b.Script()
}

// A player is a client of a session, with its own clock.
type player struct {
	tb    testing.TB
	s     *Session
	now   time.Duration
	out   []Output
	at    []time.Duration
	notes []Note
	// stood is how long the session's clock has been stopped, nil for never.
	stood func() time.Duration
}

// clock returns the time to pass to the session.
func (p *player) clock() time.Duration {
	if p.stood == nil {
		return p.now
	}
	return p.now + p.stood()
}

// due returns when something is due, on the player's clock.
func (p *player) due() (time.Duration, bool) {
	due, ok := p.s.Due()
	return due - p.clock() + p.now, ok
}

func newPlayer(tb testing.TB, s *Script) *player {
	p := &player{tb: tb, s: s.NewSession()}
	p.s.Attach(0, 1, Duplex)
	p.drain()
	return p
}

// drain reads all output that is due now.
func (p *player) drain() {
	p.tb.Helper()
	for range 100_000 {
		out, ok := p.s.Next(p.clock())
		p.notes = append(p.notes, p.s.Notes()...)
		if !ok {
			return
		}
		p.out = append(p.out, out)
		p.at = append(p.at, p.now)
	}
	p.tb.Fatal("the session never ends")
}

func (p *player) send(raw []byte) {
	p.s.Receive(p.clock(), Input{Stream: 1, Raw: raw})
	p.drain()
}

// until advances the clock to a point in time.
func (p *player) until(t time.Duration) {
	p.tb.Helper()
	for {
		due, ok := p.due()
		if !ok || due > t {
			break
		}
		p.now = max(p.now, due)
		before := len(p.out) + len(p.notes)
		p.drain()
		if next, ok := p.due(); ok && next <= p.now && len(p.out)+len(p.notes) == before {
			p.tb.Fatalf("due at %v, but nothing happens", next)
		}
	}
	p.now = max(p.now, t)
}

// have advances the clock until n messages have been written.
func (p *player) have(n int) {
	p.tb.Helper()
	for len(p.out) < n {
		due, ok := p.due()
		if !ok {
			return
		}
		p.until(due)
	}
}

// A mapper replaces a client's ids and tokens by other values of the same type.
type mapper struct {
	on bool
	// ids are those of the client's requests, tokens their progress tokens, listens the ids of
	// subscriptions, all in canonical form.
	ids, tokens, listens map[string]bool
}

func newMapper(frames []tap.Frame, on bool) *mapper {
	x := &mapper{on, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i := range frames {
		if frames[i].Lane != tap.ToServer {
			continue
		}
		var v any
		if decodeJSON(frames[i].Raw, &v) != nil {
			continue
		}
		each(v, func(m map[string]any) {
			if _, ok := m["method"]; !ok {
				return
			}
			if id, ok := m["id"]; ok {
				x.ids[idText(id)] = true
				x.listens[idText(id)] = m["method"] == "subscriptions/listen"
			}
			if token := at(m, "params", "_meta", "progressToken"); token != nil {
				x.tokens[idText(token)] = true
			}
		})
	}
	return x
}

func decodeJSON(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw[begin(raw):]))
	d.UseNumber()
	return d.Decode(v)
}

func encodeJSON(tb testing.TB, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return append(b, '\n')
}

func each(v any, fn func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		fn(v)
	case []any:
		for _, e := range v {
			each(e, fn)
		}
	}
}

func at(v any, names ...string) any {
	for _, name := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func idText(v any) string {
	b, _ := json.Marshal(v)
	return canonical(b)
}

// other returns another value of the same type.
func other(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number("7" + strings.ReplaceAll(strings.TrimPrefix(v.String(), "-"), ".0", "") + "1")
	case string:
		return "other " + v
	}
	return v
}

func (x *mapper) put(m map[string]any, name string, known map[string]bool) {
	if v, ok := m[name]; ok && known[idText(v)] {
		m[name] = other(v)
	}
}

// client returns the live message for a recorded client message.
func (x *mapper) client(tb testing.TB, raw []byte) []byte {
	var v any
	if !x.on || decodeJSON(raw, &v) != nil {
		return raw
	}
	each(v, func(m map[string]any) {
		if _, ok := m["method"]; !ok {
			return
		}
		x.put(m, "id", x.ids)
		if params, ok := m["params"].(map[string]any); ok {
			x.params(m, params, true)
		}
	})
	return encodeJSON(tb, v)
}

// params replaces the values with which both sides refer to a request or a token.
func (x *mapper) params(m, params map[string]any, client bool) {
	switch m["method"] {
	case "notifications/cancelled":
		if client || x.listens[idText(params["requestId"])] {
			x.put(params, "requestId", x.ids)
		}
	case "cancel", "progress":
		x.put(params, "id", x.ids)
	}
	x.put(params, "progressToken", x.tokens)
	if meta, ok := params["_meta"].(map[string]any); ok {
		x.put(meta, "progressToken", x.tokens)
		x.put(meta, jsonrpc.MetaPrefix+"subscriptionId", x.listens)
	}
}

// server returns what the live client must get instead of a message that the recorded one got.
func (x *mapper) server(tb testing.TB, raw []byte) []byte {
	var v any
	if !x.on || decodeJSON(raw, &v) != nil {
		return raw
	}
	each(v, func(m map[string]any) {
		if params, ok := m["params"].(map[string]any); ok {
			if _, request := m["id"]; !request {
				x.params(m, params, false)
			}
			return
		}
		if _, ok := m["method"]; ok {
			return
		}
		x.put(m, "id", x.ids)
		if meta, ok := at(m, "result", "_meta").(map[string]any); ok {
			x.put(meta, jsonrpc.MetaPrefix+"subscriptionId", x.listens)
		}
	})
	return encodeJSON(tb, v)
}

// same compares two messages, by value if they cannot be equal byte for byte.
func same(tb testing.TB, exact bool, got, want []byte) bool {
	if exact || bytes.Equal(got, want) {
		return bytes.Equal(got, want)
	}
	var a, b any
	if decodeJSON(got, &a) != nil || decodeJSON(want, &b) != nil {
		return false
	}
	return bytes.Equal(encodeJSON(tb, a), encodeJSON(tb, b))
}

// replayAll plays the client half of a recording in step with the server half: each client
// message is sent when everything that the server had sent before it has been written, or at its
// recorded time.
func replayAll(tb testing.TB, frames []tap.Frame, opt Options, mapped, timed bool) *player {
	tb.Helper()
	p := newPlayer(tb, script(tb, frames, opt))
	x := newMapper(frames, mapped)
	sent := 0
	for i := range frames {
		f := &frames[i]
		switch f.Lane {
		case tap.ToClient:
			sent++
		case tap.ToServer:
			if timed {
				p.until(f.At - 1)
				p.now = f.At
			} else {
				p.have(sent)
			}
			p.send(x.client(tb, f.Raw))
		case tap.Lifecycle:
			if e, err := tap.ParseEvent(f.Raw); err == nil && e.Name == tap.EventEOF && e.Lane == "to_server" {
				p.have(sent)
				p.s.End(p.now)
				p.drain()
			}
		}
	}
	p.until(p.now + time.Hour)
	return p
}

// The recorded client half gets the recorded server half, byte for byte, at any pace. With other
// ids and tokens it gets the same with these ids and tokens.
func TestHealthySessions(t *testing.T) {
	for name, frames := range corpus(t) {
		if strings.HasSuffix(name, "-broken") {
			continue
		}
		for _, pace := range []Pace{Instant, Brisk, Recorded} {
			for _, mapped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v,mapped=%v", name, pace, mapped), func(t *testing.T) {
					p := replayAll(t, frames, Options{Pace: pace}, mapped, pace == Recorded)
					checkHalf(t, p, frames, mapped)
				})
			}
		}
	}
}

func checkHalf(t *testing.T, p *player, frames []tap.Frame, mapped bool) {
	t.Helper()
	x := newMapper(frames, mapped)
	n := 0
	out := p.out
	if len(out) > 0 && out[len(out)-1].Leave {
		out = out[:len(out)-1]
	}
	for i := range frames {
		if frames[i].Lane != tap.ToClient {
			continue
		}
		want := x.server(t, frames[i].Raw)
		if n >= len(out) {
			t.Fatalf("no output for frame %d: %s", frames[i].Seq, want)
		}
		if !same(t, !mapped, out[n].Raw, want) {
			t.Fatalf("message %d: got %s\nwant frame %d: %s", n, out[n].Raw, frames[i].Seq, want)
		}
		n++
	}
	for _, o := range out[n:] {
		t.Errorf("surplus output: %s", o.Raw)
	}
	for _, note := range p.notes {
		if note.Kind.Deviates() {
			t.Errorf("%v: %s", note.Kind, note.Text)
		}
	}
}
