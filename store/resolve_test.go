package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// moved renames the recording of an id in dir to another file name.
func moved(t *testing.T, dir, id, to string) {
	t.Helper()
	path, _, err := Resolve(dir, id)
	if err == nil {
		err = os.Rename(path, filepath.Join(dir, to))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copied copies a file of dir.
func copied(t *testing.T, dir, from, to string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, from))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, to), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A recording whose file was renamed is listed with the id in its header, so
// that id must find it.
func TestResolveRenamed(t *testing.T) {
	dir := shelf(t, "abcd0001 files", "abff0002 github", "12340003 other", "12ff0004 more")
	moved(t, dir, "abcd0001", "mine.mcptap")
	moved(t, dir, "abff0002", "20260301T000000.000Z-x-77770000.mcptap") // a name with another id
	if err := os.WriteFile(filepath.Join(dir, "broken.mcptap"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := func(arg, name string) {
		t.Helper()
		if path, _, err := Resolve(dir, arg); filepath.Base(path) != name || err != nil {
			t.Errorf("Resolve(%q) = %q, %v", arg, path, err)
		}
	}
	wantError := func(arg string, words ...string) {
		t.Helper()
		path, _, err := Resolve(dir, arg)
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("Resolve(%q) = %q, %v, want %s", arg, path, err, w)
			}
		}
	}
	want("abcd0001", "mine.mcptap")
	want("ABC", "mine.mcptap")
	want("abff0002", "20260301T000000.000Z-x-77770000.mcptap")
	want("7777", "20260301T000000.000Z-x-77770000.mcptap")
	want("mine", "mine.mcptap")
	wantError("ab", `"ab" matches 2 recordings; give more of the id: `, "abcd0001 (files, 2026-", "abff0002 (github, 2026-")
	wantError("abcd00012", "no recording")
	wantError("zz", `no recording "zz"`)

	// Two files with one id: the id does not distinguish them.
	copied(t, dir, "mine.mcptap", "yours.mcptap")
	wantError("abcd0001", "2 recordings have the id abcd0001; name the file: yours.mcptap, mine.mcptap")
	wantError("abc", "2 recordings have the id abcd0001")
	wantError("ab", "matches 3 recordings", "mine.mcptap", "yours.mcptap", "abff0002 (github")
	want("yours", "yours.mcptap")

	// Also if the names contain it.
	copied(t, dir, "mine.mcptap", "a-abcd0001.mcptap")
	want("abcd0001", "a-abcd0001.mcptap") // one name has it: no file is opened
	copied(t, dir, "mine.mcptap", "b-abcd0001.mcptap")
	wantError("abcd0001", "2 recordings have the id abcd0001; name the file: b-abcd0001.mcptap, a-abcd0001.mcptap")
}

// However many files there are, a mistyped id opens only a limited number.
func TestResolveDoesNotOpenAllFiles(t *testing.T) {
	dir := shelf(t, "abcd0001 files")
	moved(t, dir, "abcd0001", "mine.mcptap")
	for i := range maxHeaders {
		name := fmt.Sprintf("20260301T000000.000Z-x-%08x.mcptap", i+1<<28)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Names without an id come first.
	if path, _, err := Resolve(dir, "abcd0001"); filepath.Base(path) != "mine.mcptap" || err != nil {
		t.Errorf("%q, %v", path, err)
	}
	want := fmt.Sprintf("only %d of %d files were opened", maxHeaders, maxHeaders+1)
	if _, _, err := Resolve(dir, "eeee"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A label names the newest recording that has it, spelled as the user gave it or as in the file
// name. A replay, which has the label of what it replayed, comes last.
func TestResolveLabel(t *testing.T) {
	dir := t.TempDir()
	made := func(label, replayOf string, age time.Duration) string {
		h := tap.Header{ID: fmt.Sprintf("%08x", int64(age/time.Second)), Label: label, Start: time.Now().Add(-age), Transport: "stdio", ReplayOf: replayOf}
		path := filepath.Join(dir, FileName(h))
		w, err := NewWriter(path, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	made("v1", "", 3*time.Hour)
	newer := made("v1", "", 2*time.Hour)
	made("v1", "00000001", time.Hour)
	replay := made("only", "00000001", time.Minute)
	odd := made("a/b  c", "", time.Second)
	zeros := made("0000", "", 4*time.Hour) // also the beginning of every id
	numbered := made("v1#3", "", 5*time.Hour)
	for label, want := range map[string]string{"v1": newer, "v1#2": newer, "v1#3": numbered, "v1#3#1": numbered, "0000": zeros, "only": replay, "a/b  c": odd, "a-b--c": odd} {
		if got, _, err := Resolve(dir, label); got != want || err != nil {
			t.Errorf("%q is %s, %v, want %s", label, got, err, want)
		}
	}
	for _, label := range []string{"a b  c", "./v1", "v1 "} {
		if got, _, err := Resolve(dir, label); err == nil {
			t.Errorf("%q is %s", label, got)
		}
	}
}
