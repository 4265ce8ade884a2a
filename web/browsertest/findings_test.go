package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindings opens the findings, goes to their frames, and sees the marks in the list.
func TestFindings(t *testing.T) {
	dir := imported(t, "2025-03-26-batch-broken")
	base, _ := startWeb(t, dir, "@last")
	p := newTab(t, base, 1280, 800, false)
	if rows := p.read(); strings.Contains(rows, "⚑") {
		t.Errorf("marks before the recording was judged:\n%s", rows)
	}
	p.keys("5")
	p.wait("document.querySelector('.findings li')")
	if got := p.text(".findings h2"); got != "client-breaking\nmust\nobservation" {
		t.Errorf("classes %q", got)
	}
	for _, want := range []string{
		"8 findings;", "#2 $[*].method: initialize in a batch  initialize is not part of a batch.  Fix: Send initialize as a single message.",
		"2025-03-26 basic/lifecycle#initialization", "#8 tools/call $.id: a second response: 4", "#7 tools/call query: no response",
	} {
		if got := p.text(".findings"); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	p.picture("findings")
	// Open a batch, by keyboard.
	const link = "[...document.querySelectorAll('.findings li button')].find((e) => e.innerText === '%')"
	eval[bool](p, strings.Replace(link, "%", "#9", 1)+".focus(), true")
	p.keys("\r")
	p.wait("document.querySelector('.row.selected .no')?.textContent === '9'")
	p.wait("/empty batch/.test(document.querySelector('.card')?.innerText) && document.activeElement.matches('.scroller')")
	if got := eval[string](p, "document.querySelector('.row.selected .flag').title"); got != "Violates rpc-19" {
		t.Errorf("the mark of #9 has the title %q", got)
	}
	if q := eval[string](p, "location.search"); q != "?v=frames&f=9" {
		t.Errorf("the URL has %s", q)
	}
	// In a batch, the row of the whole frame is marked. Observations are not marked.
	if got := eval[string](p, "[...document.querySelectorAll('.pad > .row')].filter((e) => e.querySelector('.flag').textContent).map((e) => e.querySelector('.no').textContent).join()"); got != "2,7,8,9" {
		t.Errorf("marks at %s", got)
	}
	p.picture("findings-marks")
	// A filter that hides the frame is cleared.
	p.find("tool:nothing")
	p.wait("/Nothing matches/.test(document.querySelector('.empty')?.innerText)")
	p.keys("\x1b")
	p.keys("5")
	p.wait("/the filter applies to the other views/.test(document.querySelector('.findings')?.innerText)")
	eval[bool](p, strings.Replace(link, "%", "#6", 1)+".click(), true")
	p.wait("document.querySelector('.row.selected .no')?.textContent === '6' && document.querySelector('.filter input').value === ''")
}

// TestNoFindings checks that a recording without findings shows how many rules hold and could
// not be judged, and so does its saved page.
func TestNoFindings(t *testing.T) {
	base, _ := startWeb(t, imported(t, "real-everything-nested"))
	p := newTab(t, at(t, base, "/r/cd3e1b6f?v=findings"), 1280, 800, false)
	const shown = "/^No findings\\s+[0-9]+ rules hold, [0-9]+ could not be judged.$/.test(document.querySelector('.findings')?.innerText.trim())"
	p.wait(shown)
	page, _ := exported(t, base, "cd3e1b6f", "html")
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	p.do(navigate("file://" + file + "#v=findings"))
	p.wait(shown)
	// A removed recording cannot be judged.
	p.do(navigate(at(t, base, "/r/00000000?v=findings")))
	p.allow("404")
	p.wait("document.querySelector('.list-box .fault')")
}

// TestLiveFindings judges a live recording again.
func TestLiveFindings(t *testing.T) {
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"the-client","version":"1"}}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, base, 1280, 700, false)
	p.read()
	p.keys("5")
	const up = "Number(document.querySelector('.findings .note')?.innerText.match(/live: it was judged up to #(\\d+)/)?.[1])"
	p.wait(up + " > 0")
	before := eval[int](p, up)
	s.ask("ping", `{}`)
	p.wait(fmt.Sprintf("document.body.innerText.includes('%d frames')", before+2)) // it can only be judged then
	p.click(".findings .note button")
	p.wait(up + " > " + fmt.Sprint(before))
	p.wait("document.activeElement.matches('.findings')")
	s.end()
}
