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

// The duties of whatever stands between an MCP client and a server over HTTP, each
// with the tests that hold the tap to it. A name with a directory before it is of
// another package, and TestTalks/x is the conversation testdata/talk/x.txt, which
// TestTalksAreStored sends through the store, an export and an import besides.
//
// HTTP, all eras:
//
//  1. Stream: every read is forwarded at once, the head of a silent stream too, and
//     what a server asks within an answer can be answered.
//  2. Every path, with its raw query.
//  3. Heads as they are: order, spelling, duplicates, nothing added.
//  4. Content codings pass; a copy is decoded as it comes.
//  5. Host: the tap's own names become the server's, foreign ones reach a server on
//     loopback as they are and are refused in front of another; the tap listens on
//     loopback.
//  6. Who hangs up, hangs up on the other side, at once, and is recorded.
//  7. Redirections are not followed; Location on the server's origin becomes the tap's.
//  8. 100-continue, interim responses, trailers, chunks, lengths, keep-alive, any
//     size; nothing is sent twice; 502 in the tap's own name.
//  9. Recorded: exchange, stream, frame; what is no JSON too.
//  10. Secrets are masked before they are recorded.
//  11. Valid events, and no line of the tap itself among them.
//  12. Sessions of many clients, streams and eras on one listener.
//
// HTTP+SSE: only an absolute endpoint on the server's origin is rewritten.
//
// OAuth: what a client compares is rewritten on request alone, and marked.
const duties = `
HTTP 1   TestTalks/sse TestTalks/sse_get TestTalks/chunked_upload TestTalks/early_response TestRecordedBeforeForwarded TestHugeBodies ../../cmd/mcptap/TestTorture ../../peertest/TestConformanceOfMock
HTTP 2   TestTalks/post TestTalks/auth TestConfig ../../cmd/mcptap/TestHTTPRecords
HTTP 3   TestTalks/headers TestTalks/header_added TestTalks/cors TestLargeHeads
HTTP 4   TestContentCodings TestCodedEventsAreRecordedAsTheyCome TestUndecodable TestCodingsOnEachOther TestCodedRequest ../../cmd/mcptap/TestTorture
HTTP 5   TestTalks/hosts TestForeignHostInFrontOfARemoteServer TestConfig ../../cmd/mcptap/TestHTTPForOthers
HTTP 6   TestTalks/client_dies TestTalks/server_dies TestTalks/half_close TestServerDiesAtEachByte TestClientDiesAtEachByte TestEndsOfTLS TestClose
HTTP 7   TestTalks/location TestSwapOrigin
HTTP 8   TestTalks/continue TestTalks/expect_refused TestTalks/chunked_upload TestTalks/no_body TestTalks/pipelining TestTalks/http10 TestHugeBodies TestNothingIsSentTwice TestUnreachable TestUpstreamWithTLS TestProxy
HTTP 9   TestTalks/strange_server TestTalks/unasked TestTalks/alien TestTalks/dead_session TestFirstByte ../../cmd/mcptap/TestTalksAreStored
HTTP 10  TestTalks/masks TestTalks/keep_secrets ../../redact/record/TestMaskedFields ../../redact/record/TestMaskedURLs ../../redact/record/TestMaskedJSON TestSecretBodiesThatCannotBeMasked ../../redact/record/FuzzMaskJSON ../../cmd/mcptap/TestSecretsDoNotReachTheDisk
HTTP 11  TestTalks/sse TestLargeEvents TestManyStreams ../../tap/TestSSESplitter ../../tap/TestParseServerSentEvent
HTTP 12  TestManyClients TestManyStreams ../../cmd/mcptap/TestManyStreamsAreStored ../../tap/session/TestSessions ../../cmd/mcptap/TestSessionsOfARecording
SSE      TestTalks/endpoint TestTalks/endpoint_split TestTalks/endpoint_localhost TestTalks/endpoint_plain
OAuth    TestTalks/auth TestTalks/auth_off TestSwapMetadata ../../peertest/TestConformanceOfClient
framing  TestTalks/refused TestTalks/refused_chunk FuzzRequestsAreReadAsOthersDo FuzzResponsesAreReadAsOthersDo TestChunksDoNotMatter
sockets  TestTalks/websocket TestTalks/websocket_cut TestTalks/upgrade_refused TestSocketMessages TestSocketsOfALibrary
`

// Each test that the table names is there.
func TestEachDutyHasTests(t *testing.T) {
	sources := map[string]string{}
	named := 0
	for line := range strings.Lines(duties) {
		for _, name := range strings.Fields(line) {
			dir, test := filepath.Split(name)
			if strings.HasPrefix(name, "TestTalks/") {
				dir, test = "", "TestTalks"
				if _, err := os.Stat(filepath.Join("testdata/talk", strings.TrimPrefix(name, "TestTalks/")+".txt")); err != nil {
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

// A request whose connection dies before there is an answer is not sent again, of
// whatever method it is, on that connection or another.
func TestNothingIsSentTwice(t *testing.T) {
	for _, method := range []string{"GET", "POST", "DELETE"} {
		s := newStage(t, nil)
		// An answered request comes first: that is when proxies believe that a
		// connection had gone stale, and try again.
		s.Say(">", `GET /1 HTTP/1.1\r\nHost: {host}\r\n\r\n`)
		s.Say("<", `HTTP/1.1 204 No Content\r\n\r\n`)
		s.Say(">", method+` /2 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{}`)
		s.Say("server close", "")
		if got, err := io.ReadAll(s.Client); len(got) > 0 || err != nil {
			t.Errorf("%s: the client got %q, %v", method, got, err)
		}
		s.Client.Close()
		s.Ended()
		// Connections are accepted in their order, so that one of the tap's would
		// come before this one.
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

// A server that asks the client something within its answer gets what the client
// says to that on another connection, though the answer is not over.
func TestAskedWithinAnAnswer(t *testing.T) {
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

// What is wrong with the setting of a proxy is said by an error that repeats it,
// with its password: neither the client nor the recording learns that.
func TestProxySettingStaysSecret(t *testing.T) {
	tp, rec := begin(t, "https://mcp.example.com/mcp", func(c *Config) {
		c.Proxy = func(*url.URL) (*url.URL, error) {
			return nil, &url.Error{Op: "parse", URL: "http://me:s3cret@%zz", Err: url.EscapeError("%zz")} // as url.Parse says it
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
