package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

const corpus = "../../testdata/sessions"

// imported creates a data directory with sessions of the corpus.
func imported(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(corpus, name+".txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no session %s: %v", name, err)
		}
		for _, file := range files {
			run(t, dir, "import", file)
		}
	}
	return dir
}

// read waits until a recording has been read and its lines are drawn, and returns them.
func (p *tab) read() string {
	p.t.Helper()
	p.wait("document.querySelector('.foot .counts') && /frame|call/.test(document.querySelector('.foot').innerText) && !/Reading/.test(document.querySelector('.foot').innerText)")
	p.wait("document.querySelector('.scroller')?.getAttribute('aria-rowcount') !== '-1'")
	return p.text(".pad > .row")
}

// TestEachSession opens each session of the corpus in each view: there are rows, and no errors.
func TestEachSession(t *testing.T) {
	dir := imported(t, "*")
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.querySelector('.rec.selected')")
	keys := eval[[]string](p, "[...document.querySelectorAll('.rec')].map((e) => e.key).filter(Boolean)")
	files, _ := filepath.Glob(filepath.Join(corpus, "*.txtar"))
	if len(keys) != len(files) {
		t.Errorf("%d recordings of %d are listed", len(keys), len(files))
	}
	p.click(".rec .label")
	p.read()
	if longtest.Sampled(t) {
		var some []string
		for i := 0; i < len(keys); i += 6 {
			some = append(some, keys[i])
		}
		keys = some
	}
	for _, key := range keys {
		if got := eval[string](p, fmt.Sprintf("(%s)(%q)", visitViews, key)); got != "" {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// visitViews opens the views of a recording by events within the page, which saves a minute for a hundred
// recordings. It returns what did not appear.
const visitViews = `async (key) => {
	const until = async (what, ready) => {
		for (const end = performance.now() + 120000; !ready(); await new Promise((next) => setTimeout(next, 5))) if (performance.now() > end) throw what;
	};
	const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
	const one = (selector) => document.querySelector(selector);
	try {
		history.pushState(null, '', '/r/' + key);
		dispatchEvent(new PopStateEvent('popstate'));
		await until('its rows', () => one('.pad > .row') && /frame/.test(one('.foot').innerText) && !/Reading/.test(one('.foot').innerText));
		press('j');
		await until('a frame', () => one('.card-body > :not(p)'));
		for (const [view, ready] of [['2', '.pad > .row'], ['3', '.pad > .row.step'], ['4', '.stats .tiles'], ['5', '.findings']]) {
			press(view);
			await until('view ' + view, () => one(ready));
		}
		return '';
	} catch (what) {
		return String(what?.stack ?? what);
	}
}`

func TestCalls(t *testing.T) {
	dir := imported(t, "2025-11-25-nested-broken")
	base, _ := startWeb(t, dir, "@last")
	p := newTab(t, base, 1280, 800, false)
	rows := p.read()
	for _, want := range []string{
		`draft_notes {"tag":"v1.4.0"} Sign in to the tracker first. tools/call`,
		`summarize {"path":"CHANGES.md"} tools/call ◌ unanswered`,
		`elicitation/create In which language? → accept {"language":"de"} ✓ done`,
		"ended by SIGTERM",
	} {
		if !strings.Contains(rows, want) {
			t.Errorf("no %q in\n%s", want, rows)
		}
	}
	if strings.Contains(strings.ReplaceAll(rows, "unanswered", ""), "response") {
		t.Errorf("responses are not folded into their calls:\n%s", rows)
	}
	// A nested call is below its parent.
	depth := eval[[]float64](p, "[...document.querySelectorAll('.pad > .row')].filter((e) => /elicitation|summarize\\s+\\{/.test(e.innerText)).map((e) => Number(e.getAttribute('aria-level')))")
	if fmt.Sprint(depth) != "[1 2]" {
		t.Errorf("levels %v", depth)
	}
	if url := eval[string](p, "location.href"); strings.Contains(url, "token") {
		t.Errorf("the URL has the token: %s", url)
	}
	// The panel shows the request and its response.
	p.click(".row.call.bad .name")
	p.wait("document.querySelectorAll('.card .tree').length === 2")
	if text := p.text(".detail"); !strings.Contains(text, "draft_notes") || !strings.Contains(text, "-32042") {
		t.Errorf("the panel has %s", text)
	}
}

// TestTitles checks that the name of a call comes first and is not cut in favour of later texts, and that
// the method is last.
func TestTitles(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 150)
	frames := []struct {
		lane tap.Lane
		raw  string
	}{
		{tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"m0"}}}`},
		{tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Echo: m0"}]}}`},
		{tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a_tool_with_a_long_name","arguments":{"message":"` + long + `"}}}`},
		{tap.ToClient, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"` + long + `"}]}}`},
	}
	id := writeRecording(t, dir, "titles", func(i int) (tap.Frame, bool) {
		if i >= len(frames) {
			return tap.Frame{}, false
		}
		return tap.Frame{At: time.Duration(i) * time.Millisecond, Lane: frames[i].lane, Raw: []byte(frames[i].raw + "\n")}, true
	})
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id), 1000, 600, false)
	if rows, want := p.read(), `→ echo {"message":"m0"} → "Echo: m0" tools/call`; !strings.Contains(rows, want) {
		t.Errorf("no %q in\n%s", want, rows)
	}
	const widths = `[...document.querySelectorAll('.pad > .row:not([hidden])')].filter((e) => /a_tool/.test(e.innerText)).map((e) =>
		[e.querySelector('.name'), e.querySelector('.preview:not(:empty)')].map((x) => x.scrollWidth > x.clientWidth).concat(e.querySelector('.method').clientWidth > 0).join()).join(' ')`
	if got := eval[string](p, widths); got != "false,true,false" {
		t.Errorf("whether name and arguments are cut, and the method is shown: %s", got)
	}
	p.keys("2")
	p.wait("document.querySelectorAll('.pad > .row').length === 4")
	rows := p.text(".pad > .row")
	for _, want := range []string{`→ echo {"message":"m0"} tools/call request`, `← echo → "Echo: m0" tools/call response`} {
		if !strings.Contains(rows, want) {
			t.Errorf("no %q in\n%s", want, rows)
		}
	}
	if got := eval[string](p, widths); got != "false,true,false false,true,false" {
		t.Errorf("whether names and previews are cut, and the method is shown: %s", got)
	}
	p.picture("titles")
}

func TestFilter(t *testing.T) {
	dir := imported(t, "real-everything-nested")
	base, _ := startWeb(t, dir, "@last")
	p := newTab(t, base, 1280, 800, false)
	p.read()
	p.find("is:err")
	p.wait("/^error/.test(document.querySelector('.completions')?.innerText)")
	if got := p.text(".completions"); !strings.HasPrefix(got, "error") {
		t.Errorf("offered: %s", got)
	}
	p.keys(kb.ArrowDown + kb.Enter)
	p.wait("document.querySelectorAll('.pad > .row:not([hidden])').length === 1")
	if rows := p.read(); !strings.Contains(rows, "trigger-url-elicitation") {
		t.Errorf("rows %s", rows)
	}
	if got := eval[string](p, "new URLSearchParams(location.search).get('q')"); strings.TrimSpace(got) != "is:error" {
		t.Errorf("the URL has the filter %q", got)
	}
	// Completions include the names of tools in the recording.
	p.keys("tool:get-r")
	p.wait("[...document.querySelectorAll('.completions [role=option]')].some((e) => e.innerText.includes('get-roots-list'))")
	// Tab leaves the field unchanged.
	p.keys(kb.Tab)
	p.wait("!document.activeElement.matches('.filter input')")
	if got := eval[string](p, "document.querySelector('.filter input').value"); !strings.HasSuffix(got, "tool:get-r") {
		t.Errorf("Tab made the filter %q", got)
	}
	p.click(".filter input")
	// An error is shown with its position; the rows are kept.
	p.keys(kb.Escape)
	eval[bool](p, "document.querySelector('.filter .clear').click(), true")
	p.click(".filter input")
	p.keys("latency:>fast")
	p.wait("!document.querySelector('.filter-problem').hidden && /invalid duration/.test(document.querySelector('.filter-problem').innerText)")
	p.wait("document.querySelector('.wave').textContent === 'fast'")
	p.picture("filter-problem")
}

func TestLinkShowsTheSame(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, _ := startWeb(t, dir)
	first := newTab(t, at(t, base, "/r/1ee9dfb0?v=frames"), 1280, 800, false)
	first.read()
	first.find("method:tools/call" + kb.Enter)
	first.wait("!/server.discover/.test(document.querySelector('.pad').innerText) && /book_room/.test(document.querySelector('.pad').innerText)")
	first.click(".row.down .name")
	first.wait("document.querySelector('.card .tree')")
	first.keys("]")
	first.wait("document.querySelector('.card .code')")
	link := eval[string](first, "location.href")
	second := newTab(t, at(t, base, link), 1280, 800, false)
	second.wait("document.querySelector('.card .code')")
	if a, b := first.read(), second.read(); a != b {
		t.Errorf("the link shows\n%s\ninstead of\n%s", b, a)
	}
	if a, b := first.text(".detail h2"), second.text(".detail h2"); a != b {
		t.Errorf("the link shows frame %s instead of %s", b, a)
	}
}

// TestKeyboard visits all views by keyboard.
func TestKeyboard(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy", "2025-11-25-nested-broken")
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("document.activeElement.matches('[role=grid]')")
	p.keys("k" + kb.Enter)
	p.read()
	p.wait("location.pathname === '/r/1ee9dfb0'")
	p.keys("G" + kb.ArrowUp)
	p.keys("g")
	p.wait("document.querySelector('.row.selected .no').textContent === '1'")
	p.keys("jjjj")
	p.wait("document.querySelector('.row.selected .method')?.textContent === 'tools/call'")
	p.keys(kb.ArrowRight)
	p.wait("document.querySelector('.row.selected').getAttribute('aria-expanded') === 'true'")
	p.wait("document.querySelector('.scroller').getAttribute('aria-activedescendant') === document.querySelector('.row.selected').id")
	p.keys("m")
	p.wait("document.querySelector('.row.selected .no').textContent === '16'")
	p.wait("document.querySelectorAll('.card .tree').length === 2")
	p.keys(kb.Enter)
	p.wait("document.activeElement.matches('[role=treeitem]')")
	p.keys("jjj")
	p.keys("p")
	p.wait("document.querySelector('.toast')?.textContent === 'Copied the path'")
	p.keys(kb.Escape)
	p.wait("document.activeElement.matches('.scroller')")
	p.keys(kb.Escape)
	p.wait("document.querySelector('.detail').hidden")
	p.keys("3")
	p.wait("document.querySelector('.row.step')")
	p.keys("4")
	p.wait("document.querySelector('.stats')")
	p.keys("5")
	p.wait("document.querySelector('.findings')")
	p.keys("1")
	p.keys("?")
	p.wait("document.querySelector('dialog[open] .language td')")
	p.keys("?")
	p.wait("!document.querySelector('dialog[open]')")
	p.keys("t")
	p.wait("document.documentElement.dataset.theme === 'dark'")
	p.keys("r")
	p.wait("document.querySelector('.rec.selected')")
	p.keys(kb.End + kb.Enter)
	p.read()
	p.keys("e")
	p.wait("document.querySelector('.row.selected.bad')")
}

func TestForeignPageInTheBrowser(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, _ := startWeb(t, dir)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	token := u.Query().Get("token")
	u.RawQuery = "f=7"
	u.Path = "/r/1ee9dfb0"
	p := newTab(t, u.String(), 1280, 800, false)
	p.wait("document.querySelector('form input[name=token]')")
	p.allow("401")
	p.click("input[name=token]")
	p.keys(token + kb.Enter)
	p.wait("document.querySelector('.card .tree')")

	// Open a page of another origin, in the browser that has the cookie.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>other</title>") }))
	t.Cleanup(other.Close)
	q := newTab(t, other.URL, 800, 600, false)
	got := eval[string](q, fmt.Sprintf(`new Promise((done) => {
		const socket = new WebSocket(%q);
		socket.onopen = () => done('the socket opened');
		socket.onerror = () => fetch(%q, {credentials: 'include', mode: 'no-cors'}).then((r) => r.text(), (e) => '').then((text) => done(text ? 'read ' + text : 'nothing'));
	})`, "ws://"+u.Host+"/api/recordings/1ee9dfb0/stream", "http://"+u.Host+"/api/recordings"))
	if got != "nothing" {
		t.Errorf("a page of another origin got: %s", got)
	}
	q.allow("") // the browser logs the refusals
}
