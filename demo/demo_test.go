package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain runs the server for tests that start it as a command.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func exe(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A crossed holds the lines in each direction.
type crossed struct{ toServer, toClient []string }

// drive runs a session and returns its lines.
func drive(t *testing.T, revision string) crossed {
	t.Helper()
	dir := t.TempDir()
	const between = `tee "$1/to-server" | "$0" serve | tee "$1/to-client"`
	if err := Drive(t.Context(), revision, []string{"sh", "-c", between, exe(t), dir}, func(s string) { t.Log(s) }); err != nil {
		t.Fatal(err)
	}
	return crossed{readLines(t, filepath.Join(dir, "to-server")), readLines(t, filepath.Join(dir, "to-client"))}
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

// tally counts the lines of one direction by method, and responses by outcome.
func tally(t *testing.T, lines []string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, line := range lines {
		var m struct {
			Method string
			ID     json.RawMessage
			Error  json.RawMessage
			Result struct {
				ResultType string
				IsError    bool
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		switch {
		case m.Method != "":
			counts[m.Method]++
		case m.Error != nil:
			counts["(error)"]++
		case m.Result.IsError:
			counts["(isError)"]++
		case m.Result.ResultType == "input_required":
			counts["(input_required)"]++
		default:
			counts["(result)"]++
		}
	}
	return counts
}

func checkTally(t *testing.T, direction string, got, want map[string]int) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if got[k] != want[k] {
			t.Errorf("%s: %s %d times, want %d", direction, k, got[k], want[k])
		}
	}
	for k, n := range want {
		if got[k] == 0 {
			t.Errorf("%s: no %s, want %d", direction, k, n)
		}
	}
}

// sharedCalls are the calls of both sessions.
func sharedCalls() map[string]int {
	return map[string]int{
		"tools/list": 6, "resources/list": 4, "resources/templates/list": 1, "prompts/list": 1,
		"prompts/get": 2, "completion/complete": 2, "resources/read": 4,
		"notifications/cancelled": 1,
	}
}

func sharedResponses() map[string]int {
	return map[string]int{
		"notifications/message": 2, "notifications/tools/list_changed": 2,
		"notifications/resources/list_changed": 2, "notifications/resources/updated": 1,
		"notifications/progress": 7, "(error)": 1, "(isError)": 2,
	}
}

func with(m map[string]int, more map[string]int) map[string]int {
	maps.Copy(m, more)
	return m
}

func TestSessions(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: no shell")
	}
	for _, c := range []struct {
		revision           string
		toServer, toClient map[string]int // in addition to the common ones
	}{
		{Handshake, map[string]int{
			"initialize": 1, "notifications/initialized": 1, "logging/setLevel": 1, "ping": 1,
			"notifications/roots/list_changed": 1, "tools/call": 14,
			"resources/subscribe": 1, "resources/unsubscribe": 1, "(result)": 3,
		}, map[string]int{
			"roots/list": 1, "elicitation/create": 1, "sampling/createMessage": 1, "(result)": 36,
		}},
		{Stateless, map[string]int{
			"server/discover": 1, "tools/call": 16, "subscriptions/listen": 2, "notifications/cancelled": 3,
		}, map[string]int{
			"notifications/subscriptions/acknowledged": 2, "(input_required)": 2, "(result)": 34,
		}},
	} {
		t.Run(c.revision, func(t *testing.T) {
			t.Parallel()
			first := drive(t, c.revision)
			checkTally(t, "to the server", tally(t, first.toServer), with(sharedCalls(), c.toServer))
			checkTally(t, "to the client", tally(t, first.toClient), with(sharedResponses(), c.toClient))

			all := strings.Join(first.toClient, "")
			for _, want := range []string{
				"東京 for 5 days. It has 29.5 °C", `"values":["oslo"]`, `"values":["2026-07-28","2026-07-29"]`, "São Paulo", `\"celsius\": 14.5`,
				`\"high\": 33`, `"type":"image"`, `no station in \"atlantis\"`, "Lima is off by", `\"celsius\": 15.5`, "briefings/briefing.txt: Oslo wakes up to rain",
			} {
				if !strings.Contains(all, want) {
					t.Errorf("nothing to the client contains %s", want)
				}
			}

			// Documentation shows these recordings, so they must not vary. On a busy machine two of the responses
			// may swap.
			second := drive(t, c.revision)
			if !slices.Equal(first.toServer, second.toServer) {
				t.Errorf("to the server:\n%s", firstDifference(first.toServer, second.toServer))
			}
			slices.Sort(first.toClient)
			slices.Sort(second.toClient)
			if !slices.Equal(first.toClient, second.toClient) {
				t.Errorf("to the client:\n%s", firstDifference(first.toClient, second.toClient))
			}
		})
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}

func TestDriveRefuses(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func() error{
		"another revision":  func() error { return Drive(t.Context(), "2024-11-05", []string{exe(t), "serve"}, nil) },
		"no command":        func() error { return Drive(t.Context(), Stateless, nil, nil) },
		"a missing command": func() error { return Drive(t.Context(), Stateless, []string{"/no/such/program"}, nil) },
		"a silent command":  func() error { return Drive(t.Context(), Handshake, []string{exe(t), "-test.run=^$"}, nil) },
	} {
		if run() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
