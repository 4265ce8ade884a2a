package streamable

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// The duties of an intermediary between an MCP client and a server over HTTP, each with
// the tests that check it. A name with a directory belongs to another package, and
// TestConversations/x is the conversation testdata/talk/x.txt, which TestTalksAreStored
// also passes through the store, an export and an import.
//
// HTTP, all eras:
//
//  1. Stream: every read is forwarded immediately, even the head of a silent stream, and
//     a server's request within a response can be answered.
//  2. Every path, with its raw query.
//  3. Heads unchanged: order, spelling, duplicates, nothing added.
//  4. Content codings pass; a copy is decoded as it arrives.
//  5. Host: the tap's own names become the server's; foreign ones reach a server on
//     loopback unchanged and are refused for other servers; the tap listens on
//     loopback.
//  6. A hang-up of either side is forwarded immediately, and recorded.
//  7. Redirections are not followed; Location on the server's origin becomes the tap's.
//  8. 100-continue, interim responses, trailers, chunks, lengths, keep-alive, any
//     size; nothing is sent twice; a 502 is marked as the tap's.
//  9. Recorded: exchange, stream, frame; also data that is not JSON.
//  10. Secrets are masked before they are recorded.
//  11. Valid events, without lines of the tap itself.
//  12. Sessions of many clients, streams and eras on one listener.
//
// HTTP+SSE: only an absolute endpoint on the server's origin is rewritten.
//
// OAuth: URLs that a client compares are rewritten only on request, and marked.
const duties = `
HTTP 1   TestConversations/sse TestConversations/sse_get TestConversations/chunked_upload TestConversations/early_response TestRecordedBeforeForwarded TestHugeBodies ../../cmd/mcptap/TestTorture ../../peertest/TestConformanceOfMock
HTTP 2   TestConversations/post TestConversations/auth TestConfig ../../cmd/mcptap/TestHTTPRecords
HTTP 3   TestConversations/headers TestConversations/header_added TestConversations/cors TestLargeHeads
HTTP 4   TestContentCodings TestCodedEventsAreRecordedAsTheyCome TestUndecodable TestNestedCodings TestCodedRequest ../../cmd/mcptap/TestTorture
HTTP 5   TestConversations/hosts TestForeignHostInFrontOfARemoteServer TestConfig ../../cmd/mcptap/TestHTTPForOthers
HTTP 6   TestConversations/client_dies TestConversations/server_dies TestConversations/half_close TestServerDiesAtEachByte TestClientDiesAtEachByte TestEndsOfTLS TestClose
HTTP 7   TestConversations/location TestSwapOrigin
HTTP 8   TestConversations/continue TestConversations/expect_refused TestConversations/chunked_upload TestConversations/no_body TestConversations/pipelining TestConversations/http10 TestHugeBodies TestNothingIsSentTwice TestUnreachable TestUpstreamWithTLS TestProxy
HTTP 9   TestConversations/strange_server TestConversations/unasked TestConversations/alien TestConversations/dead_session TestFirstByte ../../cmd/mcptap/TestTalksAreStored
HTTP 10  TestConversations/masks TestConversations/keep_secrets ../../redact/record/TestMaskedFields ../../redact/record/TestMaskedURLs ../../redact/record/TestMaskedJSON TestSecretBodiesThatCannotBeMasked ../../redact/record/FuzzMaskJSON ../../cmd/mcptap/TestSecretsDoNotReachTheDisk
HTTP 11  TestConversations/sse TestLargeEvents TestManyStreams ../../tap/TestSSESplitter ../../tap/TestParseServerSentEvent
HTTP 12  TestManyClients TestManyStreams ../../cmd/mcptap/TestManyStreamsAreStored ../../tap/session/TestSessions ../../cmd/mcptap/TestSessionsOfARecording
SSE      TestConversations/endpoint TestConversations/endpoint_split TestConversations/endpoint_localhost TestConversations/endpoint_plain
OAuth    TestConversations/auth TestConversations/auth_off TestSwapMetadata ../../peertest/TestConformanceOfClient
framing  TestConversations/refused TestConversations/refused_chunk FuzzRequestsAreReadAsOthersDo FuzzResponsesAreReadAsOthersDo TestChunksDoNotMatter
sockets  TestConversations/websocket TestConversations/websocket_cut TestConversations/upgrade_refused TestSocketMessages TestSocketsOfALibrary
`

