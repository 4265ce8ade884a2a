package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/tap"
)

// The command that --curl prints passes the URL, the header fields and the body to curl as recorded,
// whatever they contain.
func TestCurlArguments(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("SKIPPED: sh is not installed")
	}
	dir := t.TempDir()
	curl := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done\ncase \" $* \" in *' @- '*) cat;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "curl"), []byte(curl), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "body"), []byte("\x1b[2J\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", listing.MaxCurlBody+1)
	if err := os.WriteFile(filepath.Join(dir, "large"), []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "http://localhost:3001/m?a=[1]&b='$(id)'"
	for _, c := range []struct {
		method, body, file string
		header             [][2]string
		want               []string
	}{
		{"POST", `{"a":"it's; $HOME ` + "`id`" + ` \" \\n é"}`, "", [][2]string{{"Host", "x"}, {"X-A", "it's"}, {"content-length", "7"}, {"X-Empty", ""}, {"X-Bad", "\x1b[2J"}},
			[]string{"-sSgN", "--path-as-is", url, "-H", "X-A: it's", "-H", "X-Empty;", "--data-raw", `{"a":"it's; $HOME ` + "`id`" + ` \" \\n é"}`}},
		{"DELETE", "", "", nil, []string{"-sSgN", "--path-as-is", "-X", "DELETE", url}},
		{"POST", "", "", nil, []string{"-sSgN", "--path-as-is", "-X", "POST", url}},
		{"POST", "\x1b[2J\xff", "body", nil, []string{"-sSgN", "--path-as-is", url, "--data-binary", "@-", "\x1b[2J\xff"}},
		{"POST", large, "large", nil, []string{"-sSgN", "--path-as-is", url, "--data-binary", "@-", large}},
	} {
		var out bytes.Buffer
		head := &tap.Event{Method: c.method, Header: c.header, Masked: []string{"X-A"}}
		if err := listing.PrintCurl(&out, url, head, []byte(c.body), "cat "+c.file); err != nil {
			t.Fatal(err)
		}
		if s := out.String(); strings.Contains(s, "\x1b") || strings.Contains(s, "\xff") {
			t.Errorf("%q: control characters are printed: %q", c.body, out.String())
		}
		cmd := exec.Command(sh)
		cmd.Dir, cmd.Stdin = dir, &out
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		got, err := cmd.Output()
		if err != nil {
			t.Errorf("%q: %v", c.body, err)
		}
		if got := strings.Split(strings.TrimSuffix(string(got), "\x00"), "\x00"); !slices.Equal(got, c.want) {
			t.Errorf("%q: curl gets %q, want %q", c.body, got, c.want)
		}
	}
}

// Any frame of an exchange names its request; other frames are refused with a hint.
func TestShowCurl(t *testing.T) {
	path := twoSessions(t)
	want := "curl -sSgN --path-as-is http://localhost:3001/mcp \\\n  -H 'Content-Type: application/json' \\\n  -H 'Mcp-Session-Id: s-2' \\\n" +
		`  --data-raw '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"gone"}}'` + "\n"
	for _, number := range []string{"24", "25", "26", "27"} {
		a, out := testApp(nil)
		if code := a.run([]string{"show", path, number, "--curl"}); code != 0 || out.String() != want {
			t.Errorf("frame %s: exit %d: %s", number, code, out)
		}
	}
	for args, want := range map[string]string{
		"1 --curl":        "--curl: frame #1 was not sent over HTTP\nmcptap: hint: `mcptap replay",
		"24 --curl --raw": "--curl needs one frame number",
		"--curl":          "--curl needs one frame number",
	} {
		a, out := testApp(nil)
		if code := a.run(append([]string{"show", path}, strings.Fields(args)...)); code != exitFailure || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d: %s", args, code, out)
		}
	}
}
