package diff

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// replaced replaces a text in the frames that contain it. The test fails if none does.
func replaced(t *testing.T, frames []tap.Frame, old, new string, most int) []tap.Frame {
	t.Helper()
	out := slices.Clone(frames)
	n := 0
	for i := range out {
		if n < most && bytes.Contains(out[i].Raw, []byte(old)) {
			out[i].Raw = bytes.Replace(out[i].Raw, []byte(old), []byte(new), 1)
			out[i].Size = int64(len(out[i].Raw))
			n++
		}
	}
	if n == 0 {
		t.Errorf("no frame contains %s", old)
	}
	return out
}

// TestChangedServer compares recordings of real servers with edited ones that simulate another
// build of the server: each change is found, with its class, and nothing else is reported.
func TestChangedServer(t *testing.T) {
	all := corpus(t, "real-")
	flow, memory, demo, everything := all["real-everything-flow"], all["real-memory"], all["real-demo-2025-11-25"], all["real-everything-subscribe"]
	for _, c := range []struct {
		name string
		a, b []tap.Frame
		want []string
	}{
		{"a renamed tool", memory, replaced(t, memory, `"name":"read_graph",`, `"name":"get_graph",`, 1), []string{
			`breaking removed response $.result.tools["read_graph"]`, `behaviour added response $.result.tools["get_graph"]`,
		}},
		{"a renamed tool that is called", memory, replaced(t, memory, `"name":"read_graph"`, `"name":"get_graph"`, 99), []string{
			`breaking removed response $.result.tools["read_graph"]`, `behaviour added response $.result.tools["get_graph"]`, `behaviour changed request $.params.name`,
		}},
		{"a new required argument", memory, replaced(t, memory, `"required":["query"]`, `"required":["query","limit"]`, 1), []string{
			`breaking added response $.result.tools["search_nodes"].inputSchema.required | "limit" is now required`,
		}},
		{"another description", memory, replaced(t, memory, "Search for nodes", "Look for nodes", 1), []string{
			`behaviour changed response $.result.tools["search_nodes"].description`,
		}},
		{"another text", flow, replaced(t, flow, "The sum of", "The total of", 1), []string{"behaviour changed response $.result.content[0].text"}},
		{"a number in JSON in a text", demo, replaced(t, demo, `\"high\":20,`, `\"high\":21,`, 1), []string{
			"behaviour changed response $.result.content[0].text.(json).days[0].high",
		}},
		{"another error", everything, replaced(t, everything, `"code":-32602`, `"code":-32002`, 1), []string{"behaviour changed response $.error.code"}},
		{"other words for an error", everything, replaced(t, everything, "nowhere not found", "nowhere is not there", 1), []string{"cosmetic changed response $.error.message"}},
		{"a slower call", flow, slowed(flow, `"id":10}`), []string{"timing slower response $.time"}},
		{"a dropped notification", flow, without(flow, `"progress":3,"total":5`), []string{"behaviour removed notification $.params"}},
		{"another order of content", demo, replaced(t, demo, rain+","+picture(demo), picture(demo)+","+rain, 1), []string{"behaviour moved response $.result.content[0]"}},
		{"crossed ids", flow, replaced(t, replaced(t, replaced(t, flow, `0.1 seconds, Steps: 1."}]},"jsonrpc":"2.0","id":9}`, `0.1 seconds, Steps: 1."}]},"jsonrpc":"2.0","id":99}`, 1),
			`0.4 seconds, Steps: 2."}]},"jsonrpc":"2.0","id":8}`, `0.4 seconds, Steps: 2."}]},"jsonrpc":"2.0","id":9}`, 1), `"id":99}`, `"id":8}`, 1), []string{
			"behaviour changed response $.result.content[0].text", "behaviour changed response $.result.content[0].text",
			"behaviour removed notification $.params", "behaviour removed notification $.params",
			"behaviour added notification $.params | after the end of its call", "behaviour added notification $.params | after the end of its call",
			"timing slower response $.time", "timing faster response $.time",
		}},
		{"an answer less", flow, without(flow, "The sum of"), []string{"breaking removed response $.result"}},
		{"a call that fails", flow, replaced(t, flow, `is 9007199254740992."}]}`, `is 9007199254740992."}],"isError":true}`, 1), []string{"breaking changed response $.result"}},
	} {
		got := verdicts(compare(t, c.a, c.b, Options{}))
		if !verdictsFit(got, c.want) {
			t.Errorf("%s:\n  got %s\n want %s", c.name, strings.Join(got, "\n      "), strings.Join(c.want, "\n      "))
		}
	}
}

func TestCrossedAnswersAreNamed(t *testing.T) {
	r, _ := compareScript(t, `
		rev 2025-06-18
		>@one tools/call {"name":"f","arguments":{"n":1}}
		>@two tools/call {"name":"f","arguments":{"n":2}}
		>@three tools/call {"name":"f","arguments":{"n":3}}
		a<@one {"content":[{"type":"text","text":"first"}]}
		a<@two {"content":[{"type":"text","text":"second"}]}
		b<@two {"content":[{"type":"text","text":"first"}]}
		b<@one {"content":[{"type":"text","text":"second"}]}
		a<@three {"content":[{"type":"text","text":"third"}]}
		b<@three {"content":[{"type":"text","text":"fourth"}]}`, Options{})
	var reasons []string
	for _, d := range r.Differences {
		reasons = append(reasons, d.Reason)
	}
	want := []string{"swapped: it was the response to #5", "swapped: it was the response to #4", ""}
	if !slices.Equal(reasons, want) {
		t.Errorf("%q, want %q", reasons, want)
	}
}

