package browsertest

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/longtest"
)

// lastLine is the text of the last drawn line. Elements are reused for other lines, so their order in the
// document does not matter.
const lastLine = "[...document.querySelectorAll('.pad > .row:not([hidden])')].reduce((a, b) => (Number(b.getAttribute('aria-rowindex')) > Number(a.getAttribute('aria-rowindex')) ? b : a)).innerText"

// TestLiveTail follows a live recording to its end.
func TestLiveTail(t *testing.T) {
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"the-client","version":"1"}}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, base, 1280, 500, false)
	p.wait("/initialize/.test(document.querySelector('.pad')?.innerText)")
	p.wait("document.querySelector('.status.live')")
	p.wait("document.querySelector('.parties').innerText.includes('the-client')")

	// The list follows new frames.
	for i := range 30 {
		s.ask("tools/call", fmt.Sprintf(`{"name":"tool_%d"}`, i))
	}
	p.wait("/tool_29/.test(document.querySelector('.pad').innerText)")
	s.ask("never", `{}`)
	p.wait("/pending/.test(document.querySelector('.pad').innerText) && /1 call pending/.test(document.querySelector('.foot').innerText)")
	p.wait("/pending\\s*> ([2-9]\\.\\d+ s|\\d\\d+\\.\\d s|\\d+m)/.test(document.querySelector('.pad').innerText)") // without an event

	// It stops when scrolled up.
	eval[bool](p, "document.querySelector('.scroller').scrollTop = 0, true")
	p.wait("/initialize/.test(document.querySelector('.pad').innerText)")
	before := eval[float64](p, "document.querySelector('.scroller').scrollTop")
	for range 5 {
		s.ask("ping", `{}`)
	}
	p.wait("!document.querySelector('.news').hidden && /^↓ 10 new$/.test(document.querySelector('.news').innerText)")
	if after := eval[float64](p, "document.querySelector('.scroller').scrollTop"); after != before {
		t.Errorf("the list moved from %v to %v", before, after)
	}
	p.picture("live-new")
	p.click(".news")
	p.wait("document.querySelector('.news').hidden && /ping/.test(" + lastLine + ")")
	s.ask("say", `{"text":"a word on stderr"}`)
	p.wait("/a word on stderr/.test(document.querySelector('.pad').innerText)")

	// The selected row is kept.
	p.keys("g")
	p.wait("document.querySelector('.row.selected')")
	s.ask("ping", `{}`)
	p.wait("!document.querySelector('.news').hidden")
	p.keys("G")

	s.end()
	p.wait("!document.querySelector('.status.live') && /1 call unanswered/.test(document.querySelector('.foot').innerText)")
	p.wait("/exit/.test(document.querySelector('.pad').innerText)")
}

