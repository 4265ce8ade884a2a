package peertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The vitest test in docs/mock.md passes as it is, and fails with the mock's explanation if the client
// sends a request that is not recorded.
func TestMockVitest(t *testing.T) {
	needPeers(t)
	if _, err := os.Stat("vitest/node_modules/vitest"); err != nil {
		needNode(t, "vitest is not installed (npm ci in peertest/vitest/)")
	}
	page, err := os.ReadFile("../docs/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile("vitest/forecast.test.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, append([]byte("```ts\n"), append(test, "```\n"...)...)) {
		t.Error("the test in docs/mock.md differs from peertest/vitest/forecast.test.ts")
	}
	if out, err := vitest(t, "vitest"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	other := t.TempDir()
	session, err := os.ReadFile("vitest/testdata/session.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"forecast.test.ts":       string(test),
		"testdata/session.txtar": strings.Replace(string(session), `"city":"Oslo"`, `"city":"Bergen"`, 1),
		"package.json":           `{"type":"module"}`,
	} {
		path := filepath.Join(other, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(abs("vitest/node_modules"), filepath.Join(other, "node_modules")); err != nil {
		t.Fatal(err)
	}
	const explanation = `no recorded response for tools/call forecast: the nearest is frame 4, which differs at $.params.arguments.city (recorded "Bergen", live "Oslo")`
	if out, err := vitest(t, other); err == nil || !strings.Contains(out, explanation) {
		t.Errorf("%v\n%s", err, out)
	}
}

// vitest runs the tests in a directory, with mcptap in PATH.
func vitest(t *testing.T, dir string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(tapBinary(t), filepath.Join(bin, "mcptap")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", abs("vitest/node_modules/vitest/vitest.mjs"), "run", "--no-color", "--testTimeout", "60000")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
