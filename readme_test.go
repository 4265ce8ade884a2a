package mcptap_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// fence finds the code blocks of a Markdown page.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns the code blocks of one language.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range fence.FindAllStringSubmatch(string(b), -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

// TestReadmeCommands runs every command of the README in order, with an empty home and an empty data
// directory.
func TestReadmeCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the README's commands are for a POSIX shell")
	}
	home, bin := t.TempDir(), t.TempDir()
	build(t, filepath.Join(bin, "mcptap"))
	commands := 0
	for _, block := range blocks(t, "README.md", "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			switch {
			case line == "go test ./...": // that is this run
			case strings.Contains(line, "go install"):
				_, pkg, _ := strings.Cut(line, "go install")
				line = "go vet" + pkg // the package exists
				fallthrough
			default:
				commands++
				runLine(t, line, home, bin)
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands found: the README was not parsed correctly", commands)
	}
}

func build(t *testing.T, to string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-o", to, "./cmd/mcptap").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}

// runLine runs a command that must succeed and print something, in the module's root if it is a go command,
// and otherwise in home.
func runLine(t *testing.T, line, home, bin string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", line)
	if !strings.HasPrefix(line, "go ") {
		cmd.Dir = home
	}
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(cache))
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "MCPTAP_DIR=",
		"GOCACHE="+dirs[0], "GOMODCACHE="+dirs[1], "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", line, err, out)
	}
	if len(out) == 0 && !strings.Contains(line, "-o ") && !strings.HasPrefix(line, "go ") {
		t.Errorf("%s printed nothing", line)
	}
}

// TestReadmeConfiguration runs the client configuration shown in the README, with the demo's server in place
// of the example's.
func TestReadmeConfiguration(t *testing.T) {
	mcptap := filepath.Join(t.TempDir(), "mcptap")
	build(t, mcptap)
	found := 0
	for _, block := range blocks(t, "README.md", "json") {
		var config struct {
			Servers map[string]struct {
				Command string
				Args    []string
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(block), &config); err != nil {
			t.Fatal(err)
		}
		for name, server := range config.Servers {
			found++
			before, _, ok := strings.Cut(strings.Join(server.Args, " "), " -- ")
			if server.Command != "mcptap" || !ok {
				t.Fatalf("%s: %s %v does not wrap a server", name, server.Command, server.Args)
			}
			args := append(strings.Fields(before), "--dir", t.TempDir(), "--", mcptap, "demo", "serve")
			if line := firstAnswer(t, exec.Command(mcptap, args...)); !strings.Contains(line, `"id":7`) {
				t.Errorf("%v: %q", args, line)
			}
		}
	}
	if found == 0 {
		t.Error("the README shows no configuration")
	}
}

// firstAnswer sends a server a ping, and returns the line of its response.
func firstAnswer(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":7,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n') // a server may exit at the end of its input without responding
	if err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return line
}

// links finds the relative links and pictures of a page.
var links = regexp.MustCompile(`\]\(([^)#:][^):]*)\)`)

// TestArchitectureNamesWhatIsThere checks that the paths in docs/architecture.md exist.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	b, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z]+(?:/[a-z]+)+)`").FindAllStringSubmatch(string(b), -1)
	for _, m := range named {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
	if len(named) < 15 {
		t.Errorf("only %d paths found: the page was not parsed correctly", len(named))
	}
}

func TestPagesLinkToWhatIsThere(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
		}
		for _, m := range links.FindAllStringSubmatch(string(b), -1) {
			file, _, _ := strings.Cut(m[1], "#")
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), file)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
