package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/mcptap/mcptap/tap"
)

// TestEmpty shows a directory without recordings, and then with a first one.
func TestEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not-made-yet")
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("/No recordings yet/.test(document.body.innerText) && /mcptap stdio --/.test(document.body.innerText)")
	p.picture("state-empty")
	s := record(t, dir)
	s.ask("ping", `{}`)
	p.wait("document.querySelector('.rec .status.live')")
}

// TestCutAndGaps checks that an incomplete recording shows what is missing.
func TestCutAndGaps(t *testing.T) {
	dir := imported(t, "2025-11-25-unanswered-broken")
	base, _ := startWeb(t, dir, "@last")
	p := newTab(t, base, 1280, 800, false)
	p.read()
	if got := p.text(".banners"); !strings.Contains(got, "Cut off.") || !strings.Contains(got, "5 frames crossed unrecorded: #16–20") {
		t.Errorf("banners: %s", got)
	}
	if got := p.text(".foot"); !strings.Contains(got, "2 calls unanswered") {
		t.Errorf("foot: %s", got)
	}
	if got := p.text(".foot"); !strings.Contains(got, "1 error") || !strings.Contains(got, "1 response without a request") {
		t.Errorf("foot: %s", got)
	}
	rows := p.text(".pad > .row")
	if !strings.Contains(rows, "unanswered > 3.12 s") {
		t.Errorf("no waiting time of the unanswered call:\n%s", rows)
	}
	if !strings.Contains(rows, "✕ no such request") {
		t.Errorf("the response without a request has another name than in the terminal:\n%s", rows)
	}
	p.keys("eee")
	p.wait("/no such request: id 9/.test(document.querySelector('.detail-head').innerText)")
	p.picture("state-cut")
}

// TestDamaged checks that the readable part is shown, with the command for the rest.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	id := traffic(t, dir, 50_000)
	files, err := filepath.Glob(filepath.Join(dir, "*.mcptap"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// In the middle of the frames, which the list of recordings does not read.
	if _, err := f.WriteAt(make([]byte, 4096), info.Size()*3/4); err != nil {
		t.Fatal(err)
	}
	f.Close()
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id), 1280, 800, false)
	p.wait("/cannot be read further/.test(document.querySelector('.banners')?.innerText)")
	if got := p.text(".banners"); !strings.Contains(got, "mcptap export --dir "+dir+" --salvage "+id) {
		t.Errorf("banner: %s", got)
	}
	p.picture("state-damaged")

	// Make the beginning of the file unreadable.
	if err := os.WriteFile(files[0], []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(navigate(at(t, base, "/")))
	p.wait("/damaged/.test(document.querySelector('.rec .status')?.innerText)")
	p.keys("\r")
	p.wait("/cannot be read/.test(document.querySelector('.banners')?.innerText)")
}

// TestRemovedWhileOpen checks that the rows are kept when the recording is removed.
func TestRemovedWhileOpen(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/1ee9dfb0"), 1280, 800, false)
	rows := p.read()
	run(t, dir, "rm", "--yes", "1ee9dfb0")
	p.wait("/The recording was removed/.test(document.querySelector('.banners').innerText)")
	if got := p.text(".pad > .row"); got != rows {
		t.Errorf("rows: %s", got)
	}
	p.picture("state-removed")
	p.click(".banner .link")
	p.wait("/No recordings yet/.test(document.body.innerText)")
	// Follow a link to a recording that never existed.
	p.do(navigate(at(t, base, "/r/00000000")))
	p.wait("/There is no recording 00000000/.test(document.querySelector('.banners')?.innerText)")
	p.wait("!/Reading/.test(document.querySelector('main').innerText)") // the list is painted with the next frame
	if got := p.text("main"); !strings.Contains(got, "mcptap ls --dir "+dir) || strings.Contains(got, "Loading") || strings.Contains(got, "Reading") || strings.Contains(got, "no frames") {
		t.Errorf("page: %s", got)
	}
}

// TestDeadLinks opens links to a missing frame, and with invalid parts.
func TestDeadLinks(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/1ee9dfb0?f=999"), 1280, 800, false)
	p.allow("404")
	p.wait("/no such frame 999/.test(document.querySelector('.card .fault')?.innerText)")
	if got := p.text(".card"); !strings.Contains(got, "mcptap show --dir "+dir+" 1ee9dfb0") || strings.Contains(got, "Loading") {
		t.Errorf("card: %s", got)
	}
	p.do(navigate(at(t, base, "/r/1ee9dfb0?f=seven")))
	p.wait("/f=seven was ignored/.test(document.querySelector('.banners')?.innerText)")
	p.do(navigate(at(t, base, "/r/1ee9dfb0?v=frames#17")))
	p.wait("/#17 was ignored/.test(document.querySelector('.banners')?.innerText)")
	if got := p.read(); got == "" {
		t.Error("no rows")
	}
}

