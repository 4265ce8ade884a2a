package mocktest

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The test in docs/mock.md is one of this package.
func TestExampleInDocs(t *testing.T) {
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?ms)^```go\n(func TestForecast.*?)^```$").FindSubmatch(page)
	if shown == nil || !strings.Contains(string(example), string(shown[1])) {
		t.Errorf("the test in docs/mock.md differs from example_test.go: %s", shown)
	}
}

// The hand-written transcript in docs/mock.md plays as it is.
func TestByHand(t *testing.T) {
	page, err := os.ReadFile("../../docs/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "## By hand")
	_, part, _ = strings.Cut(part, "\n```\n")
	text, _, ok := strings.Cut(part, "\n```\n")
	if !ok {
		t.Fatal("the page has no transcript")
	}
	path := filepath.Join(t.TempDir(), "session.txtar")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w := Start(t, path, Strict(), Verify()).Pipe()
	out := bufio.NewReader(r)
	say(t, w, out, 1, initialize)
	say(t, w, out, 1, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"forecast","arguments":{"city":"Oslo"}}}`)
	if got := say(t, w, out, 1, answer); len(got) != 1 || !strings.Contains(got[0], "15.5 degrees") {
		t.Errorf("%q", got)
	}
}