// TestLiveTime checks that the duration of a live recording and the time axis grow while a call hangs.
func TestLiveTime(t *testing.T) {
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("ping", `{}`)
	s.ask("never", `{}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, base, 1280, 600, false)
	p.wait("/pending\\s*> ([2-9]\\.\\d+ s|\\d\\d+\\.\\d s|\\d+m)/.test(document.querySelector('.pad')?.innerText)")
	for _, what := range []string{".summary .facts", ".axis"} {
		before := p.text(what)
		p.wait(fmt.Sprintf("document.querySelector('%s').innerText !== %q", what, before))
	}

	// The call is pending in the statistics, too.
	p.keys("4")
	p.wait("document.querySelector('.stats .two')")
	if got := p.text(".stats"); !strings.Contains(got, "1 pending") || !strings.Contains(got, "◌ pending") || strings.Contains(strings.ToLower(got), "unanswered") {
		t.Errorf("the statistics of a live recording are\n%s", got)
	}
}

// TestLiveFilter checks a filter that depends on later frames.
func TestLiveFilter(t *testing.T) {
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("ping", `{}`)
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 500, false)
	p.wait("document.querySelector('.rec .status.live')")
	p.click(".rec .label")
	p.read()
	p.find("is:pending")
	p.wait("/Nothing matches/.test(document.querySelector('.empty').innerText)")
	s.ask("never", `{"text":"hello there"}`)
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length === 1")
	s.ask("ping", `{}`)
	s.ask("never", `{}`)
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length === 2")
}

// TestFocusStays checks that the focus stays in a frame that is redrawn.
func TestFocusStays(t *testing.T) {
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("ping", `{}`)
	s.ask("hold", `{"text":"a"}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, base, 1280, 600, false)
	p.wait("/hold/.test(document.querySelector('.pad')?.innerText)")
	p.keys("gjj")
	p.wait("/hold/.test(document.querySelector('.row.selected')?.innerText) && document.querySelectorAll('.card .tree').length === 1")
	p.keys("\r")
	p.wait("document.activeElement.matches('[role=treeitem]')")
	p.keys("j")
	at := eval[string](p, "document.activeElement.innerText")
	s.ask("release", `{}`)
	p.wait("document.querySelectorAll('.card .tree').length === 2")
	if got := eval[string](p, "document.activeElement.innerText"); got != at {
		t.Errorf("the response moved the focus from %q to %q", at, got)
	}
	for _, c := range []struct{ key, tab string }{{"]", "pretty"}, {"]", "raw"}, {"[", "pretty"}, {"[", ""}} {
		p.keys(c.key)
		p.wait("(new URLSearchParams(location.search).get('tab') ?? '') === '" + c.tab + "'")
		if !eval[bool](p, "document.querySelector('.card').contains(document.activeElement)") {
			t.Fatalf("after %s the focus is on %s", c.key, eval[string](p, "document.activeElement.outerHTML.slice(0, 200)"))
		}
	}
	p.wait("document.activeElement.matches('[role=treeitem]')")
	p.keys("p")
	p.wait("document.querySelector('.toast')?.textContent === 'Copied the path'")
	// Clearing a filter keeps the focus in the list.
	p.keys("\x1b")
	p.wait("document.activeElement.matches('.scroller')")
	p.find("ping\r")
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length === 1 && document.activeElement.matches('.scroller')")
	p.keys("c")
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length > 1")
	if !eval[bool](p, "document.activeElement.matches('.scroller')") {
		t.Error("the list lost the focus")
	}
}

// TestFlood checks that a burst of 10,000 frames neither blocks the page nor loses a frame.
func TestFlood(t *testing.T) {
	longtest.Need(t)
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("ping", `{}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, base, 1280, 600, false)
	p.wait("/ping/.test(document.querySelector('.pad')?.innerText)")
	for range 5 {
		s.ask("flood", `{"N":10000}`)
	}
	s.ask("ping", `{}`)
	p.wait("/^50,0/.test(document.querySelector('.foot').innerText) && /ping/.test(" + lastLine + ")")
	n := eval[int](p, "document.querySelectorAll('.pad > .row').length")
	if n > 60 {
		t.Errorf("%d rows exist", n)
	}
}

// TestStdioWeb checks that `mcptap stdio --web` prints the URL of the page, which outlives the
// session while it is open.
func TestStdioWeb(t *testing.T) {
	dir := t.TempDir()
	s := record(t, dir, "--web")
	s.ask("ping", `{}`)
	line := readLine(t, s.stderr)
	_, url, ok := strings.Cut(line, "watch it at ")
	if !ok {
		t.Fatalf("stderr has %q", line)
	}
	p := newTab(t, strings.TrimSpace(url), 1280, 600, false)
	p.wait("/ping/.test(document.querySelector('.pad')?.innerText)")
	s.ask("tools/call", `{"name":"later"}`)
	p.wait("/later/.test(document.querySelector('.pad').innerText)")
	s.end()
	p.wait("!document.querySelector('.status.live') && /exit/.test(document.querySelector('.pad').innerText)")
	p.click(".row.call .name")
	p.wait("document.querySelector('.card .tree')")
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}
