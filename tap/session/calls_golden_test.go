package session_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The sessions of the corpus, each with its calls.
func TestSessionCalls(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sessions", "*.txtar"))
	streams, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "sessions", "streams", "*.txtar"))
	if err != nil || len(names) == 0 || len(streams) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	names = append(names, streams...)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, frames, err := text.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(name, ".txtar")+".calls.golden", outline(t, frames))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", name, got, want)
	}
}

const callsMark = "-- calls --\n"

// The patterns, each as a few lines with the resulting calls below. A line that begins
// with > goes to the server, one with < to the client, one with . is an event, and others
// are comments; a number after the sign is the HTTP exchange. The lines are ten
// milliseconds apart.
func TestCalls(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "calls", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), callsMark)
			got := outline(t, lines(t, text))
			if *update {
				err = os.WriteFile(name, []byte(text+callsMark+got), 0o644)
			} else if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func lines(t testing.TB, text string) (frames []tap.Frame) {
	t.Helper()
	for line := range strings.Lines(text) {
		lane, ok := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient, '.': tap.Lifecycle}[line[0]]
		if !ok {
			continue
		}
		number, raw, ok := strings.Cut(line[1:], " ")
		f := tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Raw: []byte(raw), Size: int64(len(raw))}
		f.At = time.Duration(f.Seq) * 10 * time.Millisecond
		if number != "" {
			var err error
			if f.Exchange, err = strconv.ParseUint(number, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if !ok {
			t.Fatal(fmt.Errorf("bad line %q", line))
		}
		frames = append(frames, f)
	}
	return frames
}
