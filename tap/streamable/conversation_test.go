package streamable

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/redact/record"
)

var update = flag.Bool("update", false, "rewrite the recordings in testdata")

// A stage is a tap between a raw client and a raw server.
type stage struct {
	*rawtalk.Stage
	tap *Tap
	rec *memory
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin starts a tap in front of the upstream.
func begin(t testing.TB, upstream string, change func(*Config)) (*Tap, *memory) {
	t.Helper()
	u, err := url.Parse(upstream)
	must(t, err)
	rec := newMemory(t)
	cfg := Config{Upstream: u, Recorder: rec, Warn: func(s string) { t.Errorf("warned: %s", s) }}
	if change != nil {
		change(&cfg)
	}
	cfg.mask()
	tp, err := New(cfg)
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- tp.Serve() }()
	t.Cleanup(func() {
		tp.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return tp, rec
}

// mask puts the same masker before the recorder as `mcptap http`.
func (c *Config) mask() {
	if c.Recorder != nil && !c.KeepSecrets {
		c.Recorder = record.NewMasker([]byte("a key"), c.Header, c.Recorder)
	}
}

func newStage(t testing.TB, change func(*Config)) *stage {
	t.Helper()
	s := &stage{Stage: &rawtalk.Stage{T: t, Up: rawtalk.Listen(t)}}
	s.tap, s.rec = begin(t, "http://"+s.Up.Addr().String()+"/mcp", change)
	s.Tap = s.tap.Addr().String()
	s.Ended = func() {
		s.rec.wait(func(frames []*frame) bool {
			return countEvents(frames, "connect") > 0 && countEvents(frames, "connect") == countEvents(frames, "disconnect")
		})
	}
	s.Client = s.Connect()
	return s
}

// finish ends the connection and returns what was recorded.
func (s *stage) finish() string {
	s.HangUp()
	s.tap.Close()
	return s.Neutral(s.rec.text(false))
}

func countEvents(frames []*frame, name string) int {
	n := 0
	for _, f := range frames {
		if f.event != nil && f.event.Name == name {
			n++
		}
	}
	return n
}

// configure applies the settings of a conversation.
func configure(k *rawtalk.Talk) func(*Config) {
	return func(cfg *Config) {
		cfg.KeepSecrets = k.Set["keep-secrets"]
		cfg.RewriteAuth = k.Set["rewrite-auth"]
		if k.Set["header"] {
			cfg.Header = [][2]string{{"X-Extra", "s3cret-of-the-tap"}, {"x-more", "2"}}
		}
	}
}

func talks(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/talk/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no talks: %v", err)
	}
	return files
}

// Each side sees the bytes that the other sent, except for the listed differences, and the
// recording is the listed one.
func TestConversations(t *testing.T) {
	for _, file := range talks(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			k := rawtalk.Parse(t, file)
			s := newStage(t, configure(k))
			for _, st := range k.Steps {
				s.Play(st)
			}
			got := s.finish()
			if !k.Set["keep-secrets"] && strings.Contains(s.rec.everything(), "s3cret") {
				t.Error("a secret is in the recording")
			}
			if *update {
				must(t, os.WriteFile(file, []byte(k.Head+rawtalk.RecordsMark+got), 0o666))
				return
			}
			diffLines(t, got, k.Records)
		})
	}
}

// diffLines reports the first line that differs.
func diffLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var gl, wl string
		if i < len(g) {
			gl = g[i]
		}
		if i < len(w) {
			wl = w[i]
		}
		if gl != wl {
			t.Errorf("line %d of %d of the recording:\ngot  %s\nwant %s", i+1, len(w), gl, wl)
			return
		}
	}
}
