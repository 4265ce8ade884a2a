package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// opener returns an Opener for a new data directory.
func opener(t *testing.T) (*Opener, string) {
	dir := t.TempDir()
	return &Opener{
		Dir:   func() (string, error) { return dir, nil },
		Temp:  func() (string, error) { return t.TempDir(), nil },
		Now:   func() time.Time { return time.Unix(1e9, 0) },
		Label: func(_ []string, file string) string { return filepath.Base(file) },
	}, dir
}

const transcript = "label: weather\n\n-- to_server --\n{\"id\":1,\"method\":\"a\"}\n" +
	"-- to_client --\n{\"id\":1,\"result\":{}}\n"

func put(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A recording, a text and a bundle have the same frames, however they are named.
func TestOpen(t *testing.T) {
	o, dir := opener(t)
	path, err := o.Import(t.Context(), dir, strings.NewReader("id: 00c0ffee\n"+transcript), "x.txtar", ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	named := put(t, filepath.Join(other, "a#2.txtar"), transcript)
	zip := filepath.Join(other, "bug.zip")
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = WriteFile(zip, func(w io.Writer) error {
		return bundle.Pack(w, time.Unix(1e9, 0), []bundle.Part{{Name: bundle.Recording, Write: func(w io.Writer) error {
			_, err := w.Write(packed)
			return err
		}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]struct {
		session int
		text    bool
	}{
		path: {}, "00c0ffee": {}, "00c0#2": {session: 2}, "weather": {}, "@last": {}, "@last#1": {session: 1},
		named: {text: true}, named + "#3": {3, true}, zip: {}, zip + "#1": {session: 1},
	} {
		f, err := o.Open(t.Context(), arg)
		if err != nil {
			t.Errorf("%s: %v", arg, err)
			continue
		}
		if f.Session != want.session || (f.Text != nil) != want.text {
			t.Errorf("%s: session %d, text %v", arg, f.Session, f.Text)
		}
		n := 0
		for _, err := range f.Frames(0) {
			if n++; err != nil {
				t.Errorf("%s: %v", arg, err)
			}
		}
		if info, err := f.Info(); n != 2 || err != nil || info.Header.Label != "weather" {
			t.Errorf("%s: %d frames, %+v, %v", arg, n, info, err)
		}
	}
	for arg, want := range map[string]string{
		"ffff": `no recording "ffff"`, "00c0ffee#0": "the number of a session",
		filepath.Join(other, "none.txtar"):                     "no recording at",
		put(t, filepath.Join(other, "diary"), "Dear diary,\n"): "diary: neither NDJSON nor a transcript",
		put(t, filepath.Join(other, "zip"), "PK\x03\x04"):      "zip: ",
	} {
		if _, err := o.Open(t.Context(), arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
	// The bundle is not imported twice, and the id of a text is not used twice.
	if second, err := o.ImportBundle(t.Context(), dir, zip, maxUnpacked); second != path || err != nil {
		t.Errorf("%s, %v", second, err)
	}
	_, err = o.Import(t.Context(), dir, strings.NewReader("id: 00c0ffee\n"+transcript), "x", ImportOptions{})
	if err == nil {
		t.Error("an id was used twice")
	}
	if _, err := o.ImportBundle(t.Context(), t.TempDir(), zip, 10); !errors.Is(err, bundle.ErrTooLarge) {
		t.Error(err)
	}
}

// Reading a session that the recording lacks is an error.
func TestNoSession(t *testing.T) {
	o, dir := opener(t)
	path, err := o.Import(t.Context(), dir, strings.NewReader(transcript), "x.txtar", ImportOptions{Label: "x"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := o.Open(t.Context(), path+"#2")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%q has one session, so there is no #2", filepath.Base(path))
	if _, err := f.Source(t.Context()); err == nil || err.Error() != want {
		t.Error(err)
	}
	if _, err := Selected(f.Recording, f.Session); err == nil || err.Error() != want {
		t.Error(err)
	}
	if n, err := Selected(f.Recording, 1); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestCopy checks that a copy has the edited frames, and that an error leaves no file.
func TestCopy(t *testing.T) {
	o, dir := opener(t)
	path, err := o.Import(t.Context(), dir, strings.NewReader(transcript), "x.txtar", ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "copy"+store.Ext)
	wrong := errors.New("wrong")
	if err := Copy(t.Context(), to, tap.Header{}, rec, func(*tap.Frame) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*copy*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	err = Copy(t.Context(), to, tap.Header{ID: "00000002"}, rec, func(f *tap.Frame) error {
		f.Raw = bytes.ReplaceAll(f.Raw, []byte("1"), []byte("22"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range Frames(t.Context(), to) {
		if err != nil || !bytes.Contains(f.Raw, []byte(`"id":22`)) || !f.Whole() {
			t.Errorf("%s, %v", f.Raw, err)
		}
	}
}

// A text is saved in its format, with the lines that a user wrote above it.
func TestSaveText(t *testing.T) {
	o, dir := opener(t)
	path, err := o.Import(t.Context(), dir, strings.NewReader(transcript), "x.txtar", ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	old := "# why this is here\n" + transcript
	for name, c := range map[string]struct{ old, begins string }{
		"new.ndjson": {"", `{"v":1,`}, "new.txtar": {"", "# A transcript"}, "old": {" {}\n", `{"v":1,`},
		"old.txtar": {old, "# why this is here\n# A transcript"}, "transcript": {old, "# why this is here\n# A transcript"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if c.old != "" {
			put(t, file, c.old)
		}
		if err := SaveText(t.Context(), file, rec); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); !strings.HasPrefix(string(got), c.begins) {
			t.Errorf("%s: %.60q", name, got)
		}
	}
	if err := WriteFile(filepath.Join(dir, "x"+store.Ext), nil); err == nil {
		t.Error("text was written to a recording")
	}
	if err := Export(t.Context(), io.Discard, "pdf", rec, ""); err == nil {
		t.Error("an unknown format was written")
	}
}
