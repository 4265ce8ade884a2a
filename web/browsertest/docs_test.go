package browsertest

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

var docs = flag.Bool("docs", false, "make the pictures of docs/viewer.md again, from the demo's recordings")

// TestDocs makes the pictures that the documentation shows.
func TestDocs(t *testing.T) {
	if !*docs {
		t.Skip("-docs makes them")
	}
	dir := t.TempDir()
	run(t, dir, "demo")
	var id string
	for line := range strings.Lines(run(t, dir, "ls")) {
		if strings.Contains(line, "2025-11-25") {
			id = strings.Fields(line)[0]
		}
	}
	base, _ := startWeb(t, dir)
	old := *pictures
	*pictures = filepath.Join("..", "..", "docs")
	defer func() { *pictures = old }()
	for _, s := range []struct {
		name, path, ready string
		dark              bool
	}{
		{"viewer-calls", "/r/%s?q=method%%3Atools%%2Fcall", "document.querySelectorAll('.row.call').length > 5", false},
		{"viewer-sequence", "/r/%s?v=sequence", "document.querySelectorAll('.row.step').length > 10", true},
	} {
		p := newTab(t, at(t, base, fmt.Sprintf(s.path, id)), 1280, 760, s.dark)
		p.wait(s.ready)
		p.keys("e")
		p.wait("document.querySelector('.card .tree, .card .code')")
		p.read()
		p.picture(s.name)
	}
}
