package redact

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// inFrame makes a frame from a file of a corpus: the text of a tool's result, the arguments
// of a call, the structured content of a result, or a frame of a lane and a form.
func inFrame(t *testing.T, name string, data []byte) tap.Frame {
	t.Helper()
	words := strings.Fields(name)
	data = bytes.TrimSuffix(data, []byte("\n"))
	switch words[0] {
	case "text":
		spelled, err := json.Marshal(string(data))
		if err != nil {
			t.Fatal(err)
		}
		return tap.Frame{Lane: tap.ToClient, Raw: []byte(answer(`{"type":"text","text":` + string(spelled) + `}`))}
	case "call":
		return tap.Frame{Lane: tap.ToServer, Raw: []byte(call(string(data)))}
	case "data":
		return tap.Frame{Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":` + string(data) + `}}`)}
	}
	f := tap.Frame{Raw: append(data, '\n')}
	var err error
	if f.Lane, err = tap.ParseLane(words[0]); err == nil && len(words) > 1 {
		f.Form, err = tap.ParseForm(words[1])
	}
	if err != nil {
		t.Fatal(name, err)
	}
	return f
}

// recorded returns the frames of the repository's recorded sessions, each once.
func recorded(t *testing.T) (list []tap.Frame) {
	t.Helper()
	seen := map[string]bool{}
	for _, pattern := range []string{"../testdata/sessions/*.txtar", "../testdata/sessions/streams/*.txtar", "../testdata/http/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, frames, err := text.Parse(b)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, f := range frames {
				if !seen[string(f.Raw)] && !bytes.Contains(f.Raw, []byte("masked:")) {
					seen[string(f.Raw)] = true
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// documents returns files of the repository as a tool returns them: prose, code, schemas
// and lock files.
func documents(t *testing.T) (list []tap.Frame) {
	t.Helper()
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "redact"):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "redaction.md"):
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".md", ".json", ".js", ".css", ".html", ".yml", ".mod", ".sum":
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			f := inFrame(t, "text", b)
			list = append(list, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// changed counts the frames that a redactor changes, and reports how, up to a number of
// them. Each is tested alone.
func changed(t *testing.T, what string, list []tap.Frame, most int) (n int) {
	t.Helper()
	r := New(testOptions())
	for i := range list {
		r.Again()
		r.known = known{}
		f := list[i]
		f.Seq = uint64(i + 1)
		got := r.Frame(&f)
		if bytes.Equal(got, f.Raw) {
			continue
		}
		if n++; n <= most {
			t.Logf("%s: %s", what, difference(f.Raw, got))
		}
	}
	return n
}

// difference returns the text around the first pseudonym.
func difference(was, is []byte) string {
	at := 0
	for at < min(len(was), len(is)) && was[at] == is[at] {
		at++
	}
	from := max(0, at-60)
	return string(was[from:min(len(was), at+60)]) + "\n  became " + string(is[from:min(len(is), at+60)])
}

// At most eight in a thousand frames without a secret are changed.
func TestFalseAlarms(t *testing.T) {
	a, err := txtar.ParseFile("testdata/harmless.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var made []tap.Frame
	for _, file := range a.Files {
		made = append(made, inFrame(t, file.Name, file.Data))
	}
	sessions, files := recorded(t), documents(t)
	m, s, d := changed(t, "hand-made", made, 60), changed(t, "recorded", sessions, 10), changed(t, "file", files, 40)
	all := len(made) + len(sessions) + len(files)
	t.Logf("changed: %d of %d hand-made frames, %d of %d recorded ones, %d of %d files; %d of %d", m, len(made), s, len(sessions), d, len(files), m+s+d, all)
	if len(made) < 150 || all < 758 {
		t.Errorf("the corpus has only %d frames, %d of them made by hand", all, len(made))
	}
	if m > len(made)*8/1000 || s > len(sessions)*8/1000 || d > len(files)*8/1000 {
		t.Errorf("more than 0.8 percent")
	}
}

// marks are those around the secrets of a corpus.
var marks = regexp.MustCompile(`(?s)«(.*?)»`)

// No secret is left in any spelling, and nothing else is changed.
func TestSpellings(t *testing.T) {
	a, err := txtar.ParseFile("testdata/secrets.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r := New(testOptions())
	found, all := 0, 0
	for i, file := range a.Files {
		marked := inFrame(t, file.Name, file.Data)
		f := marked
		f.Seq, f.Raw = uint64(i+1), marks.ReplaceAll(marked.Raw, []byte("$1"))
		r.Again()
		r.known = known{}
		got := twice(r, []tap.Frame{f})[0]
		if json.Valid(f.Raw) != json.Valid(got) {
			t.Errorf("%s is no longer JSON", got)
		}
		for _, m := range marks.FindAllSubmatch(marked.Raw, -1) {
			if all++; bytes.Contains(got, m[1]) {
				t.Errorf("%s is left in %s", m[1], around(got, m[1]))
			} else {
				found++
			}
		}
		pseudonym := `(redacted-[0-9a-f]{12}|9[0-9]+)`
		parts := marks.Split(string(marked.Raw), -1)
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		if want := regexp.MustCompile("^(?s:" + strings.Join(parts, pseudonym) + ")$"); !want.Match(got) {
			t.Errorf("something else changed:\n%s\n%s", marked.Raw, got)
		}
	}
	t.Logf("found %d of %d secrets in %d frames, %d missed", found, all, len(a.Files), all-found)
	if len(a.Files) < 60 {
		t.Errorf("%d frames", len(a.Files))
	}
}

// around returns the text around a part of it.
func around(text, part []byte) []byte {
	at := bytes.Index(text, part)
	return text[max(0, at-60):min(len(text), at+len(part)+20)]
}
