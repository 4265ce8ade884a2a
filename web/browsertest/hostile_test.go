package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

// hostile returns frames that attack the viewer.
func hostile() []string {
	markup := []string{
		`<script>window.pwned=1</script>`, `<img src=x onerror="window.pwned=1">`, `<svg onload="window.pwned=1">`,
		`"><iframe srcdoc="<script>parent.pwned=1</script>">`, `javascript:window.pwned=1`, `</script><script>window.pwned=1</script>`,
		`{{constructor.constructor('window.pwned=1')()}}`, "`${window.pwned=1}`", `<style>*{display:none}</style>`, `<base href="http://evil.example/">`,
	}
	var all []string
	for i, m := range markup {
		q := fmt.Sprintf("%q", m)
		all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%s,"params":{%s:%s,"name":%s}}`, i, q, q, q, q))
	}
	return append(all,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"safe \u202e\u2066evil\u2069 \u200b\u200d\ufeff \u001b[31m \u0000 \ud800 \udc00x \ue000"}}`,
		"{\"jsonrpc\":\"2.0\",\"method\":\"raw \u202e\u2067\u200b\",\"params\":{\"\u202ekey\":1}}",
		`{"jsonrpc":"2.0","method":"proto","params":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x","hasOwnProperty":1}}`,
		"\xff\xfe\x00 not UTF-8 \x80", "", " ", "null", "[]", "[[[[", `{"jsonrpc":"2.0"`, "\x00\x01\x02\x03\x04\x05\x06\x07\x08",
		strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000),
		strings.Repeat("[", 100_000),
		`{"jsonrpc":"2.0","method":"deep","params":`+strings.Repeat(`{"a":`, 9_000)+"1"+strings.Repeat("}", 9_000)+`}`,
		`{"jsonrpc":"2.0","method":"wide","params":[`+strings.Repeat("1,", 300_000)+`1]}`,
		`{"jsonrpc":"2.0","method":"long","params":{"s":"`+strings.Repeat("A long text. ", 400_000)+`"}}`,
		`{"jsonrpc":"2.0","method":"`+strings.Repeat("m", 100_000)+`","params":{}}`,
		`{"jsonrpc":"2.0","method":"numbers","params":[12345678901234567890,1e999,-0.0,0.1000000000000000055511151231257827]}`,
		`{"jsonrpc":"2.0","method":"twice","params":{"a":1,"a":2}}`,
	)
}

func TestHostile(t *testing.T) {
	dir := t.TempDir()
	all := hostile()
	id := writeRecording(t, dir, `<script>window.pwned=1</script>`+"\u202e", func(i int) (tap.Frame, bool) {
		if i >= len(all) {
			return tap.Frame{}, false
		}
		lane := []tap.Lane{tap.ToServer, tap.ToClient, tap.Stderr}[i%3]
		if len(all[i]) > 1000 {
			lane = tap.ToClient
		}
		return tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: lane, Raw: []byte(all[i] + "\n")}, true
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.querySelector('.rec.selected')")
	p.keys("\r")
	p.read()
	for _, view := range []string{"frames", "calls", "sequence", "stats", "findings"} {
		p.do(navigate(at(t, base, "/r/"+id+"?v="+view)))
		p.wait("document.querySelector('.pad > .row, .stats .tiles, .findings li')")
		p.inert()
	}
	p.picture("hostile-findings")
	each := 1
	if longtest.Sampled(t) {
		each = 3
	}
	for i := 0; i < len(all); i += each {
		p.do(navigate(at(t, base, fmt.Sprintf("/r/%s?v=frames&f=%d", id, i+1))))
		p.wait("document.querySelector('.card-body > :not(p.note)') && !/Loading/.test(document.querySelector('.card-body').innerText)")
		for _, tab := range eval[[]string](p, "[...document.querySelector('.card .tabs').children].map((e) => e.textContent)") {
			eval[bool](p, fmt.Sprintf("[...document.querySelectorAll('.card .tabs')].at(-1).querySelectorAll('button').forEach((e) => e.textContent === %q && e.click()), true", tab))
			p.wait("document.querySelector('.card-body > *') && !/^Loading|^Comparing/.test(document.querySelector('.card-body').innerText)")
			p.inert()
			if n := eval[int](p, "document.querySelectorAll('*').length"); n > 12_000 {
				t.Errorf("frame %d, %s: %d elements", i+1, tab, n)
			}
		}
		if i == 9 {
			p.picture("hostile-text")
		}
	}
	// Compare side by side with another recording.
	other := writeRecording(t, dir, "other", func(i int) (tap.Frame, bool) {
		if i >= 16 {
			return tap.Frame{}, false
		}
		raw := strings.ReplaceAll(all[i], "pwned=1", "pwned=2") + "\n"
		return tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: tap.ToServer, Raw: []byte(raw)}, true
	})
	p.do(navigate(at(t, base, "/compare?a="+id+"&b="+other)))
	p.wait("document.querySelector('.call-pairs .call-head')")
	p.keys("*")
	p.wait("document.querySelector('.both .cell')")
	p.inert()
	if n := eval[int](p, "document.querySelectorAll('*').length"); n > 12_000 {
		t.Errorf("%d elements side by side", n)
	}
	p.picture("hostile-compare")

	// Numbers are as recorded.
	p.do(navigate(at(t, base, fmt.Sprintf("/r/%s?v=frames&f=%d", id, len(all)-1))))
	p.wait("document.querySelector('.card .tree .number')")
	if got := p.text(".card .tree .number"); got != "12345678901234567890\n1e999\n-0.0\n0.1000000000000000055511151231257827" {
		t.Errorf("numbers %s", got)
	}
}

