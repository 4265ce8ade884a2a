package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// compareWith opens the dialog and searches for another recording.
func (p *tab) compareWith(word string) {
	p.t.Helper()
	p.keys("d")
	p.wait("document.activeElement.matches('dialog.pick input')")
	eval[bool](p, "document.activeElement.select(), true") // the driver also types the key
	p.keys(word)
	p.wait("document.querySelectorAll('.choices button').length === 1")
}

// TestCompare compares two recordings by keyboard, and opens a call with a difference.
func TestCompare(t *testing.T) {
	dir := imported(t, "real-everything-nested", "real-go-client")
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.activeElement.matches('[role=grid]')")
	p.wait("/real-go-client/.test(document.querySelector('.rec.selected').innerText)")
	p.compareWith("nested")
	p.picture("compare-pick")
	p.keys(kb.Enter)
	p.wait("document.querySelector('.call-pairs .call-head')")
	if got := eval[string](p, "location.pathname + location.search"); got != "/compare?a=6b2c9b58&b=cd3e1b6f" {
		t.Errorf("the URL is %s", got)
	}
	if got := p.text(".sentence"); !strings.Contains(got, "tools/call echo: no longer sent") {
		t.Errorf("the summary is %s", got)
	}
	if got := p.text(".side"); !strings.Contains(got, "A real-go-client") || !strings.Contains(got, "B real-everything-nested") {
		t.Errorf("the sides are %s", got)
	}
	// Serious differences are expanded, with both sides.
	if got := p.text(".difference"); !strings.Contains(got, `{"message":"hello"}`) || !strings.Contains(got, "behaviour") {
		t.Errorf("the differences are %s", got)
	}
	p.picture("compare")

	// Expected differences are initially hidden.
	calls := eval[int](p, "document.querySelectorAll('.call-pair').length")
	p.click(".class-chip[title*=revision]")
	p.wait("document.querySelector('.class-chip[title*=revision]').getAttribute('aria-pressed') === 'true'")
	if n := eval[int](p, "document.querySelectorAll('.call-pair').length"); n <= calls {
		t.Errorf("%d calls are shown instead of %d", n, calls)
	}
	p.click(".class-chip.odd")
	p.wait("document.querySelector('.class-chip.odd').getAttribute('aria-pressed') === 'false'")
	if got := p.text(".call-pair"); strings.Contains(got, "behaviour") {
		t.Errorf("a hidden difference: %s", got)
	}
	p.click(".class-chip.odd")

	// Go to a difference by keyboard, and on to the recording.
	p.keys("g")
	p.wait("document.activeElement === document.querySelector('.call-head, .same')")
	p.keys("-")
	p.wait("document.querySelector('.difference') === null || [...document.querySelectorAll('.differences')].every((e) => e.hidden)")
	p.keys("e" + kb.Enter)
	p.wait("document.activeElement.getAttribute('aria-expanded') === 'true'")
	p.click(".call-pair .jumps a")
	p.wait("location.pathname.startsWith('/r/') && document.querySelector('.card .tree')")

	// Swap the sides.
	eval[bool](p, "history.back(), true")
	p.wait("document.querySelector('.call-pairs .call-head')")
	p.click(".sides > button")
	p.wait("/a=cd3e1b6f&b=6b2c9b58/.test(location.search) && /new request/.test(document.querySelector('.sentence')?.innerText)")

	// Open a recording that does not exist.
	p.do(navigate(at(t, base, "/compare?a=cd3e1b6f&b=00000000")))
	p.wait("document.querySelector('.compare .fault')")
	p.allow("404")
}

// TestCompareTheSame compares a recording with itself.
func TestCompareTheSame(t *testing.T) {
	dir := imported(t, "real-memory")
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/compare?a=16eb1c01&b=16eb1c01"), 800, 600, true)
	p.wait("/No differences/.test(document.querySelector('.sentence')?.innerText)")
	p.click(".same")
	p.wait("document.querySelector('.same-calls .call')")
	p.picture("compare-same")
}

// TestCompareColours checks that the differences of a call have the colour of their own class, not of the call's.
func TestCompareColours(t *testing.T) {
	base, _ := startWeb(t, imported(t, "2025-11-25-tools-healthy", "2025-11-25-tools-broken"))
	p := newTab(t, at(t, base, "/compare?a=2cfbef66&b=9e2e0a95"), 1280, 800, false)
	p.wait("document.querySelector('.call-pair.bad .difference')")
	const colour = "getComputedStyle(document.querySelector('%s')).color"
	text, differences := eval[string](p, fmt.Sprintf(colour, "body")), eval[string](p, fmt.Sprintf(colour, ".call-pair.bad .differences"))
	if text != differences {
		t.Errorf("the differences of a breaking call have the colour %s, text has %s", differences, text)
	}
	p.picture("compare-colours")
}

// TestCompareNarrow checks that a narrow page offers recordings with their times, which distinguish two recordings of one
// server.
func TestCompareNarrow(t *testing.T) {
	base, _ := startWeb(t, imported(t, "2025-11-25-tools-healthy", "2025-11-25-tools-broken"))
	p := newTab(t, at(t, base, "/r/2cfbef66"), 480, 800, false)
	p.read()
	p.keys("d")
	p.wait("document.querySelector('.choices button')")
	p.picture("compare-pick-narrow")
	if !eval[bool](p, "(({offsetWidth, scrollWidth}) => offsetWidth > 0 && scrollWidth <= offsetWidth)(document.querySelector('.choices button > :last-child'))") {
		t.Errorf("no complete time in %s", p.text(".choices"))
	}
}
