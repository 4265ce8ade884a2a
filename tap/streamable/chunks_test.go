package streamable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// lanes are the two lanes of a connection, without sockets.
type lanes struct {
	up          upLane
	down        downLane
	rec         *memory
	cut         func(n int) int // the size of the next chunk, of n bytes
	later       []byte          // bytes that wait for a decision
	toUp, toDwn []byte          // the forwarded bytes
	own         []byte          // the responses of the tap
	over        bool
}

const (
	pureTap = "127.0.0.1:40001"
	pureUp  = "127.0.0.1:40002"
)

func newSite(t testing.TB, rec *memory, change func(*Config)) *Tap {
	t.Helper()
	u, err := url.Parse("http://" + pureUp + "/mcp")
	must(t, err)
	cfg := Config{Upstream: u, Recorder: rec, Warn: func(s string) { t.Errorf("warned: %s", s) }}
	if change != nil {
		change(&cfg)
	}
	cfg.mask()
	upstream, err := cfg.checkUpstream()
	must(t, err)
	addr, err := net.ResolveTCPAddr("tcp", pureTap)
	must(t, err)
	extra, names, err := cfg.extra()
	must(t, err)
	return &Tap{
		rec: tap.Guard(cfg.Recorder, cfg.Warn), warn: cfg.Warn, keepSecrets: cfg.KeepSecrets,
		hosts: cfg.names(upstream, addr), extra: extra, extraNames: names, rewriteAuth: cfg.RewriteAuth,
	}
}

func newLanes(t testing.TB, change func(*Config), cut func(int) int) *lanes {
	t.Helper()
	l := &lanes{rec: newMemory(t), cut: cut}
	l.connect(newSite(t, l.rec, change))
	return l
}

func (l *lanes) connect(s *Tap) {
	tr := &traffic{Tap: s, local: "127.0.0.1"}
	l.up, l.down = upLane{lane: lane{traffic: tr, name: tap.ToServer}}, downLane{lane: lane{traffic: tr, name: tap.ToClient}}
	l.later, l.over = nil, false
}

var noon = time.Unix(0, 0)

func (l *lanes) client(p []byte) {
	l.later = append(l.later, p...)
	for len(l.later) > 0 && !l.over && l.up.state != stateOwn {
		if l.up.state == stateWaiting {
			if !isClosed(l.up.ex.decided) {
				return
			}
			l.up.resume()
		}
		n := l.cut(len(l.later))
		// The chunk's memory is reused, as that of a connection is.
		chunk := bytes.Clone(l.later[:n])
		l.toUp = append(l.toUp, l.up.feed(chunk, noon)...)
		rest := l.up.left
		for i := range chunk {
			if i < len(chunk)-len(rest) {
				chunk[i] = '#'
			}
		}
		l.later = l.later[n-len(rest):]
	}
	l.answer()
}

func (l *lanes) server(p []byte) {
	for len(p) > 0 && l.down.state != stateOwn {
		n := l.cut(len(p))
		chunk := bytes.Clone(p[:n])
		l.toDwn = append(l.toDwn, l.down.feed(chunk, noon)...)
		for i := range chunk {
			chunk[i] = '#'
		}
		p = p[n:]
	}
	l.answer()
	l.client(nil)
}

// answer sends the tap's own response, if it is its turn.
func (l *lanes) answer() {
	if ex := l.up.pending(); ex != nil && !l.over {
		l.own = append(l.own, l.up.answer(ex)...)
		l.over = true
	}
}

