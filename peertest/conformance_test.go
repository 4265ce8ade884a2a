package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The official conformance suite checks servers and clients. Its verdicts must be the same with a tap
// in between, for every scenario and every check.

// node22 is a Node that runs the suite: the system's, or the one from npm.
func node22(t *testing.T) string {
	t.Helper()
	candidates, _ := filepath.Glob("node_modules/node-*/bin/node")
	for _, node := range append([]string{"node"}, candidates...) {
		out, err := exec.Command(node, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if n, nerr := strconv.Atoi(major); err == nil && nerr == nil && n >= 22 {
			if node == "node" {
				return node
			}
			return abs(node)
		}
	}
	needNode(t, "there is no Node of version 22 or above, neither the system's nor that of npm ci")
	return ""
}

// needNode skips the test, or fails it in CI.
func needNode(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal("THE CONFORMANCE SUITE WAS NOT RUN: " + missing)
	}
	t.Skip("SKIPPED: THE CONFORMANCE SUITE IS NOT RUN: " + missing)
}

// peerProgram builds one of the Go SDK's programs for the suite.
func peerProgram(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", bin, "github.com/modelcontextprotocol/go-sdk/conformance/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return bin
}

// verdicts are the results of a run: for each scenario its checks with their statuses, sorted by name.
type verdicts map[string][]string

var runTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// The suites: the latest one, and the one that supports 2026-07-28.
const (
	suiteLatest = "@modelcontextprotocol/conformance"
	suiteNext   = "conformance-next"
)

// suite runs the latest conformance suite. Its exit code is ignored: the verdicts contain the same
// information.
func suite(t *testing.T, node string, args ...string) verdicts {
	t.Helper()
	return suiteOf(t, node, suiteLatest, args...)
}

// suiteOf runs one of the suites.
func suiteOf(t *testing.T, node, name string, args ...string) verdicts {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(node, slices.Concat([]string{abs("node_modules/" + name + "/dist/index.js")}, args, []string{"-o", dir})...)
	cmd.WaitDelay = time.Second
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	timer := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Run()
	found := verdicts{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(b, &checks); err != nil {
			return err
		}
		name = runTime.ReplaceAllString(filepath.ToSlash(name), "")
		found[name] = []string{}
		for _, c := range checks {
			if c.Status != "INFO" { // a request that was seen; the number depends on timing
				found[name] = append(found[name], c.ID+" "+c.Status)
			}
		}
		slices.Sort(found[name])
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("the suite left %d verdicts, %v\n%s", len(found), err, &printed)
	}
	return found
}

// differing returns the scenarios with different verdicts, in order.
func (v verdicts) differing(than verdicts) (names []string) {
	all := map[string]bool{}
	for name := range v {
		all[name] = true
	}
	for name := range than {
		all[name] = true
	}
	for name := range all {
		a, ok := v[name]
		b, also := than[name]
		if !ok || !also || !slices.Equal(a, b) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stillDiffering repeats scenarios with different verdicts: some of them measure time, and the machine
// may have been busy.
func stillDiffering(names []string, rerun func(name string) (direct, tapped verdicts)) (left []string) {
	for _, name := range names {
		same := false
		for range 2 {
			direct, tapped := rerun(name)
			if same = len(direct.differing(tapped)) == 0; same {
				break
			}
		}
		if !same {
			left = append(left, name)
		}
	}
	return left
}

func passes(checks []string, most int) bool {
	n := 0
	for _, c := range checks {
		if strings.HasSuffix(c, " FAILURE") {
			return false
		}
		if strings.HasSuffix(c, " SUCCESS") {
			n++
		}
	}
	return n >= most
}

func mapValues(v verdicts) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for _, list := range v {
			if !yield(list) {
				return
			}
		}
	}
}

