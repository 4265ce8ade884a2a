package view

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// sessions calls fn with the frames of each session of the corpus.
func sessions(t *testing.T, fn func(t *testing.T, frames []tap.Frame)) {
	t.Helper()
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
			fn(t, frames)
		})
	}
}

// frames makes frames from lines: > to the server, < to the client, ! stderr, · an event;
// a number after the sign is the HTTP exchange. They are ten milliseconds apart.
func frames(t testing.TB, text string) (all []tap.Frame) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		sign, raw, ok := strings.Cut(line, " ")
		f := tap.Frame{Seq: uint64(len(all) + 1), Raw: []byte(raw), Size: int64(len(raw))}
		f.At = time.Duration(f.Seq) * 10 * time.Millisecond
		lane, known := map[string]tap.Lane{">": tap.ToServer, "<": tap.ToClient, "!": tap.Stderr, ".": tap.Lifecycle}[sign[:1]]
		if !ok || !known {
			t.Fatalf("bad line %q", line)
		}
		f.Lane = lane
		if number := sign[1:]; number != "" {
			var err error
			if f.Exchange, err = strconv.ParseUint(number, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, f)
	}
	return all
}

// read feeds frames and calls fn with each row.
func read(t testing.TB, all []tap.Frame, fn func(*session.Tracker, *session.Entry)) *session.Tracker {
	t.Helper()
	x := &session.Tracker{}
	for i := range all {
		r := x.Add(&all[i])
		fn(x, r)
	}
	return x
}
