package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

func TestReadBack(t *testing.T) {
	path, want := sample(t)
	r := mustOpen(t, path)
	got, err := collect(r.Frames(0))
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, got, want)
	if err := checkFile(path); err != nil {
		t.Error(err)
	}

	got, err = collect(r.Follow(timeout(t, 10*time.Second), 0))
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, got, want)
}

func TestReadFromAnyFrame(t *testing.T) {
	path, want := sample(t)
	r := mustOpen(t, path)
	last := want[len(want)-1].Seq
	for at := uint64(0); at <= last+2; at++ {
		i, _ := slices.BinarySearchFunc(want, at, func(f tap.Frame, n uint64) int { return int(f.Seq) - int(n) })
		if f, ok := first(t, r.Frames(at-min(at, 1))); at > 0 && ok != (i < len(want)) || ok && at > 0 && !equalFrame(&f, &want[i]) {
			t.Fatalf("Frames(%d) begins with %s", at-1, show(&f))
		}
		f, err := r.Frame(at)
		switch {
		case i < len(want) && want[i].Seq == at:
			if err != nil || !equalFrame(&f, &want[i]) {
				t.Fatalf("Frame(%d) is %s, %v", at, show(&f), err)
			}
		case !errors.Is(err, ErrNoFrame):
			t.Fatalf("Frame(%d): %v", at, err)
		}
	}
	if _, err := r.Frame(last + 1); !strings.Contains(err.Error(), "has 1 to 610") {
		t.Error(err)
	}
	if _, err := r.Frame(305); !strings.Contains(err.Error(), "frames 301 to 310 crossed unrecorded") {
		t.Error(err)
	}
}

// TestReadInSmallSteps reads one or two segments at a time, as a reader does that a
// busy tap has disturbed. Before a gap, the segment found first has nothing to yield;
// this was once mistaken for a missing frame.
func TestReadInSmallSteps(t *testing.T) {
	path, want := sample(t)
	r := mustOpen(t, path)
	for after := range want[len(want)-1].Seq {
		w := walk{r: r, next: after + 1, budget: 1}
		n := 0
		w.all(func(f tap.Frame, err error) bool {
			if err != nil {
				t.Fatalf("after %d: %v", after, err)
			}
			n++
			return after%50 == 0 || n < 10
		})
		if after == 0 && n != len(want) {
			t.Fatalf("%d frames of %d", n, len(want))
		}
	}
}

func first(t *testing.T, seq func(func(tap.Frame, error) bool)) (tap.Frame, bool) {
	for f, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		return f, true
	}
	return tap.Frame{}, false
}

func TestInfo(t *testing.T) {
	path, want := sample(t)
	i, err := mustOpen(t, path).Info()
	if err != nil {
		t.Fatal(err)
	}
	var tally session.Tally
	for _, f := range want {
		tally.Add(&f)
	}
	if got, want := mustJSON(&i.Tally), mustJSON(&tally); !bytes.Equal(got, want) {
		t.Errorf("tally %s, want %s", got, want)
	}
	if got, want := mustJSON(&i.Header), mustJSON(ptr(sampleHeader("0123abcd"))); !bytes.Equal(got, want) {
		t.Errorf("header %s, want %s", got, want)
	}
	if i.Status != Ended || i.Frames != 610 || i.Err != nil || len(i.Gaps) != 1 || i.Gaps[0] != (tap.Range{From: 301, To: 310}) ||
		i.Duration != want[len(want)-1].At+time.Second || i.Size < 4096 {
		t.Errorf("%+v", i)
	}
}

func ptr[T any](v T) *T { return &v }

// TestLargeFrame reads a frame that is larger than a reader's limit.
func TestLargeFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large"+Ext)
	raw := make([]byte, 9<<20+123)
	for i := range raw {
		raw[i] = byte(i * i >> 7)
	}
	frames := []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Raw: []byte("a\n"), Size: 2},
		{Seq: 2, At: 5, Lane: tap.ToClient, Raw: raw, Size: int64(len(raw))},
		{Seq: 3, At: 5, Lane: tap.ToClient, Raw: raw[:tap.PartSize], Size: tap.PartSize},
	}
	writeSample(t, path, frames, 100, tap.PartSize)
	r := mustOpen(t, path)
	got, err := collect(r.Frames(0))
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, got, frames)

	r.SetMaxRaw(1 << 20)
	f, err := r.Frame(2)
	if err != nil {
		t.Fatal(err)
	}
	if f.Whole() || f.Size != int64(len(raw)) || !bytes.Equal(f.Raw, raw[:headRaw]) {
		t.Errorf("%d of %d bytes", len(f.Raw), f.Size)
	}
	var out bytes.Buffer
	if err := r.WriteRaw(&out, f); err != nil || !bytes.Equal(out.Bytes(), raw) {
		t.Errorf("WriteRaw: %d bytes, %v", out.Len(), err)
	}
}

// TestOtherFiles opens what is not a recording.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "text": "Hello\n", "zip": "PK\x03\x04" + strings.Repeat("x", 9000),
		"zeros": strings.Repeat("\x00", 40000), "long": strings.Repeat("a line\n", 1<<18),
	} {
		path := filepath.Join(dir, name+Ext)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrNotRecording) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if i := Stat(path); i.Status != Damaged || !errors.Is(i.Err, ErrNotRecording) || i.Header.Label != name {
			t.Errorf("%s: %+v", name, i)
		}
	}
	if _, err := Open(dir); !errors.Is(err, ErrNotRecording) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestOpenWritesNothing checks that reading needs no permission to write.
func TestOpenWritesNothing(t *testing.T) {
	path, _ := sample(t)
	before := readAll(t, path)
	dir := filepath.Dir(path)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(mustOpen(t, path).Frames(0)); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	if !bytes.Equal(before, readAll(t, path)) || len(entries) != 1 {
		t.Error("reading has changed files")
	}
}
