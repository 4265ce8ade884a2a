package browsertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
)

// TestSoon measures the time from when the server writes a frame until it is on the page, through a real
// tap. It depends on the machine, and is only printed.
func TestSoon(t *testing.T) {
	longtest.Need(t)
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("ping", `{}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, base, 1280, 600, false)
	p.wait("/ping/.test(document.querySelector('.pad')?.innerText)")
	eval[bool](p, noteLags)
	for i := range 50 {
		s.ask("flood", `{"N":1}`)
		p.wait(fmt.Sprintf("lags.length > %d", i))
	}
	lags := eval[[]float64](p, "lags")
	slices.Sort(lags)
	t.Logf("a frame is on the page after %.0f ms at the median, %.0f ms at most", lags[len(lags)/2], lags[len(lags)-1])
}

// TestRate follows a recording that grows by 10,000 frames a second for some seconds: no row is lost, and
// the number of elements stays bounded. The achieved rate, the page's lag and its memory are printed.
func TestRate(t *testing.T) {
	longtest.Need(t)
	const rate, seconds = 10_000, 6
	const n = rate * seconds
	dir := t.TempDir()
	s := record(t, dir)
	s.ask("ping", `{}`)
	base, _ := startWeb(t, dir, "@live")
	p := newTab(t, at(t, base, eval[string](newTab(t, base, 400, 300, false), "location.pathname")+"?v=frames"), 1280, 600, false)
	p.wait("/ping/.test(document.querySelector('.pad')?.innerText)")
	eval[bool](p, noteLags)
	began := time.Now()
	s.ask("flood", fmt.Sprintf(`{"N":%d,"rate":%d}`, n, rate))
	took := time.Since(began)
	all := n + 5 // with the start, two requests and their responses
	p.wait(fmt.Sprintf("document.querySelector('.scroller').getAttribute('aria-rowcount') === '%d'", all+1))
	behind := time.Since(began) - took
	lags := eval[[]float64](p, "lags")
	slices.Sort(lags)
	heap := eval[float64](p, "(gc(), performance.memory.usedJSHeapSize / 1e6)")
	t.Logf("%d frames at %.0f a second; all rows were there %v after the last; the last line was %.0f ms old at the median, %.0f at the 95th percentile; heap %.0f MB",
		n, float64(n)/took.Seconds(), behind.Round(time.Millisecond), lags[len(lags)/2], lags[len(lags)*95/100], heap)
	if exist := eval[int](p, "document.querySelectorAll('.pad > .row').length"); exist > 60 {
		t.Errorf("%d rows exist", exist)
	}
	if heap > 150 {
		t.Errorf("the heap has %.0f MB", heap)
	}
	if got := p.text(".banners"); got != "" {
		t.Errorf("page: %s", got)
	}
}

// noteLags records, with each paint that shows a new last line, how long ago the server wrote it, in ms. Both
// use the same clock.
const noteLags = `(() => {
	window.lags = [];
	let last = 0;
	const look = () => {
		for (const el of document.querySelectorAll('.pad > .row:not([hidden]) .name')) {
			const at = Number(/ at (\d+)/.exec(el.textContent)?.[1] ?? 0);
			if (at > last) {
				last = at;
				look.newest = true;
			}
		}
		if (look.newest) lags.push(Date.now() - last);
		look.newest = false;
		requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
	return true;
})()`
