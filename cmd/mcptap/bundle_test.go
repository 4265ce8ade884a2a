package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const planted = "plantedSecret4711"

// secretRecording has a secret in each place that parts of a bundle show.
func secretRecording(t *testing.T) string {
	t.Helper()
	var frames []tap.Frame
	add := func(lane tap.Lane, format string, args ...any) {
		frames = append(frames, tap.Frame{Lane: lane, Raw: fmt.Appendf(nil, format+"\n", args...)})
	}
	add(tap.Lifecycle, `{"event":"start","transport":"stdio","command":["server","--token",%q]}`, planted)
	add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"%s","version":"1"},"password":%[1]q}}`, planted)
	add(tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":{"json":"{\"api_key\":\"%[1]s\"}"}}}`, planted)
	add(tap.Stderr, "failed with %s", planted)
	add(tap.ToClient, `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"cannot log in as %s","data":%q}}`, planted,
		base64.StdEncoding.EncodeToString([]byte(`{"secret":"`+planted+`", "more":"so that it is long enough"}`)))
	add(tap.ToClient, "DEBUG password=%s", planted)
	add(tap.ToServer, `{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"https://x/?access_token=%s"}}`, planted)
	return record(t, frames)
}

func TestBundleHasNoSecrets(t *testing.T) {
	t.Parallel()
	path := secretRecording(t)
	for _, tt := range []struct {
		args []string
		kept bool
	}{{nil, false}, {[]string{"--keep-secrets"}, true}} {
		out := filepath.Join(t.TempDir(), "bug.mcptap.zip")
		a, stdout := testApp(nil)
		if code := a.run(append([]string{"bundle", path, "-o", out}, tt.args...)); code != 0 {
			t.Fatalf("exit %d", code)
		}
		if strings.Contains(stdout.String(), planted) {
			t.Errorf("the secret is printed: %s", stdout)
		}
		z, err := zip.OpenReader(out)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if len(z.File) != len(bundle.Names()) {
			t.Errorf("%d files", len(z.File))
		}
		for _, f := range z.File {
			b := unpacked(t, f)
			if f.Name == bundle.Recording {
				b = exported(t, b)
			}
			if bytes.Contains(b, []byte(planted)) != (tt.kept && f.Name != bundle.Readme && f.Name != bundle.Page) && f.Name != bundle.Page {
				t.Errorf("%s, secrets kept %v:\n%s", f.Name, tt.kept, b)
			}
			// In the page, frames are base64, so a value can be encoded in three ways.
			for shift := range 3 {
				coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + planted))
				coded = coded[4 : len(coded)-4]
				if !tt.kept && bytes.Contains(b, []byte(coded)) {
					t.Errorf("%s has it as base64", f.Name)
				}
			}
			if f.Name == bundle.Page && bytes.Contains(b, []byte(planted)) != tt.kept {
				t.Errorf("the page, secrets kept: %v", tt.kept)
			}
		}
	}
}

func unpacked(t *testing.T, f *zip.File) []byte {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exported returns a recording as text, followed by its bytes.
func exported(t *testing.T, b []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), bundle.Recording)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	a, stdout := testApp(nil)
	if code := a.run([]string{"export", path}); code != 0 {
		t.Fatalf("exit %d", code)
	}
	return append(bytes.Clone(b), stdout.Bytes()...)
}

// However a recording ended, it is packed and opened again with the same frames. One that cannot be read
// is not packed.
func TestBundleOfOddRecordings(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(record(t, manyFrames(3000)))
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	for i := range 5000 {
		broken[len(broken)/2+i] ^= 0x55
	}
	file := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "odd"+store.Ext)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name, path string
		frames     int
		damaged    bool
	}{
		{"empty", record(t, []tap.Frame{}), 0, false}, {"cut", cutRecording(t), 3, false}, {"long", file(whole), 3000, false}, {"damaged", file(broken), 0, true},
	} {
		for _, args := range [][]string{{}, {"--keep-secrets"}} {
			dir := t.TempDir()
			out := filepath.Join(dir, "bug.zip")
			a, output := testApp(nil)
			code := a.run(append([]string{"bundle", tt.path, "-o", out}, args...))
			if tt.damaged {
				if _, err := os.Stat(out); code != exitFailure || err == nil || !strings.Contains(output.String(), "--salvage") || strings.Contains(output.String(), "mcptap-bundle-") {
					t.Errorf("%s %q: exit %d, %s", tt.name, args, code, output)
				}
				continue
			}
			if code != 0 {
				t.Fatalf("%s %q: exit %d, %s", tt.name, args, code, output)
			}
			a, output = testApp(nil)
			if code := a.run([]string{"import", out, "--dir", dir}); code != 0 {
				t.Fatalf("%s %q: exit %d, %s", tt.name, args, code, output)
			}
			back := only(t, dir)
			if n := len(framesOf(t, back)); n != tt.frames {
				t.Errorf("%s %q: %d frames", tt.name, args, n)
			}
			if was, is := store.Stat(tt.path).Status, store.Stat(back).Status; was != is {
				t.Errorf("%s %q: it was %v and is %v", tt.name, args, was, is)
			}
		}
	}
}

