package browsertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// TestSavedPage opens a saved page from its file.
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
	if !strings.Contains(rows, "+6 ✓ done") {
		t.Errorf("rows %s", rows)
	}
	p.keys("jjjj")
	p.wait("document.querySelectorAll('.card .tree').length > 0")
	p.keys("]")
	p.wait("document.querySelector('.card .code')")
	if hash := eval[string](p, "location.hash"); !strings.Contains(hash, "tab=pretty") {
		t.Errorf("fragment %s", hash)
	}
	p.keys("3")
	p.wait("document.querySelector('.row.step')")
	p.picture("saved")
	p.keys("4")
	p.wait("document.querySelector('.stats table')")
	p.keys("2")
	p.wait("document.querySelector('.pad > .row') && /^109 frames/.test(document.querySelector('.foot').innerText)")
	p.keys("e")
	p.wait("document.querySelector('.row.selected.bad')")

	// The search reads rows and frames, and finds whole calls.
	p.keys("1")
	p.find(`Atlantis -forcast`)
	p.wait("/^1 row|^2 rows/.test(document.querySelector('.foot').innerText)")
	if rows := p.read(); !strings.Contains(rows, "no station in") || strings.Contains(rows, "unknown tool") {
		t.Errorf("found %s", rows)
	}
	p.picture("saved-search")
	p.wait("/q=Atlantis/.test(location.hash)")
	p.find(`"no such words anywhere"`)
	p.wait("/Nothing matches/.test(document.querySelector('.empty').innerText)")
	p.keys("\x1b")
	p.keys("c")
	p.wait("/^109 frames/.test(document.querySelector('.foot').innerText)")
	p.keys("?")
	p.wait("/language of filters needs mcptap/.test(document.querySelector('dialog[open]').innerText)")
	p.keys("?")
	p.find("survey")
	p.wait("/survey/.test(document.querySelector('.pad').innerText) && /row/.test(document.querySelector('.foot').innerText)")
	p.keys("\x1b")
	p.keys("4")
	p.wait("/The statistics include all calls/.test(document.querySelector('.stats')?.innerText)")
}

// TestSavedPart checks that a page with only the first frames shows their number.
func TestSavedPart(t *testing.T) {
	base, _ := startWeb(t, imported(t, "real-demo-2026-07-28"))
	page, _ := exported(t, base, "1e9e7200", "html")
	// Turn it into the page of a longer recording.
	part := strings.Replace(string(page), `"stats":{`, `"left":9,"stats":{`, 1)
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(part), 0o666); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, "file://"+file, 1280, 800, false)
	p.read()
	if got, want := p.text("#top"), "part of a recording: the first 100 of 109 frames"; !strings.Contains(got, want) {
		t.Errorf("no %q in %s", want, got)
	}
}

// TestSavedPartOpenCalls checks that a page with only the first frames does not report calls as lacking a
// response if it may be in later frames.
func TestSavedPartOpenCalls(t *testing.T) {
	const n = 20_002
	dir := t.TempDir()
	id := writeRecording(t, dir, "part", func(i int) (tap.Frame, bool) {
		f := tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/x"}` + "\n")}
		switch i {
		case 0, 1, 2:
			f.Lane, f.Raw = tap.ToServer, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_%[1]d"}}`+"\n", i)
		case 3, n - 2, n - 1:
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", (i+1)%4)
		}
		return f, i < n
	})
	base, _ := startWeb(t, dir)
	page, _ := exported(t, base, id, "html")
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, "file://"+file, 1280, 800, false)
	rows := p.read()
	if strings.Count(rows, "◌ unknown") != 2 || strings.Contains(rows, "unanswered") || strings.Contains(rows, ">") {
		t.Errorf("rows\n%s", rows)
	}
	if n := eval[int](p, "document.querySelectorAll('.pad > .row.bad').length"); n != 0 {
		t.Errorf("%d rows are marked as bad", n)
	}
	if got := p.text(".foot"); !strings.Contains(got, "2 calls open at the end of this part") || strings.Contains(got, "unanswered") {
		t.Errorf("foot: %s", got)
	}
	p.keys("gj")
	p.wait("/unknown/.test(document.querySelector('.detail-head .state')?.innerText)")
	p.picture("saved-part")
	p.keys("4")
	p.wait("document.querySelector('.stats table')")
	got := p.text(".stats")
	for _, want := range []string{"Not counted: 2 calls open at the end of this part.", "1 call ", "0 unanswered"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the statistics:\n%s", want, got)
		}
	}
	p.picture("saved-part-statistics")
}

// TestSavedSearch checks the search of a saved page.
func TestSavedSearch(t *testing.T) {
	got := module(t, `
	const { search, wordsOf } = await import('/assets/saved_search.js');
	const id = (seq, index = 0) => seq * 16384 + index;
	const rows = [
		{ n: id(1), m: 'tools/call', a: 'outer', c: id(1) },
		{ n: id(2), m: 'sampling/createMessage', c: id(2), p: id(1) },
		{ n: id(3), a: 'the REPLY and more of the client', c: id(2) },
		{ n: id(4), a: 'outer', c: id(1) },
		{ n: id(5), m: 'ping', c: id(5) },
		{ n: id(6), k: 'stderr', a: 'a word' },
		{ n: id(7, 16383), k: 'batch' },
		{ n: id(7, 0), m: 'ping', c: id(7, 0) },
		{ n: id(7, 1), m: 'notifications/x' },
	];
	const why = new Map([[id(5), 'it failed']]);
	const find = (text, calls) => [...search(rows, why, text, calls, (seq) => (seq === 4 ? 'in the frame' : '')) ?? ['all']].map((n) => Math.floor(n / 16384)).join();
	return JSON.stringify([
		wordsOf('a "b c" -d -"e f" "g'), find(' ', true), find('reply', false), find('Reply', true), find('"in the frame"', true), find('failed', true),
		find('word', true), find('-word -a', false), find('nothing', true), find('notifications', false),
	]);`)
	want := `[[{"not":false,"text":"a"},{"not":false,"text":"b c"},{"not":true,"text":"d"},{"not":true,"text":"e f"},{"not":false,"text":"g"}],` +
		`"NaN","3","1,2,3,4","1,2,3,4","5","6","7,7","","7,7"]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// exported exports a recording, and returns it with the header that names the file.
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

// TestExports exports in each format of the menu.
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
