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
	page, _ := exported(t, base, "1e9e7200", "html")
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

// exported saves a recording in a format, and returns it with the header that
// names the file.
func exported(t *testing.T, base, id, format string) (body []byte, disposition string) {
	t.Helper()
	res, err := http.Get(at(t, base, "/api/recordings/"+id+"/export?format="+format))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(format, res.Status, err)
	}
	return body, res.Header.Get("Content-Disposition")
}

// TestExports: each form that the menu offers is one that the program writes.
func TestExports(t *testing.T) {
	dir := imported(t, "real-demo-2026-07-28")
	base, _ := startWeb(t, dir, "@last")
	p := newTab(t, base, 1280, 800, false)
	p.read()
	p.wait("document.querySelector('.summary .menu-wrap button')")
	p.click(".summary .menu-wrap button")
	p.wait("document.querySelector('.summary .menu button')")
	p.picture("export")
	names := strings.Fields(p.text(".summary .menu button span:first-child"))
	begins := map[string]string{
		"ndjson": `{"v":1,`, "txtar": "mcptap", "har": `{"log":{"version":"1.2"`, "otlp": "{", "mermaid": "sequenceDiagram", "html": "<!doctype html>",
	}
	if len(names) != len(begins) {
		t.Errorf("offered are %v", names)
	}
	for _, name := range names {
		body, file := exported(t, base, "1e9e7200", name)
		if !strings.Contains(string(body[:min(len(body), 400)]), begins[name]) || begins[name] == "" {
			t.Errorf("%s begins with %.200s", name, body)
		}
		if !strings.HasPrefix(file, `attachment; filename="1e9e7200.`) {
			t.Errorf("%s is saved as %s", name, file)
		}
	}
}
