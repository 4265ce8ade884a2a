package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// plantedCorpus returns a recording of the corpus of package redact, and the secrets planted in it.
func plantedCorpus(t *testing.T) (path string, secrets []string) {
	t.Helper()
	a, err := txtar.ParseFile("../../redact/testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	marks := regexp.MustCompile(`(?s)«(.*?)»`)
	var frames []tap.Frame
	for _, file := range a.Files {
		words := strings.Fields(file.Name)
		f := tap.Frame{Raw: marks.ReplaceAll(file.Data, []byte("$1"))}
		if f.Lane, err = tap.ParseLane(words[1]); err != nil {
			t.Fatal(err)
		}
		if len(words) > 2 {
			if f.Form, err = tap.ParseForm(words[2]); err != nil {
				t.Fatal(err)
			}
		}
		if f.Form != tap.FormLine || bytes.Contains(f.Raw, []byte(`"event":"re`)) {
			f.Exchange = 1
		}
		for _, m := range marks.FindAllStringSubmatch(string(file.Data), -1) {
			if len(m[1]) >= 8 { // shorter ones may occur by chance
				secrets = append(secrets, m[1])
			}
		}
		frames = append(frames, f)
	}
	if len(secrets) < 70 {
		t.Fatalf("%d secrets", len(secrets))
	}
	return record(t, frames), secrets
}

// traces returns the forms in which a secret would still be disclosed.
func traces(secret string) []string {
	quoted, _ := json.Marshal(secret)
	all := []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			coded := enc.EncodeToString([]byte(strings.Repeat(" ", shift) + secret))
			all = append(all, coded[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
	return all
}

func noTrace(t *testing.T, what string, text []byte, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		for _, trace := range traces(s) {
			if i := bytes.Index(text, []byte(trace)); i >= 0 {
				t.Errorf("%s has %s as %s: …%s…", what, s, trace, text[max(0, i-80):min(len(text), i+80)])
			}
		}
	}
}

// No planted secret is in the file of the copy, in exports of it, or in any part of a bundle.
func TestPlantedSecretsAreNotDisclosed(t *testing.T) {
	t.Parallel()
	path, secrets := plantedCorpus(t)
	copied := filepath.Join(t.TempDir(), "red.mcptap")
	a, output := testApp(nil)
	if code := a.run([]string{"redact", path, "-o", copied}); code != 0 {
		t.Fatalf("exit %d: %s", code, output)
	}
	noTrace(t, "the report", output.Bytes(), secrets)
	file, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	noTrace(t, "the file", file, secrets)
	for _, format := range []string{"ndjson", "txtar", "har", "otlp", "mermaid"} {
		noTrace(t, format, export(t, copied, format), secrets)
	}
	for _, args := range [][]string{{"show", copied, "--json"}, {"show", copied, "--calls"}, {"stats", copied}} {
		a, output := testApp(nil)
		a.run(args)
		noTrace(t, args[0], output.Bytes(), secrets)
	}
	a, output = testApp(nil)
	if code := a.run([]string{"redact", copied, "--check"}); code != 0 {
		t.Errorf("a check of the copy: exit %d: %s", code, output)
	}
	out := filepath.Join(t.TempDir(), "bug.mcptap.zip")
	for _, name := range []string{out, strings.TrimSuffix(out, ".mcptap.zip") + ".md"} {
		a, output := testApp(nil)
		if code := a.run([]string{"bundle", path, "-o", name}); code != 0 {
			t.Fatalf("exit %d: %s", code, output)
		}
		noTrace(t, "the report", output.Bytes(), secrets)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		noTrace(t, filepath.Base(name), b, secrets)
	}
	z, err := zip.OpenReader(out)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		noTrace(t, f.Name, unpacked(t, f), secrets)
	}
}

// Without redaction, the planted secrets are found in the same places.
func TestPlantedSecretsAreFound(t *testing.T) {
	t.Parallel()
	path, secrets := plantedCorpus(t)
	text := string(export(t, path, "ndjson"))
	a, output := testApp(nil)
	if code := a.run([]string{"redact", path, "--check"}); code != exitNegative {
		t.Errorf("exit %d: %s", code, output)
	}
	seen := 0
	for _, s := range secrets {
		if strings.Contains(text, s) {
			seen++
		}
	}
	if seen < len(secrets)*9/10 {
		t.Errorf("%d of %d", seen, len(secrets))
	}
}

// One session of an HTTP recording is redacted and packed as if it were the only one.
func TestRedactASession(t *testing.T) {
	t.Parallel()
	path := twoSessions(t)
	want := export(t, importFrom(t, bytes.NewReader(exportOf(t, path+"#2"))), "txtar")
	dir := t.TempDir()
	red, zipped, md := filepath.Join(dir, "red.mcptap"), filepath.Join(dir, "bug.zip"), filepath.Join(dir, "bug.md")
	for _, args := range [][]string{
		{"redact", path + "#2", "-o", red}, {"bundle", path + "#2", "-o", zipped}, {"bundle", path + "#2", "-o", md},
		{"bundle", path + "#2", "-o", filepath.Join(dir, "kept.zip"), "--keep-secrets"},
	} {
		a, output := testApp(nil)
		if code := a.run(args); code != 0 {
			t.Fatalf("%q: exit %d: %s", args, code, output)
		}
	}
	kept := filepath.Join(dir, "kept")
	for name, to := range map[string]string{"bug.zip": filepath.Join(dir, "bug"), "kept.zip": kept} {
		a, output := testApp(nil)
		if code := a.run([]string{"import", filepath.Join(dir, name), "--dir", to}); code != 0 {
			t.Fatalf("%s: exit %d: %s", name, code, output)
		}
	}
	got := func(path string) string {
		return regexp.MustCompile(`(?m)^(id|redacted-[0-9a-f]+).*\n`).ReplaceAllString(string(export(t, path, "txtar")), "")
	}
	if was := regexp.MustCompile(`(?m)^id.*\n`).ReplaceAllString(string(want), ""); got(only(t, kept)) != was {
		t.Errorf("kept:\n%s\nwant\n%s", got(only(t, kept)), was)
	}
	for _, path := range []string{red, only(t, filepath.Join(dir, "bug"))} {
		frames := framesOf(t, path)
		if whole := framesOf(t, only(t, kept)); len(frames) != len(whole) || frames[0].Seq != 1 {
			t.Errorf("%s has %d frames, not %d", path, len(frames), len(whole))
		}
		info := store.Stat(path)
		if n := info.Tally.Sessions; n != 1 {
			t.Errorf("%s has %d sessions", path, n)
		}
	}
	a, output := testApp(nil)
	if code := a.run([]string{"redact", path + "#9", "--check"}); code != exitFailure || !strings.Contains(output.String(), "so there is no #9") {
		t.Errorf("exit %d: %s", code, output)
	}
}

func exportOf(t *testing.T, arg string) []byte {
	t.Helper()
	a, out := testApp(nil)
	if code := a.run([]string{"export", arg}); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	return out.Bytes()
}

// only returns the only recording in a directory.
func only(t *testing.T, dir string) string {
	t.Helper()
	infos, err := store.List(dir)
	if err != nil || len(infos) != 1 {
		t.Fatalf("%d recordings, %v", len(infos), err)
	}
	return infos[0].Path
}

// For a frame that is too large to be held, only the size is kept, and a check does not pass it.
func TestRedactALargeFrame(t *testing.T) {
	t.Parallel()
	path := record(t, []tap.Frame{
		{Lane: tap.ToServer, Raw: []byte(`{"id":1,"method":"x"}`)},
		{Lane: tap.ToClient, Raw: []byte(`{"id":1,"result":{"x":"` + strings.Repeat("y", 2*tap.PartSize) + ` token=plantedLarge1"}}`)},
		{Lane: tap.Stderr, Raw: []byte(strings.Repeat("y", 2*tap.PartSize) + " token=plantedLarge2\n")},
		{Lane: tap.Stderr, Raw: []byte("after\n")},
	})
	for _, check := range []bool{false, true} {
		rec, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rec.SetMaxRaw(1000)
		r := redact.New(redact.Options{Key: []byte("k"), Check: check})
		var all []string
		p := redact.NewCopier(r)
		for range 2 {
			r.Again()
			all = nil
			for f, err := range rec.Frames(0) {
				if err != nil {
					t.Fatal(err)
				}
				p.Frame(&f)
				all = append(all, string(f.Raw))
			}
			p.End()
		}
		if got := strings.Join(all, ""); !check && (strings.Contains(got, "yyy") || strings.Count(got, " bytes was withheld") != 2 || !strings.HasSuffix(got, "after\n")) {
			t.Errorf("%.200s", got)
		}
		if f := r.Findings(); len(f) != 2 || f[0].Rule != "too-large" || f[1].Rule != "too-large" {
			t.Errorf("%+v", f)
		}
	}
}
