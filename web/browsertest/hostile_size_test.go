package browsertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// TestHostileSizes checks that a frame of 64 MiB, a method of 1 MiB, a hundred thousand lines of stderr
// and an event with a million comments open like any other, with a bounded number of elements.
func TestHostileSizes(t *testing.T) {
	longtest.Need(t)
	const lines = 100_000
	large := [][]byte{
		bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`), bytes.Repeat([]byte("<b>64 MiB</b> "), 64<<20/14), []byte("\"}]}}\n")}, nil),
		[]byte(`{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("<i>m</i>", 1<<17) + `","params":{"` + strings.Repeat("k", 1<<20) + `":1}}` + "\n"),
		[]byte(strings.Repeat("<u>no line ends here</u>", 1<<16)),
	}
	dir := t.TempDir()
	id := writeRecording(t, dir, strings.Repeat(`<b onclick="window.pwned=1">`, 40), func(i int) (tap.Frame, bool) {
		f := tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: tap.ToClient}
		switch {
		case i < len(large):
			f.Raw = large[i]
		case i < len(large)+lines:
			f.Lane, f.Raw = tap.Stderr, fmt.Appendf(nil, "\x1b[31m<img src=x onerror=window.pwned=1> %d\r\n", i)
		default:
			return f, false
		}
		return f, true
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.querySelector('.rec.selected')")
	p.inert()
	p.picture("hostile-sizes-list")
	p.keys("\r")
	p.read()
	for i := range large {
		p.do(navigate(at(t, base, fmt.Sprintf("/r/%s?v=frames&f=%d", id, i+1))))
		p.wait("document.querySelector('.card-body > :not(p.note)') && document.querySelector('.card .tabs button')")
		for _, tab := range eval[[]string](p, "[...document.querySelector('.card .tabs').children].map((e) => e.textContent)") {
			eval[bool](p, fmt.Sprintf("[...document.querySelectorAll('.card .tabs button')].find((e) => e.textContent === %q).click(), true", tab))
			p.wait("!/^Loading|^Comparing/.test(document.querySelector('.card-body').innerText)")
			p.inert()
			p.bounded()
		}
		p.picture(fmt.Sprintf("hostile-sizes-%d", i+1))
	}
	p.do(navigate(at(t, base, "/r/"+id+"?v=frames&f=1&tab=raw")))
	p.wait("/Load/.test(document.querySelector('.rest button')?.innerText)")
	eval[bool](p, "document.querySelector('.rest button').click(), true")
	p.wait("/^4.3 MiB of 64 MiB/.test(document.querySelector('.rest')?.innerText)")
	p.bounded()
	if got := p.text(".foot"); !strings.Contains(got, grouped(lines+len(large))+" frames") && !strings.Contains(got, "Reading") {
		t.Errorf("foot: %s", got)
	}
	for _, view := range []string{"calls", "sequence", "stats", "findings"} {
		p.do(navigate(at(t, base, "/r/"+id+"?v="+view)))
		p.wait("document.querySelector('.pad > .row, .stats .tiles, .findings')")
		p.inert()
		p.bounded()
	}
}

// TestHostileHTTP opens a recording with ten thousand sessions, and heads full of markup.
func TestHostileHTTP(t *testing.T) {
	sessions := 10_000
	if longtest.Sampled(t) {
		sessions = 500
	}
	const markup = `<img src=x onerror="window.pwned=1">`
	header := [][2]string{{markup, markup}, {"WWW-Authenticate", `Bearer realm="</dd><script>window.pwned=1</script>"`}, {"X-Bidi", "\u202eevil\u2066"}, {"X-Long", strings.Repeat(markup, 20)}}
	dir := t.TempDir()
	id := writeRecordingOf(t, dir, "sessions", "http", func(i int) (tap.Frame, bool) {
		exchange := uint64(i/5 + 1)
		f := tap.Frame{At: time.Duration(i) * time.Millisecond, Exchange: exchange}
		event := func(e tap.Event) { f.Raw = e.Encode() }
		switch i % 5 {
		case 0:
			event(tap.Event{Name: tap.EventRequest, Conn: exchange, Proto: markup, Method: "POST", Target: "/mcp?" + markup, Header: header})
		case 1:
			f.Lane, f.Form = tap.ToServer, tap.FormBody
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":%q,"version":"%d"}}}`, markup, i)
		case 2:
			event(tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: 200 + i%2*201, Reason: markup, Header: append(header, [2]string{"Mcp-Session-Id", fmt.Sprint("s-", exchange)})})
		case 3:
			f.Lane, f.Form = tap.ToClient, tap.FormBody
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":%q,"version":"1"}}}`, markup)
		default:
			event(tap.Event{Name: tap.EventEnd, By: markup, Error: markup})
		}
		return f, i < sessions*5
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id+"?v=frames&f=4&tab=http"), 1280, 800, false)
	p.wait("document.querySelectorAll('.card dl.fields dt').length > 4")
	p.inert()
	p.picture("hostile-http")
	p.read()
	p.bounded()
	if n := eval[int](p, "document.querySelectorAll('.sessions option').length"); n < 100 || n > 300 {
		t.Errorf("%d sessions can be chosen", n)
	}
	// Select the last one by the filter, and in the statistics.
	p.do(navigate(at(t, base, fmt.Sprintf("/r/%s?v=frames&q=session:%d", id, sessions))))
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length >= 2 && !/Reading/.test(document.querySelector('.foot').innerText)")
	if got := eval[string](p, "document.querySelector('.sessions').value"); got != fmt.Sprint(sessions) {
		t.Errorf("selected session %s", got)
	}
	p.keys("4")
	p.wait("document.querySelector('.stats .tile b')?.innerText === '1'")
	p.inert()
	p.do(navigate(at(t, base, "/r/"+id)))
	p.wait("document.querySelector('.pad > .row.call')")
	p.inert()
	p.bounded()
}

// bounded fails if the page has too many elements.
func (p *tab) bounded() {
	p.t.Helper()
	if n := eval[int](p, "document.querySelectorAll('*').length"); n > 12_000 {
		p.t.Errorf("%d elements", n)
	}
	if n := eval[int](p, "document.body.textContent.length"); n > 2_000_000 {
		p.t.Errorf("%d characters", n)
	}
	if heap := eval[float64](p, "(gc(), performance.memory.usedJSHeapSize / 1e6)"); heap > 150 {
		p.t.Errorf("the heap has %.0f MB", heap)
	}
}
