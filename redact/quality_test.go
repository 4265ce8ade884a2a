package redact

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// inFrame makes a frame of a file of a corpus: the text of a tool's result, the arguments
// of a call, the structured content of a result, or what a lane and a form say.
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

// recorded are the frames of the repository's recorded sessions, each of them once.
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

// documents are files of the repository as a tool returns them: prose, code, schemas
// and the locks of packages.
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
// them. Each is looked at by itself.
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

// difference is what stands around the first pseudonym.
func difference(was, is []byte) string {
	at := 0
	for at < min(len(was), len(is)) && was[at] == is[at] {
		at++
	}
	from := max(0, at-60)
	return string(was[from:min(len(was), at+60)]) + "\n  became " + string(is[from:min(len(is), at+60)])
}

// Of frames without a secret at most eight in a thousand are changed.
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
