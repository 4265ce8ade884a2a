package browsertest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/mcptap/mcptap/tap"
)

// TestEmpty: nothing has been recorded yet, and then something is.
func TestEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not-made-yet")
	base, _ := startWeb(t, dir)
	p := newTab(t, base, 1280, 800, false)
	p.wait("/There are no recordings yet/.test(document.body.innerText) && /mcptap stdio --/.test(document.body.innerText)")
	p.picture("state-empty")
	s := record(t, dir)
	s.ask("ping", `{}`)
	p.wait("document.querySelector('.rec .status.live')")
}

// TestCutAndGaps: a recording that lacks something says what, and what to do.
func TestCutAndGaps(t *testing.T) {
	dir := imported(t, "2025-11-25-unanswered-broken")
	base, _ := startWeb(t, dir, "@last")
	p := newTab(t, base, 1280, 800, false)
	p.read()
	if got := p.text(".banners"); !strings.Contains(got, "Cut off.") || !strings.Contains(got, "5 frames crossed while nothing could be recorded: #16–20") {
		t.Errorf("the banners say: %s", got)
	}
	if got := p.text(".foot"); !strings.Contains(got, "no response to 2 calls") {
		t.Errorf("the foot says: %s", got)
	}
	if got := p.text(".foot"); !strings.Contains(got, "1 error") || !strings.Contains(got, "1 response without a request") {
		t.Errorf("the foot says: %s", got)
	}
	if rows := p.text(".pad > .row"); !strings.Contains(rows, "no response > 3.12 s") {
		t.Errorf("it is not said for how long nobody answered:\n%s", rows)
	}
	p.keys("eee")
	p.wait("/a request that is not known/.test(document.querySelector('.detail-head').innerText)")
	p.picture("state-cut")
}

// TestDamaged: what can be read is shown, and how to get the rest.
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
	// In the middle of the frames, where the list of recordings does not look.
	if _, err := f.WriteAt(make([]byte, 4096), info.Size()*3/4); err != nil {
		t.Fatal(err)
	}
	f.Close()
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/"+id), 1280, 800, false)
	p.wait("/cannot be read further/.test(document.querySelector('.banners')?.innerText)")
	if got := p.text(".banners"); !strings.Contains(got, "mcptap export --salvage "+id) {
		t.Errorf("the banner says: %s", got)
	}
	p.picture("state-damaged")

	// And one of which not even the beginning can be read.
	if err := os.WriteFile(files[0], []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(navigate(at(t, base, "/")))
	p.wait("/damaged/.test(document.querySelector('.rec .status')?.innerText)")
	p.keys("\r")
	p.wait("/cannot be read/.test(document.querySelector('.banners')?.innerText)")
}

// TestRemovedWhileOpen: what was read stays.
func TestRemovedWhileOpen(t *testing.T) {
	dir := imported(t, "2026-07-28-chain-healthy")
	base, _ := startWeb(t, dir)
	p := newTab(t, at(t, base, "/r/1ee9dfb0"), 1280, 800, false)
	rows := p.read()
	run(t, dir, "rm", "--yes", "1ee9dfb0")
	p.wait("/The recording was removed/.test(document.querySelector('.banners').innerText)")
	if got := p.text(".pad > .row"); got != rows {
		t.Errorf("the rows became %s", got)
	}
	p.picture("state-removed")
	p.click(".banner .link")
	p.wait("/There are no recordings/.test(document.body.innerText)")
	// A link to what was never there.
	p.do(navigate(at(t, base, "/r/00000000")))
	p.wait("/was removed|not there/.test(document.querySelector('.banners')?.innerText)")
}

// TestServerGone: the page says so, keeps what it has, and goes on when the
// program is back.
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
	p.wait("/mcptap does not answer/.test(document.querySelector('.banners').innerText)")
	if got := p.text(".pad > .row"); got != rows {
		t.Errorf("the rows became %s", got)
	}
	p.picture("state-gone")
	p.click(".row.call .name")
	p.wait("/does not answer/.test(document.querySelector('.card .fault')?.innerText)")
	again, _ := startWeb(t, dir, "--listen", u.Host)
	// The program has another token now; with it this page goes on by itself.
	p.wait("/mcptap does not answer/.test(document.querySelector('.banners').innerText)")
	newTab(t, again, 400, 300, false).wait("document.querySelector('.rec')")
	p.wait("!/does not answer/.test(document.querySelector('.banners').innerText)")
	if got := p.text(".pad > .row"); strings.Count(got, "\n") != strings.Count(rows, "\n") {
		t.Errorf("the rows became %s", got)
	}
	p.allow("ERR_CONNECTION_REFUSED")
	p.allow("401")
	p.allow("WebSocket connection")
}

// TestManyRecordings: of many the latest are listed, and all when somebody
// asks for them or goes there.
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