// otherOrigin are the client scenarios that end differently with a tap, because the client then uses
// another origin for the server; docs/transparency-http.md has the reasons. Those in the first list do
// so even with --rewrite-auth.
var (
	otherOrigin = []string{"auth/metadata-var3"}
	otherPlain  = []string{
		"auth/basic-cimd", "auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3",
		"auth/offline-access-not-supported", "auth/offline-access-scope", "auth/pre-registration",
		"auth/scope-from-scopes-supported", "auth/scope-from-www-authenticate", "auth/scope-omitted-when-undefined",
		"auth/scope-retry-limit", "auth/scope-step-up",
		"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-none", "auth/token-endpoint-auth-post",
	}
	// The suite for 2026-07-28 has more scenarios, and also compares the resource of a token request.
	otherOriginNext = append([]string{
		"auth/2025-03-26-oauth-metadata-backcompat", "auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2",
		"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-none", "auth/token-endpoint-auth-post",
	}, otherOrigin...)
	otherPlainNext = append([]string{
		"auth/2025-03-26-oauth-metadata-backcompat", "auth/authorization-server-migration", "auth/iss-normalized",
		"auth/iss-not-advertised", "auth/iss-supported", "auth/iss-supported-missing", "auth/iss-unexpected",
		"auth/iss-wrong-issuer", "auth/metadata-issuer-mismatch",
	}, otherPlain...)
)

// The client scenarios with the Go SDK's client, through a tap with and without --rewrite-auth. Only
// the known scenarios differ.
func TestConformanceOfClient(t *testing.T) {
	needLong(t)
	needPeers(t)
	node := node22(t)
	client := peerProgram(t, "everything-client")
	for _, s := range []struct {
		suite         string
		scenarios     int
		plain, origin []string
	}{
		{suiteLatest, 26, otherPlain, otherOrigin},
		{suiteNext, 48, otherPlainNext, otherOriginNext},
	} {
		t.Log(s.suite)
		conformanceOfClient(t, node, client, s.suite, s.scenarios, s.plain, s.origin)
	}
}

// conformanceOfClient runs a suite in which the scenarios in plain differ without --rewrite-auth, and
// those in origin with it.
func conformanceOfClient(t *testing.T, node, client, name string, scenarios int, plain, origin []string) {
	dir := t.TempDir()
	command := func(flags ...string) string {
		return strings.Join(slices.Concat(self("wrap", dir, tapBinary(t)), flags, []string{"--", client}), " ")
	}
	run := func(command string, which ...string) verdicts {
		return suiteOf(t, node, name, append([]string{"client", "--command", command}, which...)...)
	}
	direct := run(client, "--suite", "all")
	if len(direct) < scenarios {
		t.Errorf("only %d scenarios", len(direct))
	}
	for _, mode := range []struct {
		flags []string
		known []string
	}{{nil, plain}, {[]string{"--rewrite-auth"}, origin}} {
		tapped := run(command(mode.flags...), "--suite", "all")
		slices.Sort(mode.known)
		known, others := split(direct.differing(tapped), mode.known)
		if !slices.Equal(known, mode.known) {
			t.Errorf("%v: %v are documented to differ, but only %v do", mode.flags, mode.known, known)
		}
		others = stillDiffering(others, func(name string) (verdicts, verdicts) {
			return run(client, "--scenario", name), run(command(mode.flags...), "--scenario", name)
		})
		for _, name := range others {
			t.Errorf("%s %v: direct %v, tapped %v", name, mode.flags, direct[name], tapped[name])
		}
		if got := tapped["auth/resource-mismatch"]; !passes(got, 1) {
			t.Errorf("%v: a client must refuse a server that names another resource: %v", mode.flags, got)
		}
	}
	checkDocumented(t, append(slices.Clone(origin), plain...))
	files, _ := filepath.Glob(filepath.Join(dir, "*.mcptap"))
	if len(files) < 2*len(direct) {
		t.Errorf("%d recordings of %d scenarios", len(files), len(direct))
	}
	for _, file := range files {
		readHTTP(t, file)
	}
}

func split(names, known []string) (in, out []string) {
	for _, name := range names {
		if slices.Contains(known, name) {
			in = append(in, name)
		} else {
			out = append(out, name)
		}
	}
	return in, out
}

// checkDocumented checks that docs/transparency-http.md lists the exceptions.
func checkDocumented(t *testing.T, names []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/transparency-http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !bytes.Contains(page, fmt.Appendf(nil, "`%s`", name)) {
			t.Errorf("docs/transparency-http.md does not name `%s`", name)
		}
	}
}
