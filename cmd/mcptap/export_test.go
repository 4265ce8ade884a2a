package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// damagedRecording has six frames. The fourth is large and cannot be read.
func damagedRecording(t *testing.T, large string) string {
	t.Helper()
	var frames []tap.Frame
	for i := range 6 {
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","method":"m%d"}`+"\n", i+1)
		if i == 3 {
			raw = large
		}
		frames = append(frames, tap.Frame{Lane: tap.ToServer, Raw: []byte(raw)})
	}
	path := record(t, frames)
	breakSegment(t, path, func(kind byte, part uint64) bool { return kind == 1 && part%16 == 1 }) // after what Frames loads
	return path
}

// noise is 3 MiB that do not compress well.
func noise(letters string) string {
	rng := rand.New(rand.NewPCG(7, 8))
	b := make([]byte, 3<<20)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

// An export that meets damage ends with a complete frame, and reports which one and how to continue.
func TestExportOfADamagedRecording(t *testing.T) {
	for name, large := range map[string]string{
		"text":   noise("0123456789abcdef"),
		"binary": noise("0123456789abcde\xff"),
	} {
		path := damagedRecording(t, large)
		for _, format := range []string{"ndjson", "txtar"} {
			var stderr bytes.Buffer
			a, stdout := testApp(nil)
			a.stderr = &stderr
			if code := a.run([]string{"export", path, "--format", format}); code != exitFailure {
				t.Errorf("%s: exit %d", name, code)
			}
			out := stdout.String()
			if !strings.HasSuffix(out, "\n") || !strings.Contains(out, "m3") || strings.Contains(out, "seq\":4") || strings.Contains(out, "-- 0004") {
				t.Errorf("%s: the output does not end with frame 3: %q", name, out[max(0, len(out)-200):])
			}
			if format == "ndjson" {
				for line := range strings.Lines(out) {
					if !json.Valid([]byte(line)) {
						t.Errorf("%s: half a line: %.200q", name, line)
					}
				}
			}
			for _, want := range []string{"mcptap: export ended after frame 3: ", "damaged recording", "mcptap: hint: `mcptap export " + path + " --salvage`"} {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("%s: stderr is %q, want %q", name, stderr.String(), want)
				}
			}
		}

		// A single frame: nothing is written rather than half of it.
		var stderr bytes.Buffer
		a, stdout := testApp(nil)
		a.stderr = &stderr
		if code := a.run([]string{"show", path, "4", "--json"}); code != exitFailure || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, %.200q", name, code, stdout)
		}
	}
}

// With -o, no file is left.
func TestExportOfADamagedRecordingToAFile(t *testing.T) {
	path := damagedRecording(t, noise("0123456789abcdef"))
	file := filepath.Join(t.TempDir(), "out.ndjson")
	a, out := testApp(nil)
	if code := a.run([]string{"export", path, "-o", file}); code != exitFailure {
		t.Errorf("exit %d", code)
	}
	if want := "mcptap: write " + file + ": after frame 3: "; !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "--salvage") {
		t.Errorf("%s, want %s", out, want)
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) > 0 {
		t.Errorf("%v is left", entries)
	}
}
