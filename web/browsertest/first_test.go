package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/mcptap/mcptap/internal/longtest"
)

// TestFirstRows opens a recording of a million frames: its first rows appear long before it has been
// read. The time until they are painted, after a click in the list of recordings and after a link is
// opened, depends on the machine and is printed, not tested.
func TestFirstRows(t *testing.T) {
	longtest.Need(t)
	const n = 1_000_000
	dir := t.TempDir()
	id := traffic(t, dir, n)
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/"), 1280, 800, false)
	p.call(chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: notePaint}))
	times := map[string][]float64{}
	for _, view := range []string{"calls", "frames"} {
		for range 3 {
			p.do(navigate(at(t, base, "/r/"+id+"?v="+view)))
			p.wait("window.painted")
			times["link, "+view] = append(times["link, "+view], eval[float64](p, "painted"))
			if foot := p.text(".foot"); foot == "" {
				t.Error("no foot")
			}
		}
	}
	for range 3 {
		p.do(navigate(at(t, base, "/")))
		p.wait("document.querySelector('.rec.selected .label')")
		eval[bool](p, "(() => { window.painted = 0; window.began = performance.now(); document.querySelector('.rec .label').click(); return true; })()")
		p.wait("window.painted")
		times["click"] = append(times["click"], eval[float64](p, "painted - began"))
	}
	for what, all := range times {
		slices.Sort(all)
		t.Logf("%s: the first rows of %s frames after %.0f ms at the median, %.0f at most", what, grouped(n), all[len(all)/2], all[len(all)-1])
	}
	p.wait(fmt.Sprintf("/^%s frames/.test(document.querySelector('.foot').innerText)", grouped(n)))
	p.keys("G")
	p.wait(fmt.Sprintf("[...document.querySelectorAll('.pad .no')].some((e) => Number(e.textContent) >= %d)", n-1))
}

// notePaint records when the first row is on the screen: after the animation frame in which it was drawn.
const notePaint = `
new MutationObserver(() => {
	if (window.painted || !document.querySelector('.pad .row .name')?.textContent) return;
	requestAnimationFrame(() => setTimeout(() => { window.painted ||= performance.now(); }));
}).observe(document, { childList: true, subtree: true, characterData: true })`
