package client

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// onPipes serves on a pair of pipes.
func onPipes(t *testing.T, s *mcp.Server) func(io.Reader, io.Writer) {
	return func(in io.Reader, out io.Writer) {
		_ = s.Run(t.Context(), &mcp.IOTransport{Reader: io.NopCloser(in), Writer: out.(io.WriteCloser)})
	}
}

// dualEra is a server that speaks both eras over HTTP: requests that name their version are
// stateless.
func dualEra(t *testing.T) string {
	old := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer("") }, nil)
	s := newServer("")
	now := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	return served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "" {
			now.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	}))
}

// TestRevisions plays a session in each revision to the same server: all differences are of class
// expected, also when the new session is played in the old revision.
func TestRevisions(t *testing.T) {
	for _, to := range []jsonrpc.Revision{jsonrpc.Rev20250326, jsonrpc.Rev20250618, jsonrpc.Rev20260728} {
		t.Run(string(to), func(t *testing.T) {
			t.Parallel()
			first := play(t, planned(conversation, nil), patient(), onPipes(t, newServer("")))
			for name, record := range map[string]func(t *testing.T, plan *Plan, opt Options) []tap.Frame{
				"pipes": func(t *testing.T, plan *Plan, opt Options) []tap.Frame {
					return play(t, plan, opt, onPipes(t, newServer("")))
				},
				"http": func(t *testing.T, plan *Plan, opt Options) []tap.Frame {
					return tapped(t, plan, opt, dualEra(t), HTTP)
				},
			} {
				there := patient()
				there.Revision = to
				noted := notes(&there)
				second := record(t, planned(first, nil), there)
				wantExpected(t, name+" there", first, second, *noted, to)
				back := patient()
				back.Revision = jsonrpc.Rev20251125
				noted = notes(&back)
				third := record(t, planned(second, nil), back)
				wantExpected(t, name+" back", second, third, *noted, jsonrpc.Rev20251125)
			}
		})
	}
}

func wantExpected(t *testing.T, name string, first, second []tap.Frame, noted []string, to jsonrpc.Revision) {
	t.Helper()
	r := compared(t, first, second)
	if text := differences(r, diff.Behaviour); text != "" || len(noted) > 0 {
		t.Errorf("%s:\n%s\nnotes %q\n%s", name, text, noted, bodies(second))
	}
	if r.Counts[diff.Expected] == 0 {
		t.Errorf("%s: no difference of class expected", name)
	}
	if r.B.Revision != to {
		t.Errorf("%s: played in %s", name, r.B.Revision)
	}
}

// TestRevisionAgain plays a session of 2026-07-28 over HTTP in the same revision.
func TestRevisionAgain(t *testing.T) {
	opt := patient()
	opt.Revision = jsonrpc.Rev20260728
	first := tapped(t, planned(conversation, nil), opt, dualEra(t), HTTP)
	opt.Revision = ""
	noted := notes(&opt)
	second := tapped(t, planned(first, nil), opt, dualEra(t), HTTP)
	if text := differences(compared(t, first, second), diff.Timing); text != "" || len(*noted) > 0 {
		t.Errorf("%s\nnotes %q\n%s", text, *noted, bodies(second))
	}
	third := play(t, planned(first, nil), opt, onPipes(t, newServer("")))
	if text := differences(compared(t, first, third), diff.Behaviour); text != "" || len(*noted) > 0 {
		t.Errorf("to pipes: %s\nnotes %q\n%s", text, *noted, bodies(third))
	}
	named := false
	for i := range second {
		named = named || strings.Contains(string(second[i].Raw), `"Mcp-Name","greet"`)
	}
	if !named {
		t.Error("the header does not name the tool")
	}
}

// TestUntranslated lists the requests that have no counterpart in another revision.
func TestUntranslated(t *testing.T) {
	frames := lines(`
>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}
{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}}},"serverInfo":{"name":"subject","version":"1.0.0"}}}
>{"jsonrpc":"2.0","method":"notifications/initialized"}
>{"jsonrpc":"2.0","id":2,"method":"tasks/list"}
{"jsonrpc":"2.0","id":2,"result":{"tasks":[]}}
>{"jsonrpc":"2.0","id":3,"method":"ping"}
{"jsonrpc":"2.0","id":3,"result":{}}
`)
	for _, to := range []jsonrpc.Revision{jsonrpc.Rev20260728, jsonrpc.Rev20241105} {
		opt := patient()
		opt.Revision = to
		noted := notes(&opt)
		play(t, planned(frames, nil), opt, onPipes(t, newServer("")))
		if want := "untranslated: tasks/list (#4) has no counterpart in " + string(to); len(*noted) != 1 || (*noted)[0] != want {
			t.Errorf("notes %q, want %q", *noted, want)
		}
	}
}

// TestDialect: the 002 dialect is played as recorded, and in no revision.
func TestDialect(t *testing.T) {
	frames := recorded(t, "dialect-002-tools-healthy")
	opt := patient()
	opt.Revision = jsonrpc.Rev20260728
	err := Play(t.Context(), planned(frames, nil), &wire{serve: mocked(t, frames)}, opt)
	if err != errRevision {
		t.Errorf("%v", err)
	}
}

// TestTasksInAnotherEra: a task of 2025-11-25 is played in 2026-07-28, where tasks are an
// extension, and back.
func TestTasksInAnotherEra(t *testing.T) {
	old := lines(opening + `
>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","task":{"ttl":60000}}}
{"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"t1","status":"working","ttl":60000,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}}}
>{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t1"}}
{"jsonrpc":"2.0","id":3,"result":{"taskId":"t1","status":"completed","ttl":60000,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}}
>{"jsonrpc":"2.0","id":4,"method":"tasks/result","params":{"taskId":"t1"}}
{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
`)
	polls := 0
	now := answering(func(method, id, raw string) (string, error) {
		answer := `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`
		switch {
		case id == "":
			return "", nil
		case method == "tools/call" && strings.Contains(raw, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) && !strings.Contains(raw, `"task":`):
			answer = `{"resultType":"task","taskId":"x9","status":"working","ttlMs":60000,"createdAt":"2026-02-01T00:00:00Z","lastUpdatedAt":"2026-02-01T00:00:00Z"}`
		case method == "tasks/get" && strings.Contains(raw, `"taskId":"x9"`):
			if polls++; polls == 1 {
				answer = `{"resultType":"complete","taskId":"x9","status":"working","ttlMs":60000,"createdAt":"2026-02-01T00:00:00Z","lastUpdatedAt":"2026-02-01T00:00:00Z"}`
			} else {
				answer = `{"resultType":"complete","taskId":"x9","status":"completed","ttlMs":60000,"createdAt":"2026-02-01T00:00:00Z","lastUpdatedAt":"2026-02-01T00:00:00Z","result":{"content":[{"type":"text","text":"done"}]}}`
			}
		}
		return `{"jsonrpc":"2.0","id":` + id + `,"result":` + answer + "}\n", nil
	})
	opt := patient()
	opt.Revision = jsonrpc.Rev20260728
	noted := notes(&opt)
	got := play(t, planned(old, nil), opt, now)
	if text := differences(compared(t, old, got), diff.Breaking); text != "" || len(*noted) > 0 || polls != 2 {
		t.Errorf("%d polls, %s\nnotes %q\n%s", polls, text, *noted, bodies(got))
	}
	opt.Revision = jsonrpc.Rev20251125
	back := play(t, planned(got, nil), opt, mocked(t, old))
	if text := differences(compared(t, got, back), diff.Breaking); text != "" {
		t.Errorf("back: %s\nnotes %q\n%s", text, *noted, bodies(back))
	}
}
