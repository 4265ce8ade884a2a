//lint:file-ignore SA1019 the recorded revision has roots

package mock

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// In 2026-07-28 there is no session: requests and subscriptions are answered on their own POST, and
// hanging up cancels.
func TestRecordingStateless(t *testing.T) {
	const subscription = `"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}`
	live := newFakeLive(map[string][]string{
		`"new"`:                     {`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + subscription + `}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"new"}}`, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}`},
		`"subscriptions/listen"`:    {`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + subscription + `}}`},
		`"nothing"`:                 {`{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no"}}`},
		`"notifications/cancelled"`: {`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"late"}}`},
	})
	k := newRecordingServer(t, `>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}
{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}
`, func() (io.ReadWriteCloser, error) { return live, nil })
	c := newWebClient(t, k.url+"/mcp")
	request := func(id, method, more string) []byte {
		return []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + more + modernMeta + `}}`)
	}
	if status := c.post("list", request("1", "tools/list", "")); status != 200 || c.session != "" {
		t.Error(status, c.session)
	}
	wantLines(t, "list", c.got["list"], `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}`)
	c.post("listen", request(`"s"`, "subscriptions/listen", ""))
	if status := c.post("again", request(`"s"`, "subscriptions/listen", "")); status != http.StatusConflict {
		t.Error(status)
	}
	c.post("new", request("2", "tools/call", `"name":"new",`))
	c.until(func() bool { return len(c.got["new"]) == 2 && len(c.got["listen"]) == 2 })
	if status := c.post("nothing", request("4", "nothing", "")); status != http.StatusNotFound {
		t.Error(status)
	}
	res, body := ask(t, k.url, testRequest{"POST", "/mcp", []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: other"}, string(request("5", "tools/list", ""))})
	if res.StatusCode != 400 || !strings.Contains(body, "-32020") {
		t.Error(res.Status, body)
	}
	c.cancel() // which ends the subscription
	for !strings.Contains(strings.Join(live.lines(), "\n"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`) {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-k.over:
		t.Error("the session ended on its own")
	default:
	}
}

// A batch is answered when all of its requests are.
func TestRecordingBatch(t *testing.T) {
	k := newRecordingServer(t, recordedPart, noServer)
	id := recordingBegun(t, k)
	batch := `[{"jsonrpc":"2.0","id":"a","method":"ping"},` + liveReady + `,{"jsonrpc":"2.0","id":"b","method":"ping"}]`
	res, body := ask(t, k.url, testRequest{"POST", "/mcp", []string{id}, batch})
	if res.StatusCode != 200 || strings.Count(body, `"result"`) != 2 {
		t.Error(res.Status, body)
	}
	res, body = ask(t, k.url, testRequest{"POST", "/mcp", []string{id}, `[` + liveReady + `]`})
	if res.StatusCode != 202 {
		t.Error(res.Status, body)
	}
}

// playedLive is a live server that plays a recording on a pair of pipes.
func playedLive(t *testing.T, frames []tap.Frame) func() (io.ReadWriteCloser, error) {
	return func() (io.ReadWriteCloser, error) {
		rec := loaded(t, frames, replay.Options{})
		in, inW := io.Pipe()
		out, outW := io.Pipe()
		go func() {
			_, _ = Stdio(t.Context(), rec.Script, in, outW, nil)
			outW.Close()
			in.Close()
		}()
		return &fakeLive{Reader: out, toClient: outW, fromMock: inW}, nil
	}
}

// The official SDK can be recorded over HTTP, and cannot distinguish a mock of that recording from
// the server, in either era.
func TestRecordingWithSDK(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, "real-demo-"+revision)
			k := newRecordingServer(t, "", playedLive(t, frames))
			drive := func(url string) {
				client := mcp.NewClient(&mcp.Implementation{Name: "mcptap-demo-client", Version: "1.0.0"}, sdkOptions(func() {}))
				client.AddRoots(&mcp.Root{URI: "file:///home/demo/briefings", Name: "briefings"}, &mcp.Root{URI: "file:///home/demo/drafts", Name: "drafts"})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				exercise(t, ctx, s, frames)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			drive(k.url + "/mcp")
			if revision == "2026-07-28" {
				k.server.Close() // nothing else ends it
			}
			<-k.over
			added := k.l.Added()
			if len(added) < len(frames)/2 {
				t.Fatalf("%d frames of %d were recorded", len(added), len(frames))
			}
			for i := range added {
				added[i].Seq = uint64(i + 1)
			}
			var noted notes
			s, url := served(t, loaded(t, added, replay.Options{}), ServerOptions{Note: noted.note})
			drive(url + s.Path())
			for _, n := range noted.all {
				if n.Kind.Fails() {
					t.Errorf("%v: %s", n.Kind, n.Text)
				}
			}
		})
	}
}
