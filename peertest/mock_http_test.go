package peertest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"
)

// TestMockHTTPPairs plays each scenario with a server over HTTP, and with its mock over HTTP.
func TestMockHTTPPairs(t *testing.T) {
	needPeers(t)
	tapBinary(t)
	sample := sampled(t)
	for _, s := range webServers {
		for _, name := range s.clients {
			if sample && (!smoke[name+"/"+s.name] || s.name == "everything-sse") {
				continue
			}
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				testMockHTTPPair(t, webClient(name), s)
			})
		}
	}
}

func testMockHTTPPair(t *testing.T, c clientUnderTest, s webServer) {
	live, file := recordHTTP(t, c, s)
	mocked := mockHTTP(t, c, s, file, s.transport == "sse")
	compare(t, live, mocked)
}

// recordHTTP plays a scenario with a server through `mcptap http`.
func recordHTTP(t *testing.T, c clientUnderTest, s webServer) (live transcript, file string) {
	t.Helper()
	dir := t.TempDir()
	// If it names its own URL, it uses the one that clients use.
	tap := tapHTTP(t, dir, s.start(t, ""), "--keep-secrets")
	live = playHTTP(t, c, s, tap.line)
	return live, endTap(t, tap, dir)
}

// mockHTTP plays a scenario with a mock over HTTP, which must report no failures.
func mockHTTP(t *testing.T, c clientUnderTest, s webServer, file string, events bool) transcript {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.ndjson")
	args := []string{tapBinary(t), "mock", file, "--listen", "127.0.0.1:0", "--json", "--report", report, "--force"}
	if s.loses {
		// It sends related messages on two connections. Only the time between them preserves the
		// order, and the brisk pace leaves little of it.
		args = append(args, "--pace", "recorded")
	}
	m := start(t, true, nil, args...)
	url, dir := mockURL(t, m.line, events), t.TempDir()
	var tap *background
	if s.loses { // the client's transcript does not contain the order of its streams
		tap = tapHTTP(t, dir, url, "--keep-secrets")
		url = tap.line
	}
	mocked := playHTTP(t, c, s, url)
	if tap != nil {
		live, mock := readHTTP(t, file), readHTTP(t, endTap(t, tap, dir))
		if live.progress == 0 || mock.progress != live.progress {
			t.Errorf("%d notifications of progress from the server, %d from its mock", live.progress, mock.progress)
		}
	}
	if code, printed := m.stop(), givenUp.ReplaceAllString(m.stderr.String(), ""); code != 0 || printed != "" {
		t.Errorf("the mock returned %d and wrote %q", code, printed)
	}
	passed(t, report)
	return mocked
}

// givenUp matches the lines about requests for whose response mcp-go's client stopped waiting without a
// cancellation.
var givenUp = regexp.MustCompile(`(?m)^mcptap: mock: tools/call trigger-long-running-operation \(frame \d+\) has no response in the recording and gets none\n`)

// mockURL returns the URL that a mock has printed.
func mockURL(t *testing.T, line string, events bool) string {
	t.Helper()
	var listening struct {
		URL       string `json:"url"`
		EventsURL string `json:"events_url"`
	}
	if err := json.Unmarshal([]byte(line), &listening); err != nil || listening.URL == "" {
		t.Fatalf("%v: %q", err, line)
	}
	if events {
		return listening.EventsURL
	}
	return listening.URL
}

// The transports of recording and mock do not matter: a stdio recording is served over Streamable HTTP
// and HTTP+SSE, and the reverse.
func TestMockAcrossTransports(t *testing.T) {
	needLong(t)
	needPeers(t)
	tapBinary(t)
	names := []string{"v1-legacy", "v2-legacy", "go-2025-06-18", "go-auto"}
	for _, c := range clients() {
		if !contains(names, c.name) {
			continue
		}
		for _, s := range servers() {
			if s.name == "memory" || s.name == "filesystem" { // they cover nothing in addition to the others
				continue
			}
			t.Run(c.name+"/"+s.name+" from stdio", func(t *testing.T) {
				t.Parallel()
				fromStdio(t, c, s)
			})
		}
	}
	for _, s := range webServers {
		for _, name := range s.clients {
			if contains(names, name) && (s.name == "everything" || s.name == "gosdk" || s.name == "gosdk-stateless" || s.name == "everything-sse") {
				t.Run(name+"/"+s.name+" to stdio", func(t *testing.T) {
					t.Parallel()
					toStdio(t, webClient(name), s)
				})
			}
		}
	}
}

// fromStdio records on stdio, and plays over HTTP.
func fromStdio(t *testing.T, c clientUnderTest, s serverUnderTest) {
	recs := t.TempDir()
	live := play(t, c, s, func(argv []string) []string {
		return append([]string{tapBinary(t), "stdio", "--dir", recs, "--label", c.name + "-" + s.name, "--"}, argv...)
	})
	file := longest(t, recs)
	transports := []string{"http", "sse"}
	if c.name == "go-auto" {
		transports = transports[:1] // over HTTP+SSE it does not survive its own probe for 2026-07-28
	}
	for _, transport := range transports {
		mocked := mockHTTP(t, c, webServer{name: s.name, transport: transport, scenario: s.name, modern: s.modern}, file, transport == "sse")
		compareSession(t, live, mocked)
	}
}

// toStdio records over HTTP, and plays on stdio.
func toStdio(t *testing.T, c clientUnderTest, s webServer) {
	live, file := recordHTTP(t, c, s)
	report := filepath.Join(t.TempDir(), "report.ndjson")
	mocked := play(t, c, serverUnderTest{name: s.scenario, modern: s.modern, argv: func(string) []string { return nil }}, func([]string) []string {
		return []string{tapBinary(t), "mock", file, "--report", report, "--force"}
	})
	compareSession(t, live, mocked)
	passed(t, report)
}

// compareSession compares what belongs to the session.
func compareSession(t *testing.T, live, mocked transcript) {
	t.Helper()
	for _, tr := range []transcript{live, mocked} {
		for _, kind := range append(append([]string{"closed"}, unplayed...), racy...) {
			delete(tr, kind)
		}
	}
	compare(t, live, mocked)
}
