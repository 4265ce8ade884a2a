package recording

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
)

// Files are distinguished by content, and an error names the file.
func TestFrames(t *testing.T) {
	const frames = `{"v":1,"type":"recording"}` + "\n" +
		`{"v":1,"type":"frame","seq":1,"at_ns":0,"lane":"to_server","raw":"{\"id\":1,\"method\":\"a\"}\n"}` + "\n" +
		`{"v":1,"type":"end","status":"ended","frames":1}`
	for name, c := range map[string]struct {
		text     string
		requests int
		want     string // in the error
	}{
		"lines.txt":      {"\r\n " + frames, 1, ""},
		"transcript":     {"-- to_server --\n{\"id\":1,\"method\":\"a\"}\n", 1, ""},
		"nothing":        {"", 0, "it is empty"},
		"blank":          {" \n", 0, "it is empty"},
		"diary.txtar":    {"Dear diary,\n", 0, "neither NDJSON nor a transcript"},
		"cut.ndjson":     {frames[:len(frames)-60], 0, "line 2"},
		"newer.ndjson":   {strings.Replace(frames, `"v":1`, `"v":9`, 1), 0, "newer than this mcptap"},
		"odd.txtar":      {"-- to_nobody --\nx\n", 0, "odd.txtar: line 1: frame \"to_nobody\""},
		"zeros":          {"\x00\x00", 0, "zeros"},
		"session.mcptap": {"no recording", 0, "session.mcptap"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			rec, err := mock.Load(Frames(t.Context(), path), replay.Options{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Requests() != c.requests {
				t.Errorf("%d requests", rec.Requests())
			}
		})
	}
	if _, err := mock.Load(Frames(t.Context(), filepath.Join(t.TempDir(), "none.txtar")), replay.Options{}); err == nil {
		t.Error("no error")
	}
	if IsText(t.TempDir()) {
		t.Error("a directory is not text")
	}
}

// Reading ends with the context.
func TestFramesEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte(strings.Repeat("-- to_server --\n{}\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	n := 0
	for f, err := range Frames(ctx, path) {
		if n++; n == 500 {
			end()
		}
		if err != nil && (n <= 500 || f.Seq != 0 || !errors.Is(err, context.Canceled)) {
			t.Error(n, f, err)
		}
	}
	if n > 600 {
		t.Errorf("%d frames", n)
	}
	if rec, err := mock.Load(Frames(ctx, path), replay.Options{}); rec != nil || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
