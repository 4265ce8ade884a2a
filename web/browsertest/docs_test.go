//go:build docs

package browsertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs takes the screenshots for the documentation, from the demo's recordings:
//
//	go test -tags docs -run TestDocs
func TestDocs(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "demo")
	ids := map[string]string{}
	for line := range strings.Lines(run(t, dir, "ls")) {
		if words := strings.Fields(line); len(words) > 2 {
			ids[words[2]] = words[0]
		}
	}
	old, now := ids["demo-2025-11-25"], ids["demo-2026-07-28"]
	base, _ := startWeb(t, dir)
	folder := *pictures
	*pictures = filepath.Join("..", "..", "docs", "images")
	defer func() { *pictures = folder }()
	for _, s := range []struct {
		name, path, ready, keys string
		dark                    bool
	}{
		{"viewer-calls", fmt.Sprintf("/r/%s?q=method%%3Atools%%2Fcall", old), "document.querySelectorAll('.row.call').length > 5", "e", false},
		{"viewer-sequence", fmt.Sprintf("/r/%s?v=sequence", old), "document.querySelectorAll('.row.step').length > 10", "e", true},
		{"viewer-statistics", fmt.Sprintf("/r/%s?v=stats", old), "document.querySelector('.stats table')", "", false},
		{"viewer-compare", fmt.Sprintf("/compare?a=%s&b=%s", old, now), "document.querySelector('.call-pairs .call-head')", "gj\r", true},
	} {
		p := newTab(t, at(t, base, s.path), 1280, 760, s.dark)
		p.wait(s.ready)
		if s.keys != "" {
			p.keys(s.keys)
		}
		if s.keys == "e" {
			p.wait("document.querySelector('.card .tree, .card .code')")
			p.read()
		}
		p.picture(s.name)
		shrink(t, filepath.Join(*pictures, s.name+".png"))
	}
}