// end ends both sides, the one named by first.
func (l *lanes) end(by string, clean bool) {
	how := hungUp
	if !clean {
		how = "reset the connection"
	}
	l.up.lost(by, how)
	if by == byClient {
		l.toUp = append(l.toUp, l.up.end()...)
		l.toDwn = append(l.toDwn, l.down.end(clean)...)
		return
	}
	l.toDwn = append(l.toDwn, l.down.end(clean)...)
	l.toUp = append(l.toUp, l.up.end()...)
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ways are the ways to cut the traffic into chunks.
var ways = map[string]func(seed uint64) func(int) int{
	"whole":       func(uint64) func(int) int { return func(n int) int { return n } },
	"single":      func(uint64) func(int) int { return func(int) int { return 1 } },
	"random":      randomCuts,
	"random more": func(seed uint64) func(int) int { return randomCuts(seed + 1) },
}

func randomCuts(seed uint64) func(int) int {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(n int) int { return 1 + r.IntN(min(n, 1<<r.IntN(13))) }
}

// replay plays a conversation on lanes without connections, and describes the result.
func replay(t *testing.T, k *rawtalk.Talk, cut func(int) int) string {
	l := newLanes(t, configure(k), cut)
	var out strings.Builder
	ended := false
	finish := func(by string, clean bool) {
		if !ended {
			l.end(by, clean)
		}
		ended = true
		fmt.Fprintf(&out, "up %s\ndown %s\nown %s\n", rawtalk.Escaped(l.toUp), rawtalk.Escaped(l.toDwn), rawtalk.Escaped(l.own))
		l.toUp, l.toDwn, l.own = nil, nil, nil
	}
	for _, st := range k.Steps {
		switch {
		case st.Verb == ">" && !ended:
			l.client(rawtalk.Expand(t, st.Text, pureTap, pureTap, pureUp))
		case st.Verb == "<" && !ended:
			l.server(rawtalk.Expand(t, st.Text, pureUp, pureTap, pureUp))
		case st.Verb == "client again":
			finish(byClient, true)
			l.connect(l.up.Tap)
			ended = false
		case strings.HasSuffix(st.Verb, "close"), strings.HasSuffix(st.Verb, "rst"):
			by, how, _ := strings.Cut(st.Verb, " ")
			finish(by, how == "close")
		case st.Verb == "server fin":
			finish(byServer, true)
		}
	}
	finish(byClient, true)
	return out.String() + l.rec.text(true)
}

// Forwarding and recording do not depend on how the bytes were cut into reads.
func TestChunksDoNotMatter(t *testing.T) {
	for _, file := range talks(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			k := rawtalk.Parse(t, file)
			want := replay(t, k, ways["whole"](0))
			for name, way := range ways {
				for seed := range uint64(5) {
					got := replay(t, k, way(seed))
					if got != want {
						t.Errorf("cut in the way %q, seed %d:", name, seed)
						diffLines(t, got, want)
						break
					}
				}
			}
		})
	}
}

// joinFrames returns the bytes of both lanes, without the boundaries of frames.
func joinFrames(m *memory) string {
	type key struct {
		exchange   uint64
		lane, form string
	}
	var order []key
	data := map[key]*strings.Builder{}
	for _, f := range m.all() {
		k := key{f.exchange, f.lane.String(), f.form.String()}
		if data[k] == nil {
			data[k] = new(strings.Builder)
			order = append(order, k)
		}
		if f.event != nil {
			describeEvent(data[k], f.exchange, f.event)
		} else {
			data[k].Write(f.data)
		}
	}
	var b strings.Builder
	for _, k := range order {
		fmt.Fprintf(&b, "%v: %s\n", k, rawtalk.Escaped([]byte(data[k].String())))
	}
	return b.String()
}

// FuzzTraffic feeds arbitrary bytes to both lanes. However they are cut, the same is
// forwarded and recorded; and the forwarded bytes are those received, unless the
// recording reports otherwise.
func FuzzTraffic(f *testing.F) {
	for _, file := range talks(f) {
		k := rawtalk.Parse(f, file)
		var up, down []byte
		for _, st := range k.Steps {
			switch st.Verb {
			case ">":
				up = append(up, rawtalk.Expand(f, st.Text, "evil", pureTap, pureUp)...)
			case "<":
				down = append(down, rawtalk.Expand(f, st.Text, "evil", pureTap, pureUp)...)
			case "client again":
				f.Add(up, down, uint64(1))
				up, down = nil, nil
			}
		}
		f.Add(up, down, uint64(2))
	}
	f.Fuzz(func(t *testing.T, up, down []byte, seed uint64) {
		run := func(cut func(int) int) *lanes {
			l := newLanes(t, func(c *Config) { c.RewriteAuth = true }, cut)
			l.client(up)
			l.server(down)
			l.end(byServer, true)
			return l
		}
		whole := run(ways["whole"](0))
		for name, way := range ways {
			l := run(way(seed))
			if !bytes.Equal(l.toUp, whole.toUp) || !bytes.Equal(l.toDwn, whole.toDwn) || !bytes.Equal(l.own, whole.own) {
				t.Errorf("%s: forwarded\n%q\n%q\n%q\nand whole\n%q\n%q\n%q", name, l.toUp, l.toDwn, l.own, whole.toUp, whole.toDwn, whole.own)
			}
			got, want := joinFrames(l.rec), joinFrames(whole.rec)
			if got != want && !strings.Contains(want, "could not be") { // what remains depends on the piece
				t.Errorf("%s:", name)
				diffLines(t, got, want)
			}
		}
		if len(whole.rec.events("rewrite")) > 0 {
			return
		}
		if !bytes.HasPrefix(up, whole.toUp) || len(whole.toUp) < len(up) && whole.up.state != stateOwn && len(whole.later) == 0 {
			t.Errorf("the server got\n%q of\n%q", whole.toUp, up)
		}
		if !bytes.HasPrefix(down, whole.toDwn) || len(whole.toDwn) < len(down) && !whole.over {
			t.Errorf("the client got\n%q of\n%q", whole.toDwn, down)
		}
	})
}