// cutRecording returns a recording whose tap was killed after three frames.
func cutRecording(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cut"+store.Ext)
	w, err := store.NewWriter(path, tap.Header{ID: "00c0ffe1", Label: "cut", Start: testNow, Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range manyFrames(3) {
		if f.Seq = uint64(i + 1); w.Add(f) != nil {
			t.Fatal("a frame was refused")
		}
	}
	if err := w.Close(store.End{Cut: true}); err != nil {
		t.Fatal(err)
	}
	return path
}

// manyFrames returns calls and their responses, without secrets.
func manyFrames(n int) (all []tap.Frame) {
	for i := range n {
		f := tap.Frame{Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo"}}`+"\n", i/2)}
		if i%2 == 1 {
			f = tap.Frame{Lane: tap.ToClient, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`+"\n", i/2)}
		}
		all = append(all, f)
	}
	return all
}

// The recording in a bundle is not trusted to be one, nor to be the one with its id.
func TestOpenHostileRecordings(t *testing.T) {
	t.Parallel()
	pack := func(b []byte) string {
		out := filepath.Join(t.TempDir(), "bug.zip")
		err := recording.WriteFile(out, func(w io.Writer) error {
			return bundle.Pack(w, testNow, []bundle.Part{{Name: bundle.Recording, Write: func(w io.Writer) error { _, err := w.Write(b); return err }}})
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	open := func(dir, file string, args ...string) (int, string, string) {
		a, stdout := testApp(nil)
		var stderr bytes.Buffer
		a.stderr = &stderr
		code := a.run(append([]string{"--dir", dir, "import", file}, args...))
		return code, strings.TrimSpace(stdout.String()), stderr.String()
	}
	recording, err := os.ReadFile(secretRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(recording)
	clear(broken[:8192])
	nested, err := os.ReadFile(pack(recording))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"a bundle": nested, "nothing": nil, "text": []byte("no recording"), "broken": broken, "cut": recording[:len(recording)/2]} {
		dir := t.TempDir()
		code, _, stderr := open(dir, pack(b))
		if code != exitFailure || !strings.Contains(stderr, "bug.zip: ") || !strings.Contains(stderr, bundle.Recording) || strings.Contains(stderr, "mcptap-open-") {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
	sameID(t, recording, pack, open)
}

// sameID opens a recording twice, and another one with the same id.
func sameID(t *testing.T, recording []byte, pack func([]byte) string, open func(dir, file string, args ...string) (int, string, string)) {
	t.Helper()
	dir := t.TempDir()
	_, first, _ := open(dir, pack(recording))
	_, again, _ := open(dir, pack(recording))
	if first == "" || again != first {
		t.Errorf("%q, then %q", first, again)
	}
	other := filepath.Join(t.TempDir(), "other.mcptap")
	w, err := store.NewWriter(other, tap.Header{ID: first, Label: "other", Start: testNow, Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("x"), 1<<20) // compressed in the recording
	if err := w.Add(tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: big, Size: int64(len(big))}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(store.End{}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := open(dir, pack(b), "--max-size", "512KiB"); code != exitFailure || !strings.Contains(stderr, "its frames exceed 512 KiB") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if code, id, stderr := open(dir, pack(b)); code != 0 || id == first || len(id) != 8 {
		t.Errorf("exit %d, %q, %s", code, id, stderr)
	}
}