// TestFrameStaysInURL checks that the URL has the selected frame even before it is read.
func TestFrameStaysInURL(t *testing.T) {
	dir := t.TempDir()
	id := traffic(t, dir, 5000)
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.querySelector('.rec')")
	for _, query := range []string{"v=frames&f=4999", "f=4999"} {
		eval[bool](p, fmt.Sprintf(`(() => {
			globalThis.urls = [];
			for (const name of ['pushState', 'replaceState']) history[name] = (...args) => { History.prototype[name].apply(history, args); urls.push(location.search); };
			history.pushState(null, '', '/r/%s?%s');
			dispatchEvent(new PopStateEvent('popstate'));
			return true;
		})()`, id, query))
		p.wait("document.querySelector('.row.selected .no')?.textContent === '4999'")
		if got := eval[string](p, "urls.find((u) => !u.includes('f=4999')) ?? ''"); got != "" {
			t.Errorf("%s became %s", query, got)
		}
	}
}

// TestRefusedFilter opens links with filters that the page refuses: it shows the head of the recording, and
// the error in the filter.
func TestRefusedFilter(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, _ := startWeb(t, dir)
	for query, want := range map[string]string{"is:finding": "for mcptap show only", "latency:x": "invalid duration"} {
		p := newTab(t, at(t, base, "/r/1ee9dfb0?f=3&q="+query), 1280, 800, false)
		p.read()
		p.wait("document.querySelector('.summary .menu-wrap button')")
		if got := p.text(".summary"); strings.Contains(got, "Loading") || !strings.Contains(got, "Compare") || !strings.Contains(got, "Export") {
			t.Errorf("%s: the head is %s", query, got)
		}
		if got := p.text(".filter-problem"); !strings.Contains(got, want) {
			t.Errorf("%s: the error is %q", query, got)
		}
		p.wait("/rooms loaded/.test(document.querySelector('.card')?.innerText)")
		if got := p.text("main"); strings.Contains(got, "Nothing matches") || strings.Contains(got, "0 rows") || strings.Contains(got, "cannot be read") {
			t.Errorf("%s: the page has\n%s", query, got)
		}
		if got := eval[string](p, "location.search"); !strings.Contains(got, "f=3") {
			t.Errorf("%s: the URL has %s", query, got)
		}
		p.picture("state-refused-filter")
		for text, other := range map[string]string{"is:": "finding", "r": "rule:"} {
			p.find(text)
			p.wait("document.querySelectorAll('.completions [role=option]').length > 0 && document.activeElement.value === '" + text + "'")
			time.Sleep(300 * time.Millisecond) // wait for completions after the last character
			if got := p.text(".completions [role=option] .mono"); strings.Contains(got, other) {
				t.Errorf("completions of %s: %s", text, got)
			}
			p.keys("\x1b\x1b")
		}
		p.keys("c")
		p.wait("document.querySelector('.pad > .row .name') && document.querySelector('.filter-problem').hidden")
		p.keys("?")
		p.wait("document.querySelector('dialog .language table')")
		if got := p.text("dialog .language"); strings.Contains(got, "rule:") || strings.Contains(got, "is:finding") {
			t.Errorf("the help has\n%s", got)
		}
	}
}

// TestListening checks that a subscription that is open at the end does not count as unanswered, and that the
// time axis ends with the recording.
func TestListening(t *testing.T) {
	base, _ := startWeb(t, imported(t, "2026-07-28-http-healthy"), "@last")
	p := newTab(t, base, 1280, 800, false)
	if rows := p.read(); !strings.Contains(rows, "≋ ended 517 ms") {
		t.Errorf("no subscription:\n%s", rows)
	}
	if got := p.text(".foot"); strings.Contains(got, "unanswered") {
		t.Errorf("foot: %s", got)
	}
	p.wait("document.querySelector('.axis')?.innerText === '0.000 – 0.942'")
}

// TestNoNewline checks that a call whose response has no newline shows why it took long.
func TestNoNewline(t *testing.T) {
	dir := t.TempDir()
	id := writeRecording(t, dir, "no-newline", func(i int) (tap.Frame, bool) {
		if i == 0 {
			return tap.Frame{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")}, true
		}
		return tap.Frame{At: 5 * time.Second, Took: 4 * time.Second, Lane: tap.ToClient, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)}, i == 1
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id), 1280, 800, false)
	if rows := p.read(); !strings.Contains(rows, "no newline after the message") {
		t.Errorf("the call:\n%s", rows)
	}
}

