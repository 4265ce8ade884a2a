package mcptap_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// standing matches the commands that run until they are signaled.
var standing = regexp.MustCompile(`^mcptap (web|http|mock .*--listen|stdio --(web|redact|otlp))\b`)

// TestDocsCommands runs every command of the pages in docs, each page in its own home directory, which has
// what the pages refer to: recordings, exports, a server, a client's configuration. For
// docs/troubleshooting.md, which also shows the output of its commands, see TestTroubleshooting.
func TestDocsCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the commands of the pages are for a POSIX shell")
	}
	bin := t.TempDir()
	build(t, filepath.Join(bin, "mcptap"))
	made := makeHome(t, bin)
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, page := range pages {
		if page == troubleshooting {
			continue
		}
		lines := commands(t, page)
		total += len(lines)
		if len(lines) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			h := newHome(t, bin, made)
			for _, line := range lines {
				h.run(line)
			}
		})
	}
	if total < 30 {
		t.Errorf("only %d commands found: the pages were not parsed correctly", total)
	}
}

// commands returns the commands of a page: the lines of sh blocks, and those after a $ in console blocks.
func commands(t *testing.T, page string) (all []string) {
	t.Helper()
	for _, block := range blocks(t, page, "sh") {
		for line := range strings.Lines(block) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	for _, block := range blocks(t, page, "console") {
		for line := range strings.Lines(block) {
			if line, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	return all
}

// A home is a directory in which the commands of a page are run.
type home struct {
	t    *testing.T
	dir  string
	env  []string
	url  string            // a server over HTTP
	stop func()            // ends what serve started last
	real *strings.Replacer // replaces names used on a page
}

// at returns the home in a directory.
func at(t *testing.T, bin, dir string) *home {
	h := &home{t: t, dir: dir}
	tools := filepath.Join(h.dir, "bin")
	h.env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+filepath.Join(h.dir, "state"), "XDG_CONFIG_HOME=", "MCPTAP_DIR=",
		"CLAUDE_CONFIG_DIR=", "CODEX_HOME=", "PATH="+tools+string(os.PathListSeparator)+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return h
}

// makeHome creates what the pages refer to, with mcptap itself, and returns the directory.
func makeHome(t *testing.T, bin string) (dir string) {
	t.Helper()
	h := at(t, bin, t.TempDir())
	for name, text := range map[string]string{
		"bin/npx":          "#!/bin/sh\nexec mcptap demo serve\n",
		"bin/jq":           "#!/bin/sh\ncat\n",
		"server":           "#!/bin/sh\nexec mcptap demo serve\n",
		"my-server":        "#!/bin/sh\nexec mcptap demo serve\n",
		".cursor/mcp.json": `{"mcpServers": {"github": {"command": "npx", "args": ["x"]}, "remote": {"url": "https://example.com/mcp"}}}`,
		"faults.txt":       "delay=1ms\n",
	} {
		path := filepath.Join(h.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	h.must("mcptap demo && mkdir testdata before after")
	h.must("cp state/mcptap/*2025-11-25*.mcptap OLD && cp OLD OLD2 && cp OLD OLD3 && cp OLD NEW && cp OLD before/a.mcptap && cp OLD after/a.mcptap")
	h.must("mcptap export OLD -o session.ndjson && cp session.ndjson before.ndjson && mcptap export OLD --format txtar -o session.txtar")
	h.must("cp session.txtar after.txtar && cp session.txtar testdata")
	h.must(`sed -E '1s/"id":"[0-9a-f]{8}"/"id":"3f2a91bc"/' session.ndjson > named.ndjson && mcptap import named.ndjson`)
	h.must(`sed -E '1s/"id":"[0-9a-f]{8}"/"id":"3f2a91bd"/' session.ndjson > newer.ndjson && mcptap import newer.ndjson --new-id`)
	return h.dir
}

// newHome returns a copy of an existing home, and starts a server.
func newHome(t *testing.T, bin, made string) *home {
	t.Helper()
	h := at(t, bin, t.TempDir())
	h.must("cp -R " + made + "/. .")
	url := h.serve("mcptap mock session.txtar --repeat loop --listen 127.0.0.1:0")
	h.url = url
	h.real = strings.NewReplacer("http://localhost:3001/mcp", url, "https://example.com/mcp", url, " URL ", " "+url+" ", "npx -y …", "./server", "-- …", "-- ./server")
	return h
}

// must runs a line that prepares what a page refers to.
func (h *home) must(line string) {
	h.t.Helper()
	if out, err := h.command(h.t.Context(), line).CombinedOutput(); err != nil {
		h.t.Fatalf("%s\n%v\n%s", line, err, out)
	}
}

func (h *home) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-ec", line)
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// serve runs a command that first prints its URL, until the end of the test or until it is signaled.
func (h *home) serve(line string) (url string) {
	h.t.Helper()
	cmd := h.command(context.Background(), "exec "+line)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	h.t.Cleanup(h.stop)
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSpace(first)
}

// twoSessions makes an HTTP recording with two sessions the newest.
func (h *home) twoSessions() {
	h.t.Helper()
	url := h.serve("mcptap http " + h.url)
	for range 2 {
		const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		req, err := http.NewRequest("POST", url, strings.NewReader(hello))
		if err != nil {
			h.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			h.t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	h.stop()
}

// run runs a command of a page. Reporting a difference is not a failure; an unknown command or flag is.
func (h *home) run(line string) {
	h.t.Helper()
	line = h.real.Replace(line + " ")
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	if strings.Contains(line, "@last#2") && !strings.HasPrefix(line, "mcptap web") {
		h.twoSessions()
	}
	if standing.MatchString(line) {
		h.stand(ctx, line)
		return
	}
	out, err := h.command(ctx, line).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && !strings.HasPrefix(line, "mcptap wrap") {
		err = nil // a negative result
	}
	if err != nil {
		h.t.Errorf("%s\n%v\n%s", line, err, out)
	}
}

// stand runs a command until it has printed something, and ends it.
func (h *home) stand(ctx context.Context, line string) {
	h.t.Helper()
	cmd := h.command(ctx, "exec "+line)
	in, err := cmd.StdinPipe() // a server's input must stay open
	if err != nil {
		h.t.Fatal(err)
	}
	defer in.Close()
	printed := make(chan struct{}, 1)
	var out bytes.Buffer
	var mu sync.Mutex // stdout and stderr are copied by separate goroutines
	w := writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case printed <- struct{}{}:
		default:
		}
		return out.Write(p)
	})
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	select {
	case <-printed:
	case <-ctx.Done():
	}
	cmd.Process.Signal(syscall.SIGTERM)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == -1 || exit.ExitCode() == 128+int(syscall.SIGTERM) || exit.ExitCode() == 1) {
		err = nil // it ended by the signal, or with a result
	}
	if err != nil || ctx.Err() != nil {
		h.t.Errorf("%s\n%v\n%s", line, err, &out)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
