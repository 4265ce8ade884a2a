package peertest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// Playing the client half of a recorded session to the recorded server finds no difference above timing: on
// stdio, over HTTP, and from one to the other.

// unstable matches values of the servers that differ in each run.
var unstable = []string{
	"tools/call get-env: $.result.content",       // everything: of its environment
	"$..blob",                                    // everything: a time in base64
	"$.error.data.elicitations[*].elicitationId", // everything
	"tools/call get_file_info: $.result",         // filesystem: when a file was written
	"@timestamps", "@uuids",                      // everything
}

// unused matches the warnings about those that match nothing.
var unused = regexp.MustCompile(`(?m)^mcptap: --ignore ".*" matched no difference\n`)

// A replayLine is a line of `mcptap replay --json`: a difference or a note.
type replayLine struct {
	Type, Class, Kind, In, Method, Subject, Message, Path, What, Text string
}

// byLuck reports whether a difference may occur without any change: the Go SDK sends requests in map
// order, and responds to a cancelled subscription if the session does not end earlier.
//
// Over HTTP, what is sent on the standing stream also depends on whether it is open in time, and a client
// that resumes a stream gets messages again that it already had.
func (l *replayLine) byLuck(s *webServer) bool {
	if s != nil {
		switch {
		case l.Message == "notifications/tools/list_changed", l.Message == "notifications/tasks/status":
			return true
		case s.loses && l.Message == "notifications/progress":
			return true
		case s.name == "everything" && l.In == "unmatched" && l.Kind == "removed":
			return true
		}
	}
	return l.What == "the nested requests come in another order" ||
		l.Method == "subscriptions/listen" && l.What == "response after the cancellation"
}

// replayTo runs `mcptap replay` and returns the differences above expected, and what could not be done as
// recorded.
func replayTo(t *testing.T, file string, s *webServer, env []string, args ...string) (found []replayLine) {
	t.Helper()
	argv := []string{"replay", file, "--dir", t.TempDir(), "--pace", "instant", "--timeout", "2m", "--fail-on", "never", "--json"}
	for _, rule := range unstable {
		argv = append(argv, "--ignore", rule)
	}
	cmd := exec.Command(tapBinary(t), append(argv, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = dieWithParent()
	timer := time.AfterFunc(4*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var out, printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &printed
	if err := cmd.Run(); err != nil || len(unused.ReplaceAll(printed.Bytes(), nil)) > 0 {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	for line := range bytes.Lines(out.Bytes()) {
		var l replayLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case l.Type == "note" && l.Kind != "killed", l.Type == "difference" && l.Class != "expected" && l.Class != "cosmetic" && !l.byLuck(s):
			found = append(found, l)
			t.Logf("%s", line)
		}
	}
	return found
}

// replayClients are the clients whose sessions are played. The replay does what they did, so one for each
// way of opening a session is sufficient.
var replayClients = []string{"v1-legacy", "v2-2026-07-28", "go-auto", "mcpgo-auto"}

func TestReplayPairs(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, c := range clients() {
		for _, s := range servers() {
			if !slices.Contains(replayClients, c.name) || c.modernOnly && !s.modern {
				continue // there is no session
			}
			if sample && c.name+"/"+s.name != "go-auto/gosdk" {
				continue
			}
			t.Run(c.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				tmp, recs := t.TempDir(), t.TempDir()
				playIn(t, tmp, c, s, func(argv []string) []string {
					return append([]string{tapBinary(t), "stdio", "--dir", recs, "--label", s.name, "--"}, argv...)
				})
				clearDir(t, tmp)
				var env []string
				if s.env != nil {
					env = s.env(tmp)
				}
				if found := replayTo(t, longest(t, recs), nil, env, append([]string{"--slower", "1h", "--"}, s.argv(tmp)...)...); len(found) > 0 {
					t.Errorf("%d differences and notes", len(found))
				}
			})
		}
	}
}

// clearDir restores a directory to its state before a server used it.
func clearDir(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayHTTP(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, s := range webServers {
		for _, name := range s.clients {
			if !slices.Contains(replayClients, name) || sample && name+"/"+s.name != "go-auto/gosdk" {
				continue
			}
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				tap := tapHTTP(t, dir, s.start(t, ""))
				playHTTP(t, webClient(name), s, tap.line)
				file := endTap(t, tap, dir)
				if found := replayTo(t, file, &s, nil, "--slower", "1h", "--to", s.start(t, "")); len(found) > 0 {
					t.Errorf("%d differences and notes", len(found))
				}
			})
		}
	}
}
