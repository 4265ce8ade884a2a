package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcptap/mcptap/demo"
	"github.com/mcptap/mcptap/tap"
)

// A recording of the demo that is redacted as much as possible mocks with the same transcript for the
// client as the original, except for pseudonyms.
func TestRedactedDemoMocks(t *testing.T) {
	t.Parallel()
	mcptap := demoProgram(t)
	for _, revision := range []string{demo.Handshake, demo.Stateless} {
		original, red := recordDemo(t, mcptap, revision), filepath.Join(t.TempDir(), "red.mcptap")
		a, output := testApp(nil)
		code := a.run([]string{"redact", original, "-o", red, "--rule", "key:clientInfo", "--rule", "path:$.params.arguments",
			"--rule", "path:$.result.content[*].text", "--rule", "path:$.result.structuredContent", "--rule", "path:$.result.contents[*].text"})
		if code != 0 {
			t.Fatalf("exit %d: %s", code, output)
		}
		became, changed := pseudonyms(t, original, red)
		if changed < 20 {
			t.Errorf("%s: only %d frames were changed", revision, changed)
		}
		was, is := mocked(t, mcptap, original), mocked(t, mcptap, red)
		if len(was) != len(is) || len(was) < 40 {
			t.Fatalf("%s: the client got %d messages, and %d of the redacted one", revision, len(was), len(is))
		}
		left := map[string]int{} // several may be sent at the same time, and arrive in any order
		for i := range was {
			want, ok := became[string(was[i])]
			if !ok {
				t.Errorf("%s: this was never recorded: %s", revision, was[i])
			}
			left[want]++
			left[string(is[i])]--
		}
		for message, n := range left {
			if n != 0 {
				t.Errorf("%s: %d times: %s", revision, n, message)
			}
		}
	}
}

// pseudonyms returns what each message to the client became, and the number of changed frames.
func pseudonyms(t *testing.T, original, red string) (became map[string]string, changed int) {
	t.Helper()
	became = map[string]string{}
	before, after := framesOf(t, original), framesOf(t, red)
	if len(before) != len(after) {
		t.Fatalf("%d frames, and %d redacted", len(before), len(after))
	}
	for i, f := range before {
		if f.Lane == tap.ToClient {
			became[string(f.Raw)] = string(after[i].Raw)
		}
		if !bytes.Equal(f.Raw, after[i].Raw) {
			changed++
		}
	}
	return became, changed
}

// mocked plays the client of a recording against a mock of it, and returns what the client received.
func mocked(t *testing.T, mcptap, path string) (got [][]byte) {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command(mcptap, "replay", "--dir", t.TempDir(), path, "--", mcptap, "stdio", "--dir", dir, "--", mcptap, "mock", path, "--strict").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, f := range framesOf(t, only(t, dir)) {
		if f.Lane == tap.ToClient {
			got = append(got, f.Raw)
		}
	}
	return got
}
