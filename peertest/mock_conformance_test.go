package peertest

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var listedScenario = regexp.MustCompile(`(?m)^ +- ([\w-]+) `)

// serverScenarios are those that the suite says it has, pending ones included.
func serverScenarios(t *testing.T, node string) (names []string) {
	t.Helper()
	out, err := exec.Command(node, abs("node_modules/@modelcontextprotocol/conformance/dist/index.js"), "list", "--server").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listedScenario.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) < 32 {
		t.Fatalf("%d scenarios:\n%s", len(names), out)
	}
	return names
}

// The official suite cannot tell a mock from the server that was recorded: the same
// verdict, scenario by scenario, twice in a row.
func TestConformanceOfMock(t *testing.T) {
	needPeers(t)
	node := node22(t)
	addr := freeAddr(t)
	b := start(t, false, nil, peerProgram(t, "everything-server"), "-http", addr, "-stateless=false")
	awaitListener(t, b, addr)
	recorded := func(which ...string) (verdicts, string) {
		dir := t.TempDir()
		tap := tapHTTP(t, dir, "http://"+addr+"/mcp")
		v := suite(t, node, append([]string{"server", "--url", tap.line}, which...)...)
		return v, endTap(t, tap, dir)
	}
	live, file := recorded("--suite", "all")
	scenarios := serverScenarios(t, node)
	for _, name := range scenarios {
		if _, ok := live["server-"+name]; !ok {
			t.Errorf("%s has not been run", name)
		}
	}
	if len(live) != len(scenarios) {
		t.Errorf("%d scenarios of %d", len(live), len(scenarios))
	}
	m := start(t, true, nil, tapBinary(t), "mock", file, "--listen", "127.0.0.1:0")
	for run := range 2 {
		mocked := suite(t, node, "server", "--url", m.line, "--suite", "all")
		left := stillDiffering(live.differing(mocked), func(name string) (verdicts, verdicts) {
			which := []string{"--scenario", strings.TrimPrefix(name, "server-")}
			live, file := recorded(which...)
			alone := start(t, true, nil, tapBinary(t), "mock", file, "--listen", "127.0.0.1:0")
			return live, suite(t, node, append([]string{"server", "--url", alone.line}, which...)...)
		})
		for _, name := range left {
			t.Errorf("run %d, %s: live %v, mocked %v", run+1, name, live[name], mocked[name])
		}
	}
	m.stop()
	if t.Failed() {
		t.Logf("the mock said: %s", m.stderr.String())
	}
}
