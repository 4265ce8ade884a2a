package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/mock/recorded"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/store"
)

// damageBehind breaks a recording somewhere behind so many frames.
func damageBehind(t *testing.T, path string, behind int) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(whole) - 5000; at > 0; at -= 10_000 {
		broken := bytes.Clone(whole)
		copy(broken[at:], "damaged by a test")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		rec, err := store.Open(path)
		if err != nil {
			continue
		}
		rec.SetMaxRaw(math.MaxInt64)
		n := 0
		for _, err = range rec.Frames(0) {
			if n++; err != nil {
				break
			}
		}
		if err != nil && n > behind {
			return
		}
	}
	t.Fatal("there is no place to damage it")
}

// A long recording whose end is damaged is played up to there, and then the mock ends as
// it does with one that it cannot read at all. The report of one that is whole counts all
// of it, however little was asked for.
func TestMockOfLongRecording(t *testing.T) {
	const calls = 10_000
	path := record(t, busy(calls))
	play := func(args ...string) (code int, out, errs string) {
		a, stdout := testApp(nil)
		var stderr bytes.Buffer
		a.stderr = &stderr
		a.stdin = strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}` + "\n")
		code = a.run(append([]string{"mock", path}, args...))
		return code, stdout.String(), stderr.String()
	}
	const answer = `{"jsonrpc":"2.0","id":7,"result":{"isError":true,"content":[{"type":"text","text":"number 0"}]}}` + "\n"
	if code, out, errs := play(); code != 0 || out != answer || errs != "" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := play("--verify"); code != exitNo || out != answer || !strings.Contains(errs, "1 of the 10001 recorded requests") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	damageBehind(t, path, 20_000)
	_, err := recorded.Load(path, replay.Options{})
	if err == nil {
		t.Fatal("it is not damaged")
	}
	for _, args := range [][]string{nil, {"--verify"}} {
		if code, out, errs := play(args...); code != exitFailure || out != answer || !strings.Contains(errs, "mcptap: "+err.Error()) {
			t.Errorf("exit %d: %s%s, want %v", code, out, errs, err)
		}
	}
}
