package peertest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The server answers three concurrent calls in an order other than that of the calls. Each of many runs
// with the mock gets the answers in the recorded order. The recorded pace keeps the order visible
// through a tap on a busy machine.
func TestMockConcurrent(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	runs := 20
	if sampled(t) {
		runs = 2
	}
	legacy, modern := webServers[0], webServers[3]
	legacy.scenario, modern.scenario = "concurrent", "concurrent-modern"
	for _, x := range []struct {
		client string
		server webServer
	}{
		{"v1-legacy", legacy}, {"v2-legacy", legacy}, {"go-auto", legacy}, {"mcpgo-2025-06-18", legacy},
		{"v2-2026-07-28", modern}, {"go-auto", modern}, {"mcpgo-auto", modern},
	} {
		t.Run(x.client+"/"+x.server.name, func(t *testing.T) {
			c := webClient(x.client)
			live, file := recordHTTP(t, c, x.server)
			want := answered(t, file)
			if len(want) != 3 || !slices.IsSorted(want) {
				t.Fatalf("the server answered %q, want the first call last", want)
			}
			for run := range runs {
				m := start(t, true, nil, tapBinary(t), "mock", file, "--listen", "127.0.0.1:0", "--json", "--strict", "--pace", "recorded")
				dir := t.TempDir()
				tap := tapHTTP(t, dir, mockURL(t, m.line, false), "--keep-secrets")
				compare(t, live, playHTTP(t, c, x.server, tap.line))
				if got := answered(t, endTap(t, tap, dir)); !slices.Equal(got, want) {
					t.Errorf("run %d: the mock answered %q, the server %q", run, got, want)
				}
				if code := m.stop(); code != 0 || m.stderr.Len() > 0 {
					t.Errorf("run %d: the mock returned %d and wrote %q", run, code, m.stderr.String())
				}
			}
		})
	}
}

// answered returns the texts of tool results in a recording, in the order of arrival.
func answered(t *testing.T, file string) (texts []string) {
	t.Helper()
	for line := range strings.Lines(string(output(t, "export", file))) {
		var f struct{ Type, Lane, Raw string }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		at := strings.IndexByte(f.Raw, '{')
		if f.Type != "frame" || f.Lane != "to_client" || at < 0 {
			continue
		}
		var m struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.NewDecoder(strings.NewReader(f.Raw[at:])).Decode(&m); err != nil {
			t.Fatalf("%v: %s", err, f.Raw)
		}
		if len(m.Result.Content) > 0 {
			texts = append(texts, m.Result.Content[0].Text)
		}
	}
	return texts
}
