package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The commands in the README's section on HTTP work: the first with the test's own server, the others
// on the resulting recording.
func TestHTTPInTheReadme(t *testing.T) {
	needSignals(t)
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## Record a server on HTTP\n")
	if section, _, _ = strings.Cut(section, "\n## "); !ok {
		t.Fatal("the README has no section about HTTP")
	}
	var commands []string
	for _, m := range regexp.MustCompile(`(?m)^\$ (mcptap [^#\n]*(?:#\d)?)`).FindAllStringSubmatch(section, -1) {
		commands = append(commands, strings.TrimSpace(m[1]))
	}
	if len(commands) != 4 || !strings.HasPrefix(commands[0], "mcptap http https://") {
		t.Fatalf("its commands are %q", commands)
	}
	sessions := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sessions++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", sessions))
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
	}))
	defer server.Close()
	args := strings.Fields(commands[0])[2:]
	for i, arg := range args {
		args[i] = strings.Replace(arg, "https://example.com", server.URL, 1)
	}
	r := startHTTP(t, nil, args...)
	for range 2 {
		res, err := http.Post(r.line, "application/json", strings.NewReader(
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"cli","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if code := r.stop(syscall.SIGINT); code != 130 {
		t.Errorf("Ctrl-C ended it with %d", code)
	}
	for _, command := range commands[1:] {
		cmd := exec.Command("mcptap", strings.Fields(command)[1:]...)
		cmd.Env = append(os.Environ(), "MCPTAP_DIR="+r.dir)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "initialize") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