// TestHostileSaved opens the same frames in a saved page, without a server that escapes them.
func TestHostileSaved(t *testing.T) {
	dir := t.TempDir()
	all := hostile()
	id := writeRecording(t, dir, `</title><script>window.pwned=1</script>`, func(i int) (tap.Frame, bool) {
		if i >= len(all) {
			return tap.Frame{}, false
		}
		return tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: []tap.Lane{tap.ToServer, tap.ToClient, tap.Stderr}[i%3], Raw: []byte(all[i] + "\n")}, true
	})
	base, _ := startWeb(t, dir)
	page, _ := exported(t, base, id, "html")
	if len(page) > 16<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, "file://"+file+"#v=frames", 1280, 800, false)
	p.read()
	if n := eval[int](p, "document.querySelectorAll('script, style').length"); n != 3 {
		t.Errorf("%d scripts and styles", n)
	}
	eval[bool](p, "document.querySelectorAll('script, style').forEach((e) => e.setAttribute('data-own', '')), true") // the page's own
	p.keys("g")
	for range all {
		p.keys("j")
		p.wait("document.querySelector('.card-body > *') && !/^Loading/.test(document.querySelector('.card-body').innerText)")
	}
	p.inert()
	for _, view := range []string{"1", "3", "4", "5"} {
		p.keys(view)
		p.wait("document.querySelector('.pad > .row, .stats .tiles, .findings li')")
		p.inert()
	}
	p.picture("hostile-saved")
}

// inert fails if recorded text became markup or script.
func (p *tab) inert() {
	p.t.Helper()
	if eval[bool](p, "Boolean(window.pwned || {}.polluted)") {
		p.t.Error("recorded text was executed")
	}
	if found := eval[string](p, "[...document.querySelectorAll('script, iframe, svg, style, base, object, embed, img, [onerror], [onload]')].filter((e) => !(e.hasAttribute('data-own') || e.matches('script[src=\"/assets/page.js\"], .brand img'))).map((e) => e.outerHTML).join()"); found != "" {
		p.t.Errorf("recorded text became %s", found)
	}
	// Characters that reorder or hide text must be escaped.
	if bad := eval[string](p, `(document.title + document.body.innerText).match(/[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff\u0000-\u0008\u001b]/g)?.map((c) => c.charCodeAt(0).toString(16)).join() ?? ''`); bad != "" {
		p.t.Errorf("characters reach the page: %s", bad)
	}
}
