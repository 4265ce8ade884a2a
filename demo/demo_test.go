package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
)

// A wire is what crossed in each direction.
type wire struct{ toServer, toClient []string }

// drive holds a session through tee and returns what crossed.
func drive(t *testing.T, revision string) wire {
	t.Helper()
	dir := t.TempDir()
	start := time.Now()
	err := Drive(t.Context(), revision, []string{exe(t), "tee", dir}, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(start).Round(time.Millisecond))
	return wire{readLines(t, filepath.Join(dir, toServer)), readLines(t, filepath.Join(dir, toClient))}
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

// tally counts the lines of one direction by what they are. Answers are
// counted by how they end.
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

// What both sessions have.
func sharedCalls() map[string]int {
	return map[string]int{
		"tools/list": 6, "resources/list": 4, "resources/templates/list": 1, "prompts/list": 1,
		"prompts/get": 2, "completion/complete": 2, "resources/read": 4,
		"notifications/cancelled": 1,
	}
}

func sharedNotices() map[string]int {
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
	for _, c := range []struct {
		revision           string
		toServer, toClient map[string]int // on top of what both have
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
			checkTally(t, "to the client", tally(t, first.toClient), with(sharedNotices(), c.toClient))

			// Documentation shows these recordings, so they must come out alike.
			second := drive(t, c.revision)
			if !slices.Equal(first.toServer, second.toServer) {
				t.Errorf("to the server:\n%s", firstDifference(first.toServer, second.toServer))
			}
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

// Drive is only worth its while as a test of the tap if it notices.
func TestDriveNoticesABadTap(t *testing.T) {
	t.Parallel()
	faults := []struct{ revision, fault, says string }{
		{Handshake, `drop "progress":2`, "progress"},
		{Handshake, `late "progress":4`, "progress"},
		{Handshake, `twice notifications/message`, "log"},
		{Handshake, `drop notifications/resources/updated`, "subscription"},
		{Handshake, `drop notifications/tools/list_changed`, "list_changed"},
		{Handshake, `edit São Sao`, "resources"},
		{Handshake, `drop "isError":true`, "failures"},
		{Handshake, `drop sampling/createMessage`, "server requests"},
		{Handshake, `drop stderr`, "closing"},
		{Handshake, `exit 3`, "closing"},
		{Stateless, `edit "requestState":"eyJ "requestState":"eyI`, "input_required"},
		{Stateless, `drop notifications/cancelled`, "cancellation"},
		{Stateless, `drop notifications/subscriptions/acknowledged`, "opening"},
		{Stateless, `edit subscriptionId subscriptionI`, "subscription"},
	}
	if longtest.Sampled(t) {
		faults = []struct{ revision, fault, says string }{faults[2], faults[5], faults[10]}
	}
	// A lost frame is noticed by waiting in vain for 5 s, so these run side by
	// side, more of them than there are processors.
	var all sync.WaitGroup
	slots := make(chan struct{}, 5)
	for _, c := range faults {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			err := Drive(t.Context(), c.revision, []string{exe(t), "tee", t.TempDir(), c.fault}, nil)
			switch {
			case err == nil:
				t.Errorf("%s: nothing was noticed", c.fault)
			case !strings.Contains(err.Error(), c.says):
				t.Errorf("%s: got %v, want a word about %s", c.fault, err, c.says)
			}
		})
	}
	all.Wait()
}

func TestDriveRefuses(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func() error{
		"another revision":  func() error { return Drive(t.Context(), "2024-11-05", []string{exe(t), "serve"}, nil) },
		"no command":        func() error { return Drive(t.Context(), Stateless, nil, nil) },
		"a missing command": func() error { return Drive(t.Context(), Stateless, []string{"/no/such/program"}, nil) },
		"a mute command":    func() error { return Drive(t.Context(), Handshake, []string{exe(t), "-test.run=^$"}, nil) },
	} {
		if run() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
