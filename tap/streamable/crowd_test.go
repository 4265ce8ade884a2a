package streamable

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// echoes returns a server that echoes its input, sometimes in chunks.
func echoes(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Id", r.Header.Get("X-Id"))
		if len(body)%2 == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// post sends a body in chunks, and expects it back.
func post(t *testing.T, client *http.Client, url, id string, body []byte) {
	req, err := http.NewRequest("POST", url, io.MultiReader(bytes.NewReader(body)))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("X-Id", id)
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, body) || resp.Header.Get("X-Id") != id {
		t.Errorf("%s: got %d bytes, %v", id, len(got), err)
	}
}

// Many concurrent clients, over reused connections: each gets its own response, and each
// exchange has its own records.
func TestManyClients(t *testing.T) {
	tp, rec := begin(t, echoes(t).URL, nil)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	var crowd sync.WaitGroup
	const clients, each = 16, 40
	for c := range clients {
		crowd.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", c, i)
				post(t, client, tp.URL()+"/mcp", id, []byte(id+strings.Repeat(" ", c*i*10)))
			}
		})
	}
	crowd.Wait()
	client.CloseIdleConnections()
	must(t, tp.Close())
	seen := map[string]int{}
	for _, f := range rec.all() {
		if f.event == nil {
			id := strings.TrimRight(string(f.data), " ")
			seen[fmt.Sprintf("%d %s", f.exchange, id)]++
		}
		if f.event != nil && f.event.Name == tap.EventEnd && f.event.Error != "" {
			t.Errorf("exchange %d ended with %q", f.exchange, f.event.Error)
		}
	}
	if len(seen) != clients*each {
		t.Errorf("%d exchanges with bodies", len(seen))
	}
	for what, n := range seen {
		if n != 2 {
			t.Errorf("%s is in %d frames", what, n)
		}
	}
}
