package mock

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// corpus returns the names of the healthy recorded sessions.
func corpus(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "sessions", "*.txtar"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d sessions: %v", len(files), err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".txtar"); !strings.HasSuffix(name, "-broken") {
			names = append(names, name)
		}
	}
	return names
}

// hasHeads reports whether a session was recorded with the heads of its exchanges.
func hasHeads(frames []tap.Frame) bool {
	return slices.ContainsFunc(frames, func(f tap.Frame) bool {
		e, err := tap.ParseEvent(f.Raw)
		return f.Lane == tap.Lifecycle && err == nil && e.Name == tap.EventRequest
	})
}

// notes collects the notes of a server.
type notes struct {
	mu  sync.Mutex
	all []replay.Note
}

func (n *notes) note(x replay.Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, x)
}

func (n *notes) check(t *testing.T) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.all {
		if x.Kind.Deviates() {
			t.Errorf("%v: %s", x.Kind, x.Text)
		}
	}
}

// Whatever the transport of the recording, its client half gets the recorded server half over
// Streamable HTTP, message for message.
func TestServerHealthySessions(t *testing.T) {
	for _, name := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := recorded(t, name)
			if hasHeads(frames) {
				return // covered by TestServerRecordedExchanges
			}
			var noted notes
			s, url := served(t, loaded(t, frames, replay.Options{Pace: replay.Instant}), ServerOptions{Note: noted.note})
			c := newWebClient(t, url+s.Path())
			c.half(frames, s.opened)
			c.check(t, messages(frames))
			noted.check(t)
		})
	}
}

// opened counts the requests accepted by a server that are answered on a stream.
func (s *Server) opened() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.open {
		t.mu.Lock()
		n += int(t.last)
		t.mu.Unlock()
	}
	return n
}
