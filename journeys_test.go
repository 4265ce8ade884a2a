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
	"time"
)

// A journey is a reported problem, and the commands that find its cause.
type journey struct {
	name    string
	problem string // the reported problem: you have just been told that …
	// recordings are files in testdata, imported in order.
	recordings []string
	// commands lead to the cause, in at most limit steps. After the last one, the screen must show each of
	// the causes, at every width.
	commands []string
	limit    int
	causes   []string
}

var journeys = []journey{
	{
		name: "hang", problem: "the client waits for a tool and never goes on",
		recordings: []string{"journeys/hang.txtar"},
		commands:   []string{"mcptap show @last is:pending"}, limit: 2,
		causes: []string{"export_table", `{"table":"mov`, `unanswered: #13 export_table {"table":"movements"`, "waiting for lock on table movements"},
	},
	{
		name: "failed-tool", problem: "the agent says that a tool failed",
		recordings: []string{"sessions/demo-2025-11-25.ndjson"},
		commands:   []string{"mcptap show @last is:error"}, limit: 1,
		causes: []string{"forecast", "no station in", "unknown tool"},
	},
	{
		name: "wrong-arguments", problem: "the forecast for Bergen came back for another city",
		recordings: []string{"journeys/arguments.txtar"},
		commands:   []string{"mcptap show @last --calls tool:forecast", "mcptap show @last 8"}, limit: 2,
		causes: []string{"Bergen, Norw", `"state": "NY"`, "Bergen, New York: 21 °C"},
	},
	{
		name: "new-version", problem: "the client fails since the server was updated",
		recordings: []string{"journeys/version-1.txtar", "journeys/version-2.txtar"},
		commands:   []string{"mcptap diff before @last"}, limit: 2,
		causes: []string{"$.result.tools", "country", "required", "breaking"},
	},
}

// TestJourneys follows each journey in a terminal of 80, 120 and 200 columns. The screens are in
// testdata/journeys; `go test . -update` rewrites them.
func TestJourneys(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: the journeys need tmux")
	}
	bin := t.TempDir()
	build(t, filepath.Join(bin, "mcptap"))
	for _, j := range journeys {
		if len(j.commands) > j.limit {
			t.Errorf("%s: %d commands, want at most %d", j.name, len(j.commands), j.limit)
		}
		dir := t.TempDir()
		env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "MCPTAP_DIR="+dir, "PAGER=cat", "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1")
		for _, file := range j.recordings {
			cmd := exec.Command(filepath.Join(bin, "mcptap"), "import", filepath.Join("testdata", file))
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, out)
			}
		}
		var page strings.Builder
		fmt.Fprintf(&page, "You have just been told that %s.\n", j.problem)
		for _, width := range []int{80, 120, 200} {
			screen := terminalScreen(t, env, width, j.commands)
			fmt.Fprintf(&page, "\n== %d columns\n%s", width, screen)
			for _, cause := range j.causes {
				if !strings.Contains(screen, cause) {
					t.Errorf("%s: at %d columns %q is not on the screen:\n%s", j.name, width, cause, screen)
				}
			}
		}
		name := filepath.Join("testdata", "journeys", j.name+".txt")
		if *update {
			if err := os.WriteFile(name, []byte(page.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(name); err != nil || string(want) != page.String() {
			t.Errorf("%s does not match the terminal (%v); rewrite it with `go test . -update`:\n%s", name, err, page.String())
		}
	}
}

// terminalScreen returns what a terminal shows after a shell has run commands in it.
func terminalScreen(t *testing.T, env []string, width int, commands []string) string {
	t.Helper()
	const done = "=== done ==="
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "printf '%%s\\n' %s\n%s\n", "'$ "+strings.ReplaceAll(c, "'", `'\''`)+"'", c)
	}
	script.WriteString("echo '" + done + "'\nsleep 600\n")
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "tmux")
	tmux := func(args ...string) (string, error) {
		cmd := exec.Command("tmux", append([]string{"-u", "-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(env, "TMUX=", "TERM=screen-256color")
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		err := cmd.Run()
		if err != nil {
			err = fmt.Errorf("tmux %s: %w: %s", args[0], err, &stderr)
		}
		return out.String(), err
	}
	if _, err := tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", "60", "sh "+file); err != nil {
		t.Fatal(err)
	}
	defer tmux("kill-server")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		screen, err := tmux("capture-pane", "-p")
		if err != nil {
			t.Fatal(err)
		}
		if before, _, ok := strings.Cut(screen, done); ok {
			return before
		}
		if time.Now().After(deadline) {
			t.Fatalf("the commands did not end:\n%s", screen)
		}
	}
}

// A hanging call of a session that is still running takes one command, which shows the newest live
// recording, what is waiting in it, and the server's last lines on stderr.
func TestJourneyLive(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the server is a shell script")
	}
	bin := t.TempDir()
	mcptap := filepath.Join(bin, "mcptap")
	build(t, mcptap)
	env := append(os.Environ(), "MCPTAP_DIR="+t.TempDir(), "COLUMNS=80")
	server := `read line; echo 'waiting for the lock' >&2; cat >/dev/null`
	tap := exec.Command(mcptap, "stdio", "--", "sh", "-c", server)
	tap.Env = env
	in, err := tap.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tap.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = tap.Wait()
	}()
	if _, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"export_table","arguments":{"table":"movements"}}}`); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?s)→ request .*export_table \{"table":"movements"\}.*pending: #2 export_table \{"table":"movements"\} \([0-9.]+m?s\).*last lines of the server on stderr:\n.*waiting for the lock`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		cmd := exec.Command(mcptap, "show", "@live", "is:pending")
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		if want.Match(out) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the screen has no match for %v:\n%s", want, out)
		}
	}
}
