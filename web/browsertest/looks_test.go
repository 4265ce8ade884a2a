package browsertest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcptap/mcptap/internal/longtest"
)

// places are the views that TestLooks checks.
var places = []struct{ name, path, ready string }{
	{"list", "/", "document.querySelector('.rec.selected')"},
	{"calls", "/r/ID", "document.querySelectorAll('.pad > .row').length > 10"},
	{"call", "/r/ID?f=39", "document.querySelectorAll('.card .tree').length === 2"},
	{"frames", "/r/ID?v=frames&f=10&tab=pretty", "document.querySelector('.card .code')"},
	{"sequence", "/r/ID?v=sequence", "document.querySelectorAll('.row.step').length > 10"},
	{"statistics", "/r/ID?v=stats", "document.querySelector('.stats table')"},
	{"findings", "/r/9e2e0a95?v=findings", "document.querySelector('.findings li')"},
	{"changes", "/r/ID?v=frames&f=10&tab=changes", "document.querySelector('.changes li')"},
	{"bytes", "/r/ID?v=frames&f=10&tab=hex", "document.querySelector('.code.hex')"},
	{"compare", "/compare?a=ID&b=b412f786", "document.querySelector('.call-pairs .call-head')"},
	{"filtered", "/r/ID?q=is%3Aerror", "document.querySelector('.row.bad')"},
}

// selectedInView is whether the line of the frame in the panel is visible.
const selectedInView = `(() => {
	const line = document.querySelector('.pad > .row.selected')?.getBoundingClientRect();
	const list = document.querySelector('.scroller').getBoundingClientRect();
	return line && line.top >= list.top && line.bottom <= list.bottom + 1;
})()`

// TestLooks takes a screenshot of each view in both themes, wide and narrow, and checks that nothing is cut
// off at the side, even at twice the size, and that axe has no serious finding.
func TestLooks(t *testing.T) {
	dir := imported(t, "real-demo-2026-07-28", "real-demo-2025-11-25", "2025-11-25-*-broken")
	base, _ := startWeb(t, dir)
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("axe-core is not installed: run npm ci")
		}
		fmt.Fprintln(os.Stderr, "SKIPPED: axe-core is not installed, so nothing was checked for screen readers. Run npm ci")
	}
	sampled := longtest.Sampled(t)
	for _, s := range []struct {
		name          string
		width, height int
		dark          bool
		scale         float64
		axe           bool
	}{
		{"1280", 1280, 800, false, 1, true}, {"1280-dark", 1280, 800, true, 1, true}, {"800", 800, 700, false, 1, false},
		{"800-dark", 800, 700, true, 1, false}, {"640-twice", 640, 400, false, 2, false},
	} {
		if sampled && s.name != "1280" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			p := newTab(t, at(t, base, "/"), s.width, s.height, s.dark)
			p.do(chromedp.EmulateViewport(int64(s.width), int64(s.height), chromedp.EmulateScale(s.scale)))
			for _, place := range places {
				p.do(navigate(at(t, base, strings.Replace(place.path, "ID", "1e9e7200", 1))))
				p.wait(place.ready)
				if strings.Contains(place.path, "f=") {
					p.wait(selectedInView)
				}
				p.wait("document.getAnimations().every((a) => a.effect.getComputedTiming().iterations === Infinity)")
				p.picture(fmt.Sprintf("look-%s-%s", place.name, s.name))
				if over := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s is %d pixels too wide", place.name, over)
				}
				if len(axe) == 0 || !s.axe {
					continue
				}
				eval[bool](p, string(axe)+"; true")
				found := eval[[]string](p, `axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
					.map((v) => v.id + ': ' + v.help + ' – ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.any.concat(n.all, n.none).map((c) => c.message).join('; ')).join(' | ')))`)
				for _, f := range found {
					t.Errorf("%s: %s", place.name, f)
				}
			}
		})
	}
}
