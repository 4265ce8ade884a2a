package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
)

// corpus imports the sessions of the corpus and returns their files by name.
func corpus(t *testing.T) (names []string, paths map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sessions", "*.txtar"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d sessions: %v", len(files), err)
	}
	streams, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "sessions", "streams", "*.txtar"))
	if len(streams) == 0 {
		t.Fatal("no streams")
	}
	files = append(files, streams...)
	paths = map[string]string{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		names, paths[name] = append(names, name), importFrom(t, f)
		f.Close()
	}
	return names, paths
}

// The output for each session of the corpus, as frames, calls and trees, on a narrow, a usual and a
// wide terminal. No line is wider than the terminal, and no recorded text reaches it unescaped.
func TestCorpusAtWidths(t *testing.T) {
	names, paths := corpus(t)
	for _, view := range []string{"frames", "calls", "tree"} {
		for _, width := range []int{60, 80, 140} {
			var all bytes.Buffer
			for _, name := range names {
				a, out := testApp(map[string]string{"COLUMNS": fmt.Sprint(width)})
				args := []string{"show", paths[name]}
				if view != "frames" {
					args = append(args, "--"+view)
				}
				if code := a.run(args); code != 0 {
					t.Fatalf("%s: exit %d: %s", name, code, out)
				}
				fmt.Fprintf(&all, "== %s\n%s\n", name, out)
				for line := range strings.Lines(out.String()) {
					line = strings.TrimSuffix(line, "\n")
					if w := term.Width(line); w > width {
						t.Errorf("%s as %s at %d columns has a line of %d: %s", name, view, width, w, line)
					}
					if !safe.Clean(line) {
						t.Errorf("%s as %s at %d columns: %q", name, view, width, line)
					}
				}
			}
			golden(t, fmt.Sprintf("corpus-%s-%d.txt", view, width), all.Bytes())
		}
	}
}

// Below 60 columns some columns are omitted, and lines still fit.
func TestCorpusOnNarrowTerminals(t *testing.T) {
	names, paths := corpus(t)
	for width := 20; width < 60; width++ {
		for i, args := range [][]string{nil, {"--calls"}, {"--tree"}, {"--diff"}} {
			name := names[(7*width+i)%len(names)]
			a, out := testApp(map[string]string{"COLUMNS": fmt.Sprint(width)})
			if code := a.run(append([]string{"show", paths[name]}, args...)); code != 0 {
				t.Fatalf("%s: exit %d: %s", name, code, out)
			}
			for line := range strings.Lines(out.String()) {
				if w := term.Width(strings.TrimSuffix(line, "\n")); w > width {
					t.Errorf("%s %v at %d columns has a line of %d: %s", name, args, width, w, line)
				}
			}
		}
	}
}
