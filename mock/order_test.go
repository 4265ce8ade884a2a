package mock

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A slowWriter records when its body has been written, which it delays.
type slowWriter struct {
	*httptest.ResponseRecorder
	wrote func()
}

func (w slowWriter) Write(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	w.wrote()
	return w.ResponseRecorder.Write(p)
}

// The answers to concurrent calls are written in recorded order, whatever the order of the calls:
// each waits until the previous one has been written.
func TestServerWritesInOrder(t *testing.T) {
	var frames []tap.Frame
	for i, line := range []string{
		`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`,
		`> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}`,
		`> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"c"}}`,
		`< {"jsonrpc":"2.0","id":3,"result":{}}`,
		`< {"jsonrpc":"2.0","id":1,"result":{}}`,
		`< {"jsonrpc":"2.0","id":2,"result":{}}`,
	} {
		lane := tap.ToServer
		if line[0] == '<' {
			lane = tap.ToClient
		}
		frames = append(frames, tap.Frame{Seq: uint64(i + 1), Lane: lane, Form: tap.FormLine, Raw: []byte(line[2:]), Size: int64(len(line) - 2)})
	}
	for _, order := range [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}} {
		t.Run(strings.Join(order, ""), func(t *testing.T) {
			t.Parallel()
			s := NewServer(loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{})
			defer s.Close()
			var mu sync.Mutex
			var got []string
			var all sync.WaitGroup
			for i, name := range order {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":"`+name+`","method":"tools/call","params":{"name":"`+name+`"}}`))
				w := slowWriter{httptest.NewRecorder(), func() {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, name)
				}}
				all.Go(func() { s.ServeHTTP(w, r) })
				if i < len(order)-1 {
					time.Sleep(5 * time.Millisecond) // so that they arrive in this order
				}
			}
			all.Wait()
			if want := []string{"c", "a", "b"}; !slices.Equal(got, want) {
				t.Errorf("written in the order %q, want %q", got, want)
			}
		})
	}
}
