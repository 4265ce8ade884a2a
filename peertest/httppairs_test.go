package peertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A webServer is a server over HTTP. It is started with the origin that clients use for it, "" for its
// own origin, and returns its URL.
type webServer struct {
	name, transport, scenario string
	// clients are those that can play the scenario with it. modern reports that it speaks
	// 2026-07-28.
	clients []string
	modern  bool
	// loses reports that it may lose the last progress notification itself if it responds
	// immediately afterwards.
	loses bool
	start func(t *testing.T, origin string) string
}

func goListener(kind string) func(*testing.T, string) string {
	return func(t *testing.T, origin string) string {
		argv := self("listener", kind)
		if origin != "" {
			argv = append(argv, origin)
		}
		return start(t, true, nil, argv...).line
	}
}

func everything(mode, path string) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string {
		addr := freeAddr(t)
		_, port, _ := net.SplitHostPort(addr)
		b := start(t, false, []string{"PORT=" + port}, npm("server-everything", mode)...)
		awaitListener(t, b, addr)
		return "http://" + addr + path
	}
}

// typeScript starts the server of the TypeScript SDK v2.
func typeScript(t *testing.T, _ string) string {
	addr := freeAddr(t)
	awaitListener(t, start(t, false, nil, "node", abs("clients/v2server.mjs"), addr), addr)
	return "http://" + addr + "/mcp"
}

// freeAddr returns an address for a server that cannot choose one itself. Its port is below the
// ephemeral ports: one of those could be taken before the server listens, even by the connection that
// waits for the server, which would then be connected to itself.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// awaitListener waits until a program listens.
func awaitListener(t *testing.T, b *background, addr string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v does not listen: %v\n%s", b.cmd.Args, err, &b.stderr)
		}
	}
}

var webServers = []webServer{
	{name: "everything", transport: "http", scenario: "everything-http", start: everything("streamableHttp", "/mcp"),
		clients: []string{"v1-legacy", "v2-legacy", "v2-auto", "v2-2026-07-28", "go-auto", "go-2025-06-18", "mcpgo-2025-06-18"}},
	{name: "everything-sse", transport: "sse", scenario: "everything-http", start: everything("sse", "/sse"),
		clients: []string{"v1-legacy", "v2-legacy", "go-2025-06-18", "mcpgo-2025-06-18"}},
	{name: "gosdk", transport: "http", scenario: "gosdk-http", start: goListener("gosdk"),
		clients: []string{"v1-legacy", "v2-legacy", "v2-auto", "go-auto", "go-2025-06-18", "mcpgo-2025-06-18"}},
	{name: "gosdk-stateless", transport: "http", scenario: "gosdk-modern", start: goListener("gosdk-stateless"), modern: true,
		clients: []string{"v2-auto", "v2-2026-07-28", "go-auto", "mcpgo-auto"}},
	{name: "gosdk-sse", transport: "sse", scenario: "gosdk-http", start: goListener("gosdk-sse"),
		clients: []string{"v1-legacy", "v2-legacy", "go-2025-06-18", "mcpgo-2025-06-18"}},
	{name: "mcpgo", transport: "http", scenario: "mcpgo", start: goListener("mcpgo"), modern: true, loses: true,
		clients: []string{"v1-legacy", "v2-legacy", "v2-auto", "v2-2026-07-28", "go-auto", "go-2025-06-18", "mcpgo-auto", "mcpgo-2025-06-18"}},
	{name: "mcpgo-sse", transport: "sse", scenario: "mcpgo-sse", start: goListener("mcpgo-sse"), loses: true,
		clients: []string{"v1-legacy", "v2-legacy", "go-2025-06-18", "mcpgo-2025-06-18"}},
	{name: "tssdk", transport: "http", scenario: "gosdk-modern", start: typeScript, modern: true,
		clients: []string{"v2-auto", "v2-2026-07-28", "mcpgo-auto"}},
}

