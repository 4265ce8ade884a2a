package browsertest

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// startTap starts `mcptap http` in front of a server, and returns the URL for clients.
func startTap(t *testing.T, upstream string, flags ...string) string {
	t.Helper()
	cmd := exec.Command(mcptap(t), append([]string{"http", upstream, "--dir", t.TempDir()}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return strings.TrimSpace(readLine(t, bufio.NewReader(out)))
}

// TestPagesCannotUseTheCredential checks that requests of foreign pages do not get the header of --header,
// even under a name that resolves to the tap, unless their origin is allowed.
func TestPagesCannotUseTheCredential(t *testing.T) {
	var lent, asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("X-Api-Key") != "" {
			lent.Add(1)
		}
		w.Header().Set("Access-Control-Allow-Origin", "*") // a careless server
		w.Header().Set("Access-Control-Allow-Headers", "*")
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>page</title>")
	}))
	t.Cleanup(page.Close)
	site := strings.Replace(page.URL, "127.0.0.1", "localhost", 1)
	tapped := startTap(t, server.URL+"/mcp", "--header", "X-Api-Key: lent-by-the-tap")

	p := newTab(t, site+"/", 800, 600, false)
	for _, text := range []string{"foreign request", "log: "} {
		p.allow(text)
	}
	const try = `Promise.all([
		fetch(%[1]q, {method: "POST", headers: {"content-type": "application/json"}, body: "{}"}),
		fetch(%[1]q, {method: "POST", mode: "no-cors", body: "{}"}),
		fetch(%[1]q, {mode: "no-cors"}),
		fetch(%[1]q),
		new Promise((done) => { const i = new Image(); i.onload = i.onerror = () => done({status: 0}); i.src = %[1]q }),
	].map((x) => x.then((r) => r.status, () => 0))).then((all) => all.join(" "))`
	if got := eval[string](p, fmt.Sprintf(try, tapped)); got != "0 0 0 0 0" {
		t.Errorf("a page of another site gets %s", got)
	}
	u, err := url.Parse(tapped)
	if err != nil {
		t.Fatal(err)
	}
	rebound := "http://rebound.localhost:" + u.Port() + "/mcp"
	p.do(navigate(rebound))
	if got := eval[string](p, fmt.Sprintf(try, rebound)); got != "403 403 403 403 0" {
		t.Errorf("a page whose name resolves to the tap gets %s", got)
	}
	if asked.Load() != 0 {
		t.Errorf("pages reached the server %d times", asked.Load())
	}
	if status, _ := post(t, tapped, "", "{}"); status != http.StatusOK || lent.Load() != 1 {
		t.Errorf("a client gets %d, with the credential %d times", status, lent.Load())
	}

	allowed := startTap(t, server.URL+"/mcp", "--header", "X-Api-Key: lent-by-the-tap", "--allow-origin", site)
	p.do(navigate(site + "/"))
	if got := eval[string](p, fmt.Sprintf(`fetch(%q, {method: "POST", headers: {"content-type": "application/json"}, body: "{}"}).then((r) => "" + r.status, String)`, allowed)); got != "200" {
		t.Errorf("an allowed page gets %s", got)
	}
	if asked.Load() != 3 || lent.Load() != 2 { // the preflight does not get it
		t.Errorf("the server was asked %d times, with the credential %d times; want 3 and 2", asked.Load(), lent.Load())
	}
}
