package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience limits the time for any step, on a busy machine.
const patience = 3 * time.Minute

// browsers are the program names of Chromium.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}

// chrome is the browser of all tests; each has its own tab.
var chrome = sync.OnceValues(func() (context.Context, error) {
	path := os.Getenv("MCPTAP_BROWSER")
	for _, name := range browsers {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return nil, nil
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-ipc-flooding-protection", true), chromedp.WindowSize(1280, 800),
		chromedp.Flag("js-flags", "--expose-gc"), chromedp.Flag("enable-precise-memory-info", true),
	}
	ctx, _ := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Do(ctx, chromedp.Navigate("about:blank"))
})

// A tab is a page of the viewer, with its errors.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu       sync.Mutex
	problems []string
	allowed  []string
}

// newTab opens a tab of the given size on a URL of the viewer.
func newTab(t *testing.T, where string, width, height int, dark bool) *tab {
	t.Helper()
	parent, err := chrome()
	if err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	if parent == nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser found: install chromium")
		}
		fmt.Fprintln(os.Stderr, "SKIPPED: no browser found, so the viewer was not tested. Install chromium.")
		t.Skip("SKIPPED: no browser found")
	}
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{t: t, ctx: ctx, origin: u.Scheme + "://" + u.Host}
	p.do(chromedp.EmulateViewport(int64(width), int64(height)))
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call(chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
	p.watch()
	p.do(chromedp.Navigate(where))
	t.Cleanup(p.check)
	return p
}

func (p *tab) call(_ any, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// watch collects errors of the page: exceptions, log messages, violations of its policy, and
// requests to other servers.
func (p *tab) watch() {
	p.call(chromedp.Call(p.ctx, network.Enable, network.EnableParams{}))
	p.call(chromedp.Call(p.ctx, log.Enable, cdp.Empty{}))
	thrown := chromedp.Events(p.ctx, runtime.ExceptionThrown)
	console := chromedp.Events(p.ctx, runtime.ConsoleAPICalled)
	logged := chromedp.Events(p.ctx, log.EntryAdded)
	asked := chromedp.Events(p.ctx, network.RequestWillBeSent)
	go func() {
		for e, err := range thrown {
			if err != nil {
				return
			}
			text := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				text += " " + e.ExceptionDetails.Exception.Description
			}
			p.note("threw: " + text)
		}
	}()
	go func() {
		for e, err := range console {
			if err != nil {
				return
			}
			if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
				p.note(fmt.Sprintf("console.%s: %v", e.Type, e.Args))
			}
		}
	}()
	go func() {
		for e, err := range logged {
			if err != nil {
				return
			}
			if e.Entry.Level == "error" || e.Entry.Level == "warning" {
				p.note(fmt.Sprintf("log: %s %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
			}
		}
	}()
	go func() {
		for e, err := range asked {
			if err != nil {
				return
			}
			if u := e.Request.URL; !strings.HasPrefix(u, p.origin+"/") && !strings.HasPrefix(u, "about:") && !strings.HasPrefix(u, "file:") {
				p.note("foreign request: " + u)
			}
		}
	}()
}

func (p *tab) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.allowed {
		if strings.Contains(s, text) {
			return
		}
	}
	p.problems = append(p.problems, s)
}

// allow ignores errors with a text, which the test provokes, even those that occur later.
func (p *tab) allow(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, text)
	kept := p.problems[:0]
	for _, s := range p.problems {
		if !strings.Contains(s, text) {
			kept = append(kept, s)
		}
	}
	p.problems = kept
}

func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.problems {
		p.t.Errorf("the page %s", s)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if chromedp.FromContext(p.ctx).Target == nil {
		ctx = p.ctx // the first action opens the tab, which must stay open
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// eval evaluates a JavaScript expression.
func eval[T any](p *tab, js string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// wait waits until an expression is true, also across pages.
func (p *tab) wait(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+js+")"))
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			p.picture("failed-" + p.t.Name())
			p.t.Fatalf("never true: %s (%v)\n%s", js, err, eval[string](p, "document.body.innerText.slice(0, 1500)"))
		case <-tick.C:
		}
	}
}

// text returns the texts of the elements that match a selector, one per line.
func (p *tab) text(selector string) string {
	p.t.Helper()
	q, _ := json.Marshal(selector)
	return eval[string](p, "[...document.querySelectorAll("+string(q)+")].filter((e) => e.offsetParent !== null).map((e) => e.innerText.replaceAll('\\n', ' ').trim()).join('\\n')")
}

// click clicks on the first element that matches a selector.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// keys types on the keyboard.
func (p *tab) keys(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// find moves to the filter with its key, and types. The driver also types the character of the key.
func (p *tab) find(query string) {
	p.t.Helper()
	p.keys("/")
	p.wait("document.activeElement.matches('.filter input')")
	eval[bool](p, "document.activeElement.select(), true")
	p.keys(query)
}

// picture takes a screenshot of the visible part.
func (p *tab) picture(name string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	name = strings.ReplaceAll(name, "/", "-")
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// startWeb runs `mcptap web` on a data directory and returns its URL with the
// token, and a function that stops it.
func startWeb(t *testing.T, dir string, args ...string) (string, func()) {
	t.Helper()
	cmd := exec.Command(mcptap(t), append([]string{"web", "--dir", dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), stop
}

// at returns the URL of a path of the viewer, with the token.
func at(t *testing.T, base, path string) string {
	t.Helper()
	b, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("token", b.Query().Get("token"))
	u.RawQuery = q.Encode()
	return b.ResolveReference(u).String()
}

func navigate(where string) chromedp.Action[chromedp.Void] { return chromedp.Navigate(where) }