// webClient returns the command of a client, without its scenario and URL.
func webClient(name string) (c clientUnderTest) {
	for _, c := range clients() {
		if c.name == name {
			return c
		}
	}
	sdk, mode, _ := strings.Cut(name, "-")
	return clientUnderTest{name: name, argv: self("goclient", "--sdk", sdk, "--mode", mode)}
}

// TestHTTPPairs plays each scenario twice, directly and through `mcptap http`. The transcripts must not
// differ, and the recording must equal what a spy between the tap and the server saw.
func TestHTTPPairs(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, s := range webServers {
		for _, name := range s.clients {
			if sample && !smoke[name+"/"+s.name] {
				continue
			}
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				testHTTPPair(t, webClient(name), s)
			})
		}
	}
}

func testHTTPPair(t *testing.T, c clientUnderTest, s webServer) {
	direct := playHTTP(t, c, s, s.start(t, ""))

	spy := newWireSpy(t)
	server, err := url.Parse(s.start(t, spy.origin()))
	if err != nil {
		t.Fatal(err)
	}
	spy.relay(server.Host)
	dir := t.TempDir()
	tap := tapHTTP(t, dir, spy.origin()+server.Path, "--keep-secrets")
	tapped := playHTTP(t, c, s, tap.line)
	file := endTap(t, tap, dir)
	compare(t, direct, tapped)

	refused := c.modernOnly && !s.modern
	if got := len(direct["failed"]) > 0; got != refused {
		t.Errorf("the client could not connect: %v, want %v", got, refused)
	}
	r := readHTTP(t, file)
	checkWire(t, spy.stop(), r)
	if !refused {
		oneSession(t, file)
	}
}

// oneSession checks that the traffic of one client is one session, in the view of sessions and in the
// count of the list.
func oneSession(t *testing.T, file string) {
	t.Helper()
	if n := sessionsIn(t, file); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// sessionsIn returns the number of sessions in the only recording in a directory. The list counts them
// in a different way, which must give the same number.
func sessionsIn(t *testing.T, file string) int {
	t.Helper()
	var listed struct{ Sessions int }
	if err := json.Unmarshal(output(t, "ls", "--json", "--dir", filepath.Dir(file)), &listed); err != nil {
		t.Fatal(err)
	}
	n := listed.Sessions
	last, err := exec.Command(tapBinary(t), "stats", fmt.Sprint(file, "#", max(n, 1))).CombinedOutput()
	if err != nil {
		t.Errorf("the list has %d sessions, but: %s", n, last)
	}
	if out, err := exec.Command(tapBinary(t), "stats", fmt.Sprint(file, "#", n+1)).CombinedOutput(); err == nil || !strings.Contains(string(out), "so there is no #") {
		t.Errorf("the list has %d sessions, but there is one more: %.500s", n, out)
	}
	return n
}

// racy are the kinds of observations that depend on which of two connections is served first, with or
// without a tap: whether a stream is open when the server has something to send on it, and the state of
// a task when it is polled.
var racy = []string{"message notifications/tools/list_changed", "message notifications/tasks/status"}

// playHTTP runs a client once.
func playHTTP(t *testing.T, c clientUnderTest, s webServer, url string) transcript {
	t.Helper()
	tmp := t.TempDir()
	out := filepath.Join(t.TempDir(), "observed")
	args := slices.Concat(c.argv[1:], []string{"--scenario", abs("scenarios/" + s.scenario + ".json"), "--out", out,
		"--var", "tmp=" + tmp, "--url", url, "--transport", s.transport})
	cmd := exec.Command(c.argv[0], args...)
	cmd.WaitDelay = time.Second
	var printed strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &printed
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, printed.String())
	}
	if printed.Len() > 0 {
		t.Logf("the client wrote: %s", printed.String())
	}
	tr := readTranscript(t, out, c, serverUnderTest{name: s.name, modern: s.modern}, tmp)
	for _, kind := range racy {
		delete(tr, kind)
	}
	if s.loses {
		delete(tr, "message notifications/progress")
	}
	return tr
}
