package browsertest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
)

// TestLarge opens 200,000 frames: scrolling does not increase the number of elements or the
// memory. Times depend on the machine, and are only printed.
func TestLarge(t *testing.T) {
	longtest.Need(t)
	n := 200_000
	if v, err := strconv.Atoi(os.Getenv("MCPTAP_FRAMES")); err == nil {
		n = v
	}
	dir := t.TempDir()
	id := traffic(t, dir, n)
	base, _ := startWeb(t, dir)
	for _, view := range []string{"frames", "calls"} {
		t.Run(view, func(t *testing.T) {
			p := newTab(t, at(t, base, "/r/"+id+"?v="+view), 1280, 800, false)
			p.wait("document.querySelector('.row .name')")
			first := eval[float64](p, "performance.now()")
			p.wait(fmt.Sprintf("document.querySelector('.foot').innerText.includes('%s frames') && !document.querySelector('.foot').innerText.includes('Reading')", grouped(n)))
			all := eval[float64](p, "performance.now()")
			if got := eval[int](p, "document.querySelectorAll('.pad > .row').length"); got > 60 {
				t.Errorf("%d rows exist, but about 25 are visible", got)
			}
			frames := eval[[]float64](p, scrollThrough)
			heap := eval[float64](p, "(gc(), performance.memory.usedJSHeapSize / 1e6)")
			t.Logf("%s of %d: first rows after %.0f ms, all after %.0f ms; %d frames while scrolling, p50 %.1f ms, p99 %.1f ms; heap %.0f MB",
				view, n, first, all, int(frames[2]), frames[0], frames[1], heap)
			if heap > 150 && n <= 200_000 {
				t.Errorf("the heap has %.0f MB", heap)
			}
			if got := eval[int](p, "document.querySelectorAll('.pad > .row').length"); got > 80 {
				t.Errorf("%d rows exist after scrolling", got)
			}
			began := time.Now()
			p.find("is:error")
			p.wait("document.querySelector('.pad > .row.bad:not([hidden])')")
			some := time.Since(began)
			p.wait("/ of /.test(document.querySelector('.foot').innerText) && !/Reading/.test(document.querySelector('.foot').innerText)")
			t.Logf("is:error: first rows after %v, all after %v", some.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
			p.keys("\x1b")
			p.wait("document.activeElement.matches('.scroller')")
			p.keys("c")
			p.wait(fmt.Sprintf("/^%s frames/.test(document.querySelector('.foot').innerText)", grouped(n)))
			p.keys("G")
			p.wait(fmt.Sprintf("[...document.querySelectorAll('.pad .no')].some((e) => Number(e.textContent) >= %d)", n-1))
			if got := p.text(".foot"); strings.Contains(got, "unanswered") {
				t.Errorf("each call has a response, but the page has %s", got)
			}
			p.picture("large-" + view)
		})
	}
}

// scrollThrough scrolls for two seconds and returns the median and the 99th percentile of the times between
// two paints, in ms, and the number of paints.
const scrollThrough = `new Promise((done) => {
	const el = document.querySelector('.scroller');
	const times = [];
	const began = performance.now();
	let last = began;
	const step = (now) => {
		times.push(now - last);
		last = now;
		el.scrollTop += 400;
		if (now - began < 2000) requestAnimationFrame(step);
		else {
			times.shift();
			times.sort((a, b) => a - b);
			done([times[Math.floor(times.length / 2)], times[Math.floor(times.length * 0.99)], times.length]);
		}
	};
	requestAnimationFrame(step);
})`

// grouped formats a number as the page does.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