// slowed delays the frame that contains a text, and all after it, by 5 s.
func slowed(frames []tap.Frame, text string) []tap.Frame {
	out := slices.Clone(frames)
	by := time.Duration(0)
	for i := range out {
		if out[i].Lane == tap.ToClient && bytes.Contains(out[i].Raw, []byte(text)) {
			by = 5 * time.Second
		}
		if !bytes.Contains(out[i].Raw, []byte("Long running")) { // requests sent earlier are answered at their recorded time
			out[i].At += by
		}
	}
	return out
}

// without removes the frame that contains a text.
func without(frames []tap.Frame, text string) []tap.Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f tap.Frame) bool { return bytes.Contains(f.Raw, []byte(text)) })
}

// rain is the first block of a result of the demo, picture the second.
const rain = `{"type":"text","text":"Rain around Oslo, 50 km:"}`

func picture(frames []tap.Frame) string {
	for _, f := range frames {
		if _, rest, ok := bytes.Cut(f.Raw, []byte(rain+",")); ok {
			whole, _, _ := bytes.Cut(rest, []byte("}"))
			return string(whole) + "}"
		}
	}
	return ""
}

// TestOneServerInTwoRevisions compares recordings of the same server in 2025-11-25 and in
// 2026-07-28. The only difference that is not due to the revision is the client's: in the first
// session it also sent a notification about changed roots.
func TestOneServerInTwoRevisions(t *testing.T) {
	all := corpus(t, "real-demo")
	for _, side := range [][2]string{{"real-demo-2025-11-25", "real-demo-2026-07-28"}, {"real-demo-2026-07-28", "real-demo-2025-11-25"}} {
		r := compare(t, all[side[0]], all[side[1]], Options{})
		for _, d := range r.Differences {
			if d.Class != Expected && (d.In != InClientResponse || d.Message != "roots/list" || d.By != "client") {
				t.Errorf("%s, %s: %s %s %s", side[0], d.Method, d.Class, d.Path, d.What)
			}
			if d.Class == Expected && (d.Reason == "" || d.Page == "" && d.Path != "$.revision") {
				t.Errorf("%s is expected without a reason", d.Path)
			}
		}
		if r.Counts[Expected] < 20 || r.Same+r.Alike != r.Calls-1 {
			t.Errorf("%d expected, %d of %d calls alike", r.Counts[Expected], r.Same+r.Alike, r.Calls)
		}
	}
}

// TestBrokenSessions compares each pair of a healthy and a broken session of the corpus, in both
// directions.
func TestBrokenSessions(t *testing.T) {
	all := corpus(t, "")
	n := 0
	for name, healthy := range all {
		kind, ok := strings.CutSuffix(name, "-healthy")
		broken := all[kind+"-broken"]
		if !ok || broken == nil {
			continue
		}
		n++
		forth, back := compare(t, healthy, broken, Options{}), compare(t, broken, healthy, Options{})
		if len(forth.Differences) == 0 || len(back.Differences) == 0 || forth.Calls != back.Calls {
			t.Errorf("%s: %d and %d differences, %d and %d calls", kind, len(forth.Differences), len(back.Differences), forth.Calls, back.Calls)
		}
	}
	if n < 40 {
		t.Errorf("%d pairs", n)
	}
}

// FuzzSessions compares any two conversations: nothing panics, and each equals itself.
func FuzzSessions(f *testing.F) {
	for _, name := range []string{"2026-07-28-chains-broken", "2025-11-25-tasks-broken", "2025-03-26-batch-broken", "dialect-002-cancel-broken", "2026-07-28-listen-healthy"} {
		var b strings.Builder
		for _, frame := range corpus(f, name)[name] {
			if frame.Lane == tap.ToServer || frame.Lane == tap.ToClient {
				b.WriteString(map[tap.Lane]string{tap.ToServer: ">", tap.ToClient: "<"}[frame.Lane])
				b.Write(frame.Raw)
			}
		}
		f.Add(b.String(), ">{}\n")
	}
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := conversed(x), conversed(y)
		r := compare(t, a, a, Options{})
		if len(r.Differences) > 0 {
			t.Errorf("a session differs from itself: %s", reportLines(r))
		}
		forth, back := compare(t, a, b, Options{}), compare(t, b, a, Options{})
		if (len(forth.Differences) == 0) != (len(back.Differences) == 0) {
			t.Errorf("forth:\n%s\nback:\n%s", reportLines(forth), reportLines(back))
		}
		compare(t, a, b, Options{Baselines: []*Session{recorded("b", b)}})
	})
}

// conversed returns lines as frames: those that begin with > are from the client.
func conversed(text string) (frames []tap.Frame) {
	for line := range strings.Lines(text) {
		lane := tap.ToClient
		if rest, ok := strings.CutPrefix(line, ">"); ok {
			lane, line = tap.ToServer, rest
		} else {
			line = strings.TrimPrefix(line, "<")
		}
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(len(frames)), Lane: lane, Raw: []byte(line), Size: int64(len(line))})
	}
	return frames
}
