package mcptap_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const troubleshooting = "docs/troubleshooting.md"

var (
	// recorded matches the recordings that a page uses: the newest from there on, or another one.
	recorded = regexp.MustCompile(`^<!-- (@last is|also) (\S+) -->$`)
	// headings matches the titles of a page, and anchors the links to them.
	headings = regexp.MustCompile(`(?m)^##+ (.*)$`)
	anchors  = regexp.MustCompile(`\]\(#([^)]+)\)`)
)

// A session is a terminal, with the commands typed and their output.
type session struct {
	t    *testing.T
	bin  string
	root string // of the module
	dir  string // of the recordings
	n    int    // commands
}

// record imports a transcript as the newest recording.
func (s *session) record(file string, newest bool) {
	s.t.Helper()
	if newest {
		s.dir = s.t.TempDir()
	}
	if out := s.run("mcptap import " + filepath.Join(s.root, filepath.FromSlash(file))); !regexp.MustCompile(`^[0-9a-f]{8}\n$`).MatchString(out) {
		s.t.Fatalf("import %s: %s", file, out)
	}
}

// run returns what a command prints, on both streams.
func (s *session) run(line string) string {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "MCPTAP_DIR="+s.dir, "COLUMNS=100", "TZ=UTC", "NO_COLOR=1",
		"PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// page runs the commands of a page and returns the page with their current output.
func (s *session) page(page string) string {
	var out strings.Builder
	inBlock := false
	for line := range strings.Lines(page) {
		text := strings.TrimSuffix(line, "\n")
		switch m := recorded.FindStringSubmatch(text); {
		case m != nil:
			s.record(m[2], m[1] != "also")
			out.WriteString(line)
		case strings.HasPrefix(text, "```"):
			inBlock = text == "```console"
			out.WriteString(line)
		case !inBlock:
			out.WriteString(line)
		case strings.HasPrefix(text, "$ "):
			s.n++
			fmt.Fprintf(&out, "%s%s", line, s.run(strings.TrimPrefix(text, "$ ")))
		}
	}
	return out.String()
}

// The output shown on the troubleshooting page is what the commands print.
func TestTroubleshooting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the page's commands are for a POSIX shell")
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s := session{t: t, bin: t.TempDir(), root: root}
	build(t, filepath.Join(s.bin, "mcptap"))
	want, err := os.ReadFile(troubleshooting)
	if err != nil {
		t.Fatal(err)
	}
	got := []byte(s.page(string(want)))
	if s.n < 12 {
		t.Errorf("only %d commands found: the page was not parsed correctly", s.n)
	}
	if *update {
		if err := os.WriteFile(troubleshooting, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the program's output; rewrite it with `go test . -update`:\n%s", troubleshooting, got)
	}
}

// The page's links resolve, and the README links to it.
func TestTroubleshootingLinks(t *testing.T) {
	page, err := os.ReadFile(troubleshooting)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(string(page), -1) {
		titles[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	n := 0
	for _, m := range anchors.FindAllStringSubmatch(string(page), -1) {
		if n++; !titles[m[1]] {
			t.Errorf("no title for #%s", m[1])
		}
	}
	if n != len(titles) {
		t.Errorf("%d links to %d titles", n, len(titles))
	}
	for _, m := range links.FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join("docs", m[1])); err != nil {
			t.Error(err)
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "]("+troubleshooting+")") {
		t.Errorf("the README does not link to %s", troubleshooting)
	}
}
