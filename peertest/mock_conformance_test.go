package peertest

import (
	"strings"
	"testing"
)

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
	if len(live) < 30 {
		t.Errorf("only %d scenarios", len(live))
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