// Each test that the table names exists.
func TestEachDutyHasTests(t *testing.T) {
	sources := map[string]string{}
	named := 0
	for line := range strings.Lines(duties) {
		for _, name := range strings.Fields(line) {
			dir, test := filepath.Split(name)
			if strings.HasPrefix(name, "TestConversations/") {
				dir, test = "", "TestConversations"
				if _, err := os.Stat(filepath.Join("testdata/talk", strings.TrimPrefix(name, "TestConversations/")+".txt")); err != nil {
					t.Error(err)
				}
			}
			if !strings.HasPrefix(test, "Test") && !strings.HasPrefix(test, "Fuzz") {
				continue
			}
			if _, read := sources[dir]; !read {
				sources[dir] = testsIn(t, dir)
			}
			if named++; !strings.Contains(sources[dir], "\nfunc "+test+"(") {
				t.Errorf("there is no test %s", name)
			}
		}
	}
	if named < 60 {
		t.Errorf("the table names %d tests", named)
	}
}

// testsIn returns the test files of a directory.
func testsIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %q: %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		all.Write(text)
	}
	return all.String()
}

// A request whose connection breaks before the response is not sent twice, whatever its
// method, on that connection or another.
func TestNothingIsSentTwice(t *testing.T) {
	for _, method := range []string{"GET", "POST", "DELETE"} {
		s := newStage(t, nil)
		// An answered request comes first: then proxies assume that the connection
		// was stale, and retry.
		s.Say(">", `GET /1 HTTP/1.1\r\nHost: {host}\r\n\r\n`)
		s.Say("<", `HTTP/1.1 204 No Content\r\n\r\n`)
		s.Say(">", method+` /2 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{}`)
		s.Say("server close", "")
		if got, err := io.ReadAll(s.Client); len(got) > 0 || err != nil {
			t.Errorf("%s: the client got %q, %v", method, got, err)
		}
		s.Client.Close()
		s.Ended()
		// Connections are accepted in order, so one of the tap would come before
		// this one.
		c, err := net.Dial("tcp", s.Up.Addr().String())
		must(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "the test\n")
		must(t, err)
		next := s.Accept()
		must(t, next.SetDeadline(time.Now().Add(rawtalk.Patience)))
		line, err := bufio.NewReader(next).ReadString('\n')
		if err != nil || line != "the test\n" {
			t.Errorf("%s: the server was sent %q, %v", method, line, err)
		}
		next.Close()
		if e := s.rec.events(tap.EventEnd); len(e) != 2 || e[1].By != byServer || !strings.Contains(e[1].Error, "before the response began") {
			t.Errorf("%s: ended with %+v", method, e)
		}
	}
}

// A server that sends a request within its response gets the client's answer on another
// connection, although the response is not over.
func TestServerRequestWithinResponse(t *testing.T) {
	s := newStage(t, nil)
	s.Say(">", `POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 8\r\n\r\n{"id":1}`)
	s.Say("<", `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\ndata: {"method":"elicit..."}\n\r\n`)
	s.Say("<", `1\r\n\n\r\n`)
	first, firstServer := s.Client, s.Server
	s.Client, s.Server = s.Connect(), nil
	s.Say(">", `POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n{"id":10}`)
	s.Say("<", `HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n`)
	must(t, errors.Join(s.Client.Close(), s.Server.Close()))
	s.Client, s.Server = first, firstServer
	s.Say("<", `10\r\ndata: {"id":1}\n\n\r\n0\r\n\r\n`)
	records := s.finish()
	if strings.Contains(records, "error=") || strings.Count(records, "to_client event") != 2 || strings.Index(records, "#2 end") > strings.Index(records, `#1 to_client event data: {"id":1}`) {
		t.Errorf("recorded\n%s", records)
	}
}

// The error for an invalid proxy setting contains the setting, with its password:
// neither the client nor the recording gets it.
func TestProxySettingStaysSecret(t *testing.T) {
	tp, rec := begin(t, "https://mcp.example.com/mcp", func(c *Config) {
		c.Proxy = func(*url.URL) (*url.URL, error) {
			return nil, &url.Error{Op: "parse", URL: "http://me:s3cret@%zz", Err: url.EscapeError("%zz")} // as url.Parse returns it
		}
	})
	resp, err := http.Post(tp.URL(), "application/json", strings.NewReader("{}"))
	must(t, err)
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Body.Close()
	said := string(body)
	for _, e := range rec.events(tap.EventResponse) {
		said += e.Error
	}
	if resp.StatusCode != 502 || !strings.Contains(said, "HTTPS_PROXY") || strings.Contains(said, "s3cret") {
		t.Errorf("%s: %s", resp.Status, said)
	}
}
