package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap/streamable"
)

// Secrets in the conversations that are full of them do not reach the queue next to the recording, the
// recording, or exports.
func TestSecretsDoNotReachTheDisk(t *testing.T) {
	for _, name := range []string{"masks", "dead_session", "endpoint", "location", "header_added"} {
		t.Run(name, func(t *testing.T) {
			k := rawtalk.Parse(t, "../../tap/streamable/testdata/talk/"+name+".txt")
			s := &rawtalk.Stage{T: t, Up: rawtalk.Listen(t)}
			r := startTapped(t, "http://"+s.Up.Addr().String()+"/mcp", func(c *streamable.Config) {
				c.KeepSecrets = false
				if k.Set["header"] {
					c.Header = [][2]string{{"X-Extra", "s3cret-of-the-tap"}, {"x-more", "2"}}
				}
			})
			s.Tap = r.Addr().String()
			s.Ended = func() { r.seen.wait(len(s.Got)) }
			s.Client = s.Connect()
			secrets := 0
			for _, st := range k.Steps {
				s.Play(st)
			}
			s.HangUp()
			for _, got := range s.Got {
				secrets += bytes.Count(got.Server, []byte("s3cret")) + bytes.Count(got.Client, []byte("s3cret"))
			}
			if secrets == 0 {
				t.Error("there was no secret to hide")
			}
			// Until a commit and after it, the queue holds the bytes that were recorded.
			noSecretIn(t, filepath.Dir(r.rec.Path()))
			frames, _ := r.settle(nil)
			noSecretIn(t, filepath.Dir(r.rec.Path()))
			for _, format := range []string{"ndjson", "txtar"} {
				if text := export(t, r.rec.Path(), format); bytes.Contains(text, []byte("s3cret")) || len(frames) == 0 {
					t.Errorf("a secret is in the %s of %d frames", format, len(frames))
				}
			}
		})
	}
}

func noSecretIn(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist), err != nil && runtime.GOOS == "windows":
			continue // it is being created, or locked
		case err != nil:
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("s3cret")) {
			t.Errorf("a secret is in %s", f.Name())
		}
	}
}
