package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"syscall"
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
	const calls = 20_000
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
	if code, out, errs := play("--verify"); code != exitNo || out != answer || !strings.Contains(errs, "1 of the 20001 recorded requests") {
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

// Over HTTP a long recording whose end is damaged is played up to there as well. Who asks
// for more is told, and so is whoever started the mock.
func TestMockListensToLongRecording(t *testing.T) {
	const calls = 20_000
	path := record(t, busy(calls))
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`
	answered := func(r *running) {
		t.Helper()
		if res, body := postMock(t, r.line, "", call); res.StatusCode != 200 || !strings.Contains(body, `"number 0"`) {
			t.Fatalf("%s: %s", res.Status, body)
		}
	}
	for _, c := range []struct {
		args []string
		code int
	}{{nil, 0}, {[]string{"--verify"}, exitNo}} {
		r := startMock(t, append([]string{path}, c.args...)...)
		if code := r.stop(syscall.SIGTERM); code != c.code {
			t.Errorf("%v: exit code %d\n%s", c.args, code, r.stderr)
		}
		r = startMock(t, append([]string{path}, c.args...)...)
		answered(r)
		if code := r.stop(syscall.SIGTERM); code != c.code || c.code == exitNo && !strings.Contains(r.stderr.String(), "1 of the 20001 recorded requests") {
			t.Errorf("%v: exit code %d\n%s", c.args, code, r.stderr)
		}
	}
	damageBehind(t, path, 20_000)
	_, err := recorded.Load(path, replay.Options{})
	if err == nil {
		t.Fatal("it is not damaged")
	}
	r := startMock(t, path)
	// Whether it begins with a handshake is never known, unless a session says so.
	if res, body := postMock(t, r.line, "", call); res.StatusCode != 500 || !strings.Contains(body, "cannot be read any more") {
		t.Errorf("%s: %s", res.Status, body)
	}
	if code := r.stop(syscall.SIGTERM); code != exitFailure || strings.Count(r.stderr.String(), err.Error()) < 2 {
		t.Errorf("exit code %d\n%s, want %v", code, r.stderr, err)
	}
}

// A run that is ended before anything could be played has no verdict, and fails if one
// was wanted.
func TestMockEndedWhileItReads(t *testing.T) {
	path := record(t, busy(10))
	for _, c := range []struct {
		verify, interrupted bool
		want                error
	}{{false, false, nil}, {true, false, exitCode(exitNo)}, {false, true, context.Canceled}, {true, true, context.Canceled}} {
		a, _ := testApp(nil)
		var errs bytes.Buffer
		a.stderr = &errs
		over, end := context.WithCancel(context.Background())
		end()
		cmd := newMock(a)
		cmd.SetContext(context.Background())
		if c.interrupted {
			cmd.SetContext(over)
		}
		o := mockOptions{report: mockReportOptions{verify: c.verify}}
		if err := o.play(cmd, over, a, path, replay.Options{}); !errors.Is(err, c.want) || c.verify != strings.Contains(errs.String(), "before the recording had been read") {
			t.Errorf("%+v: %v\n%s", c, err, &errs)
		}
	}
}
