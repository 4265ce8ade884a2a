package mock

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcptap/mcptap/replay"
)

// BenchmarkServer compares the requests per second with 64 clients to those of a handler that returns
// the same bytes.
func BenchmarkServer(b *testing.B) {
	text := ">" + opening + "\n" + `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}` + "\n"
	answer := `{"result":{"content":[{"type":"text","text":"` + string(bytes.Repeat([]byte("Partly cloudy. "), 30)) + `"}]},"jsonrpc":"2.0","id":1}`
	const calls = 100
	for i := range calls {
		text += ">" + benchCall(i) + "\n" + answer + "\n"
	}
	rec, err := Load(each(lines(text)), replay.Options{Pace: replay.Instant})
	if err != nil {
		b.Fatal(err)
	}

	b.Run("bare", func(b *testing.B) {
		crowd(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err != nil {
				b.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
			w.Header().Set("Mcp-Session-Id", "x")
			_, _ = io.WriteString(w, answer)
		}), len(answer), calls)
	})
	b.Run("mock", func(b *testing.B) {
		s := NewServer(rec, ServerOptions{})
		defer s.Close()
		crowd(b, s, len(answer), calls)
	})
}

func benchCall(i int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo","day":` + strconv.Itoa(i) + `}}}`
}

// crowd lets 64 clients send requests.
func crowd(b *testing.B, h http.Handler, size, calls int) {
	const clients = 64
	server := httptest.NewServer(h)
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	post := func(id, body string) (string, int) {
		r, err := http.NewRequest("POST", server.URL+"/mcp", bytes.NewReader([]byte(body)))
		if err != nil {
			b.Error(err)
			return "", 0
		}
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Content-Type", "application/json")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		res, err := transport.RoundTrip(r)
		if err != nil {
			b.Error(err)
			return "", 0
		}
		n, _ := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return res.Header.Get("Mcp-Session-Id"), int(n)
	}
	ids := make([]string, clients)
	for i := range ids {
		ids[i], _ = post("", opening)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for _, id := range ids {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if _, n := post(id, benchCall(int(i)%calls)); n != size {
					b.Errorf("%d bytes", n)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}
