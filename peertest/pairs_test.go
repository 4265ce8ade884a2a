package peertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type clientUnderTest struct {
	name string // as in a step's "only"
	argv []string
	// probes reports that it starts the server an extra time, only to determine its revision, both
	// for modern and for older servers.
	probes bool
	// modernOnly reports that it refuses servers that do not speak 2026-07-28.
	modernOnly bool
}

type serverUnderTest struct {
	name   string
	modern bool
	// stays reports that it does not exit when its stdin ends, only on SIGTERM.
	stays bool
	// argv and env depend on the directory of the pair.
	argv func(tmp string) []string
	env  func(tmp string) []string
}

func npm(name string, args ...string) []string {
	return append([]string{"node", abs("node_modules/@modelcontextprotocol/" + name + "/dist/index.js")}, args...)
}

func abs(path string) string {
	p, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return p
}

func clients() []clientUnderTest {
	js := func(sdk, mode string) []string {
		return []string{"node", abs("clients/run.mjs"), "--sdk", sdk, "--mode", mode}
	}
	return []clientUnderTest{
		{name: "v1-legacy", argv: js("v1", "legacy")},
		{name: "v2-legacy", argv: js("v2", "legacy")},
		{name: "v2-auto", argv: js("v2", "auto"), probes: true},
		{name: "v2-2026-07-28", argv: js("v2", "2026-07-28"), probes: true, modernOnly: true},
		{name: "go-auto", argv: self("goclient", "--mode", "auto")},
		{name: "go-2025-06-18", argv: self("goclient", "--mode", "2025-06-18")},
	}
}

func servers() []serverUnderTest {
	return []serverUnderTest{
		{name: "everything", stays: true, argv: func(string) []string { return npm("server-everything") }},
		{name: "filesystem", argv: func(tmp string) []string { return npm("server-filesystem", tmp) }},
		{
			name: "memory", argv: func(string) []string { return npm("server-memory") },
			env: func(tmp string) []string { return []string{"MEMORY_FILE_PATH=" + tmp + "/memory.jsonl"} },
		},
		{name: "gosdk", modern: true, argv: func(string) []string { return self("goserver") }},
	}
}

// smoke are the pairs that run by default: the client of each SDK once on each transport. With
// MCPTAP_LONG=1 all pairs run.
var smoke = map[string]bool{
	"v1-legacy/filesystem": true, "v2-2026-07-28/gosdk": true, "go-auto/memory": true,
	"v1-legacy/gosdk": true, "v2-auto/gosdk-stateless": true, "go-auto/gosdk": true, "mcpgo-2025-06-18/mcpgo": true,
	"v1-legacy/mcpgo-sse": true, "v2-legacy/everything-sse": true, "go-2025-06-18/gosdk-sse": true, "mcpgo-2025-06-18/mcpgo-sse": true,
}

// needPeers skips the test if the peers are missing, or fails it in CI.
func needPeers(t *testing.T) {
	t.Helper()
	missing := ""
	if out, err := exec.Command("node", "--version").CombinedOutput(); err != nil {
		missing = "Node is not installed: " + err.Error() + string(out)
	} else if _, err := os.Stat("node_modules/@modelcontextprotocol/client"); err != nil {
		missing = "the npm packages are not installed (npm ci in peertest/): " + err.Error()
	}
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		t.Fatal("NO REAL PEER WAS TESTED: " + missing)
	default:
		t.Skip("SKIPPED: NO REAL PEER IS TESTED: " + missing)
	}
}

func TestPairs(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, c := range clients() {
		for _, s := range servers() {
			if name := c.name + "/" + s.name; sample && !smoke[name] && name != "v1-legacy/everything" {
				continue
			}
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				testPair(t, c, s)
			})
		}
	}
}

