package mock

import (
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// Whoever waits for what decides which session he gets, waits alone.
func TestServerBeginWaitsAlone(t *testing.T) {
	stopped := func(frames []tap.Frame) *trickle {
		return &trickle{frames: frames, at: 2000, goOn: make(chan struct{}), r: rand.New(rand.NewPCG(1, 1))}
	}
	t.Run("whether there is a handshake", func(t *testing.T) {
		_, srv, url, goOn := halfServed(t, stopped(benchFrames(2000)[2:]), ServerOptions{})
		waits := later(t, url+"/mcp", "", firstCall)
		c := dialSocket(t, url, "/ws")
		if err := c.send([]byte(firstCall)); err != nil || !c.until(1) {
			t.Fatal(err, c.got)
		}
		streamsOf(srv, 1)
		goOn()
		if x := <-waits; x.status != 200 || !strings.Contains(x.body, "Day 0 in Oslo") {
			t.Errorf("%+v", x)
		}
	})
	t.Run("whether a client begins anew", func(t *testing.T) {
		const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + statelessMeta + `}}`
		text := ">" + discover + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}` + "\n"
		frames := append(lines(text), benchFrames(2000)...)
		for i := range frames {
			frames[i].Seq = uint64(i + 1)
		}
		_, srv, url, goOn := halfServed(t, stopped(frames), ServerOptions{})
		visit := func(path string) <-chan string {
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			v := visitor{over: transport, name: "v"}
			got := make(chan string, 1)
			x := said{"POST", path, []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: server/discover"}, discover}
			go func() { got <- v.visit(t, url, x) }()
			return got
		}
		<-visit("/mcp")
		var first *talk
		srv.mu.Lock()
		for first = range srv.talks {
		}
		srv.mu.Unlock()
		again := visit("/mcp")
		for first.gate.TryLock() { // until somebody waits there
			first.gate.Unlock()
			runtime.Gosched()
		}
		if got := <-visit("/mcp?client=2"); !strings.Contains(got, "supportedVersions") {
			t.Error(got)
		}
		goOn()
		if got := <-again; !strings.Contains(got, "supportedVersions") {
			t.Error(got)
		}
		srv.mu.Lock()
		defer srv.mu.Unlock()
		if n := len(srv.talks); n != 3 {
			t.Error(n, "sessions")
		}
	})
}