// TestWaterfallClips checks the mark of a bar that extends beyond the visible time, which is only limited
// if not all lines are visible.
func TestWaterfallClips(t *testing.T) {
	dir := t.TempDir()
	id := writeRecording(t, dir, "clip", func(i int) (tap.Frame, bool) {
		f := tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: tap.ToServer, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i/2)}
		if i%2 == 1 && i < 19 || i == 20 {
			f.Lane, f.Raw = tap.ToClient, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", min(i/2, 9))
		}
		if i == 19 {
			f.Raw = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		}
		if i == 20 {
			f.At = time.Minute
		}
		return f, i <= 20
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id), 1280, 800, false)
	p.read()
	p.wait("document.querySelector('.axis').innerText === '0.000 – 1:00.000' && !document.querySelector('.bar.clipped')")
	p = newTab(t, at(t, base, "/r/"+id), 1280, 350, false)
	p.read()
	p.keys("G")
	p.wait("[...document.querySelectorAll('.pad > .row:not([hidden])')].filter((e) => e.querySelector('.bar.clipped')).map((e) => e.querySelector('.no').innerText + ' ' + e.querySelector('.fall').title).join()" +
		" === '19 clipped: it was open until 1:00.000 s, beyond the visible time'")
	p.picture("waterfall-clip")
}

// TestServerGone checks that the page reports a lost server, keeps its rows, and continues when
// the server is back.
func TestServerGone(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, stop := startWeb(t, dir)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	p := newTab(t, at(t, base, "/r/1ee9dfb0"), 1280, 800, false)
	rows := p.read()
	stop()
	p.wait("/mcptap does not respond.*mcptap web --dir/.test(document.querySelector('.banners').innerText)")
	if got := p.text(".pad > .row"); got != rows {
		t.Errorf("rows: %s", got)
	}
	p.picture("state-gone")
	p.click(".row.call .name")
	p.wait("/does not respond/.test(document.querySelector('.card .fault')?.innerText)")
	second, _ := startWeb(t, dir, "--listen", u.Host)
	// The server has a new token; once it was used, the first page continues.
	p.wait("/was restarted and has a new token.*mcptap web --dir/.test(document.querySelector('.banners').innerText)")
	newTab(t, second, 400, 300, false).wait("document.querySelector('.rec')")
	p.wait("!/does not respond|new token/.test(document.querySelector('.banners').innerText)")
	if got := p.text(".pad > .row"); strings.Count(got, "\n") != strings.Count(rows, "\n") {
		t.Errorf("rows: %s", got)
	}
	p.allow("ERR_CONNECTION")
	p.allow("401")
	p.allow("WebSocket connection")
}

// TestManyRecordings checks that of many recordings the latest are listed, and all on demand.
func TestManyRecordings(t *testing.T) {
	const n = 350
	dir := t.TempDir()
	for k := range n {
		writeRecording(t, dir, fmt.Sprint("recording-", k), func(i int) (tap.Frame, bool) {
			return tap.Frame{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")}, i < 1
		})
	}
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.querySelector('.rec.selected')")
	shown := eval[int](p, "document.querySelectorAll('.rec:not(.header)').length")
	if shown == 0 || shown >= n || !strings.Contains(p.text(".home"), fmt.Sprintf("%s older recordings not shown", grouped(n-shown))) {
		t.Errorf("%d are shown: %s", shown, p.text(".recordings > .note"))
	}
	p.picture("state-many")
	p.wait("document.activeElement.matches('[role=grid]')")
	p.keys(kb.End)
	p.wait(fmt.Sprintf("document.querySelector('.rec.selected')?.getAttribute('aria-rowindex') === '%d' && !document.querySelector('.recordings > .note')", n+1))
	p.keys("\r")
	p.wait("document.querySelector('.pad > .row .name')")
}

// TestUnfinished checks that a call that waits for input or was cancelled shows that, even if the failure
// does not fit.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	waiting := strings.TrimSpace(run(t, dir, "import", filepath.Join("..", "..", "cmd", "mcptap", "testdata", "fixture", "input.txtar")))
	text := `-- to_server +1ms --
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search-with-a-name","arguments":{"query":"whales","limit":"10"}}}
-- to_client +2ms --
{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"MCP error -32602: Input validation error: Invalid arguments for tool search-with-a-name: expected number, received string at limit, and this goes on for long, so that it does not fit"}]}}
-- to_server +3ms --
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}
-- to_server +503ms --
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"McpError: MCP error -32001: Request timed out"}}
`
	file := filepath.Join(t.TempDir(), "failing.txtar")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	failing := strings.TrimSpace(run(t, dir, "import", file))
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+waiting), 1280, 800, false)
	if rows := p.read(); !strings.Contains(rows, "needs input > 5.00 s") || !strings.Contains(rows, "unanswered > 3.00 s") {
		t.Errorf("the calls that wait:\n%s", rows)
	}
	p = newTab(t, at(t, base, "/r/"+failing), 1280, 800, false)
	if rows := p.read(); !strings.Contains(rows, "by the client: Request timed out") || !strings.Contains(rows, "cancelled 500 ms") {
		t.Errorf("the cancelled call:\n%s", rows)
	}
	p.wait("[...document.querySelectorAll('.row .name')].some((e) => e.textContent === 'search-with-a-name' && e.scrollWidth <= e.clientWidth)")
	p.wait("[...document.querySelectorAll('.row .fault')].some((e) => e.textContent.startsWith('expected number') && e.scrollWidth > e.clientWidth)")
}
