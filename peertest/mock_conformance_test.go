package peertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The official suites cannot distinguish a tap or a mock from the server: they have the same verdict for
// every scenario and every check, live, through the tap, and twice in a row with the mock of the tap's
// recording.
func TestConformanceOfMock(t *testing.T) {
	needPeers(t)
	node := node22(t)
	server := peerProgram(t, "everything-server")
	for _, c := range []struct {
		suite     string
		args      []string
		stateless bool
		// scenarios and checks are their minimum numbers.
		scenarios, checks int
	}{
		{suiteLatest, []string{"--suite", "all"}, false, 32, 40},
		{suiteNext, []string{"--requirements", "2025-11-25"}, false, 33, 80},
		{suiteNext, []string{"--requirements", "2026-07-28"}, true, 50, 160},
	} {
		t.Run(c.suite[strings.LastIndex(c.suite, "/")+1:]+"/"+c.args[1], func(t *testing.T) {
			addr := freeAddr(t)
			b := start(t, false, nil, server, "-http", addr, fmt.Sprintf("-stateless=%t", c.stateless))
			awaitListener(t, b, addr)
			run := func(url string, which ...string) verdicts {
				if len(which) == 0 {
					which = c.args
				}
				return suiteOf(t, node, c.suite, append([]string{"server", "--url", url}, which...)...)
			}
			recorded := func(which ...string) (verdicts, string) {
				dir := t.TempDir()
				tap := tapHTTP(t, dir, "http://"+addr+"/mcp")
				v := run(tap.line, which...)
				return v, endTap(t, tap, dir)
			}
			mocked := func(file string, which ...string) (first, second verdicts) {
				m := start(t, true, nil, tapBinary(t), "mock", file, "--listen", "127.0.0.1:0")
				first, second = run(m.line, which...), run(m.line, which...)
				m.stop()
				return first, second
			}
			live := run("http://" + addr + "/mcp")
			tapped, file := recorded()
			readHTTP(t, file)
			if n := sessionsIn(t, file); !c.stateless && n < len(tapped) { // each scenario has at least one session
				t.Errorf("%d sessions of %d scenarios", n, len(tapped))
			}
			first, second := mocked(file)
			checks := slices.Concat(slices.Collect(mapValues(live))...)
			if c.suite == suiteLatest && !passes(checks, c.checks) {
				t.Errorf("the server alone: %v", checks)
			}
			if len(live) < c.scenarios || len(checks) < c.checks {
				t.Errorf("%d scenarios and %d checks, want %d and %d at least", len(live), len(checks), c.scenarios, c.checks)
			} else {
				t.Logf("%d scenarios, %d checks", len(live), len(checks))
			}
			differing := slices.Concat(live.differing(tapped), live.differing(first), live.differing(second))
			slices.Sort(differing)
			for _, name := range stillDiffering(slices.Compact(differing), func(name string) (verdicts, verdicts) {
				which := []string{"--scenario", strings.TrimPrefix(name, "server-")}
				live := run("http://"+addr+"/mcp", which...)
				tapped, file := recorded(which...)
				if len(live.differing(tapped)) > 0 {
					return live, tapped
				}
				first, second := mocked(file, which...)
				if len(live.differing(first)) > 0 {
					return live, first
				}
				return live, second
			}) {
				t.Errorf("%s: live %v, tapped %v, mocked %v, again %v", name, live[name], tapped[name], first[name], second[name])
			}
		})
	}
}
