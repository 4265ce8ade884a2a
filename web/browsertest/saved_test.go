package browsertest

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSavedPage opens a recording that was saved as a page, from its file.
func TestSavedPage(t *testing.T) {
	dir := imported(t, "real-demo-2026-07-28")
	base, _ := startWeb(t, dir)
	res, err := http.Get(at(t, base, "/api/recordings/1e9e7200/export?format=html"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, "file://"+file, 1280, 800, false)
	rows := p.read()
	if !strings.Contains(rows, "tools/call survey +6 ✓ done") {
		t.Errorf("rows %s", rows)
	}
	p.keys("jjjj")
	p.wait("document.querySelectorAll('.card .tree').length > 0")
	p.keys("]")
	p.wait("document.querySelector('.card .code')")
	if hash := eval[string](p, "location.hash"); !strings.Contains(hash, "tab=pretty") {
		t.Errorf("behind the # stands %s", hash)
	}
	p.keys("3")
	p.wait("document.querySelector('.row.step')")
	p.picture("saved")
	p.keys("4")
	p.wait("document.querySelector('.stats table')")
	p.keys("2")
	p.keys("e")
	p.wait("document.querySelector('.row.selected.bad')")
}
