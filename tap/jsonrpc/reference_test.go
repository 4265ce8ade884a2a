package jsonrpc

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// A refMessage is one entry of testdata/reference.
type refMessage struct {
	title, want string
	mark        byte // >, < or .
	raw         []byte
}

// readReference reads one corpus file: its preamble and its entries.
func readReference(t testing.TB, path string) (preamble string, all []refMessage) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimRight(string(b), "\n"), "\n\n")
	for _, block := range blocks[1:] {
		lines := strings.Split(block, "\n")
		if len(lines) != 3 || lines[0][0] != '#' || lines[1][0] != '=' {
			t.Fatalf("%s: bad entry %q", path, block)
		}
		all = append(all, refMessage{lines[0], lines[1], lines[2][0], []byte(lines[2][2:])})
	}
	return blocks[0], all
}

func references(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/reference/*.txt")
	if err != nil || len(paths) != 5 {
		t.Fatal(paths, err)
	}
	return paths
}

// referenceFrames returns all messages of all reference documents.
func referenceFrames(t testing.TB) (all []refMessage) {
	for _, path := range references(t) {
		_, messages := readReference(t, path)
		all = append(all, messages...)
	}
	return all
}

func TestReferenceDocuments(t *testing.T) {
	for _, path := range references(t) {
		preamble, messages := readReference(t, path)
		out := preamble + "\n"
		for _, r := range messages {
			m := Peek(append(r.raw[:len(r.raw):len(r.raw)], '\n'))
			got := fmt.Sprintf("= %s id=%s method=%s subject=%q", m.Kind, m.ID, m.Method, Subject(m))
			if m.Reason != "" {
				got += " reason=" + m.Reason
			}
			if got != r.want && !*update {
				t.Errorf("%s %s\n%s\n got %s\nwant %s", path, r.title, r.raw, got, r.want)
			}
			out += fmt.Sprintf("\n%s\n%s\n%c %s\n", r.title, got, r.mark, r.raw)
		}
		if *update {
			if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestMojibake checks the one place where a document's bytes are odd: a degree sign that
// was encoded twice must be read unchanged.
func TestMojibake(t *testing.T) {
	_, messages := readReference(t, "testdata/reference/003.txt")
	odd := []byte("72\xc3\x82\xc2\xb0F")
	n := 0
	for _, r := range messages {
		if bytes.Contains(r.raw, odd) {
			n++
			m := Peek(r.raw)
			if m.Kind != Response || m.Reason != "" || !bytes.Contains(m.Result, odd) || !strings.Contains(Subject(m), string(odd)) {
				t.Errorf("got %+v, subject %q", m, Subject(m))
			}
		}
	}
	if n != 1 {
		t.Errorf("found the degree sign %d times, want once", n)
	}
}