func testPair(t *testing.T, c clientUnderTest, s serverUnderTest) {
	direct := play(t, c, s, func(argv []string) []string { return argv })

	recs, logs := t.TempDir(), t.TempDir()
	tapped := play(t, c, s, func(argv []string) []string {
		inner := self("spy", append([]string{logs, "B"}, argv...)...)
		tap := append([]string{tapBinary(t), "stdio", "--dir", recs, "--label", c.name + "-" + s.name, "--"}, inner...)
		return self("spy", append([]string{logs, "A"}, tap...)...)
	})
	compare(t, direct, tapped)

	refused := c.modernOnly && !s.modern
	if got := len(direct["failed"]) > 0; got != refused {
		t.Errorf("the client could not connect: %v, want %v", got, refused)
	}
	runs := 1
	if c.probes && !refused {
		runs = 2
	}
	checkBytes(t, recs, logs, runs)
	for _, r := range recordings(t, recs) {
		checkFindings(t, r.file)
	}
}

// play runs the scenario of a pair once, with the server's command wrapped.
func play(t *testing.T, c clientUnderTest, s serverUnderTest, wrap func([]string) []string) transcript {
	t.Helper()
	return playIn(t, t.TempDir(), c, s, wrap)
}

// playIn is like play, in the given directory.
func playIn(t *testing.T, tmp string, c clientUnderTest, s serverUnderTest, wrap func([]string) []string) transcript {
	t.Helper()
	out := filepath.Join(t.TempDir(), "observed")
	args := append(c.argv[1:len(c.argv):len(c.argv)],
		"--scenario", abs("scenarios/"+s.name+".json"), "--out", out, "--var", "tmp="+tmp)
	if s.env != nil {
		for _, v := range s.env(tmp) {
			args = append(args, "--env", v)
		}
	}
	if s.stays {
		args = append(args, "--stays")
	}
	cmd := exec.Command(c.argv[0], append(append(args, "--"), wrap(s.argv(tmp))...)...)
	cmd.WaitDelay = time.Second
	// Output of its sibling that a probing client discards may end up here.
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
	return readTranscript(t, out, c, s, tmp)
}

// checkBytes compares the spies on both sides and the recording with each other.
func checkBytes(t *testing.T, recs, logs string, runs int) {
	t.Helper()
	outer, inner := spies(t, logs, "A"), spies(t, logs, "B")
	taken := recordings(t, recs)
	if len(outer) != runs || len(inner) != runs || len(taken) != runs {
		t.Fatalf("%d starts by the client, %d by the tap, %d recordings; want %d of each", len(outer), len(inner), len(taken), runs)
	}
	for _, a := range outer {
		b := pick(t, inner, func(b spyMeta) bool { return b.Parent == a.Child })
		r := pick(t, taken, func(r *recording) bool { return r.events["start"].PID == b.PID })
		if a.killed || b.killed {
			// Some bytes were in transit. No receiver has more than its sender.
			t.Logf("the client killed the server's command (spies: %v, %v)", a.killed, b.killed)
			prefix(t, "to_server behind the tap", b.lane(t, "to_server"), r.lanes["to_server"])
			prefix(t, "to_server as recorded", r.lanes["to_server"], a.lane(t, "to_server"))
			for _, lane := range []string{"to_client", "stderr"} {
				prefix(t, lane+" before the tap", a.lane(t, lane), r.lanes[lane])
				prefix(t, lane+" as recorded", r.lanes[lane], b.lane(t, lane))
			}
			continue
		}
		for _, lane := range []string{"to_server", "to_client", "stderr"} {
			same(t, lane+" before and behind the tap", a.lane(t, lane), b.lane(t, lane))
			same(t, lane+" as recorded", r.lanes[lane], b.lane(t, lane))
		}
		if r.stderr != "" {
			t.Errorf("the export of %s wrote to stderr: %s", r.file, r.stderr)
		}
		if a.Code != b.Code || r.exitCode() != b.Code {
			t.Errorf("the server returned %d, the tap %d, and recorded %d", b.Code, a.Code, r.exitCode())
		}
	}
}

func pick[T any](t *testing.T, list []T, is func(T) bool) (found T) {
	t.Helper()
	n := 0
	for _, x := range list {
		if is(x) {
			found = x
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d of %d %T belong together, want 1", n, len(list), found)
	}
	return found
}
