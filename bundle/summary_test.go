package bundle

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

var update = flag.Bool("update", false, "rewrite the golden file")

type frames []tap.Frame

func (s frames) Frame(seq uint64) (tap.Frame, error) {
	for _, f := range s {
		if f.Seq == seq {
			return f, nil
		}
	}
	return tap.Frame{}, errors.New("no such frame")
}

func (s frames) Frames(uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		for _, f := range s {
			if !yield(f, nil) {
				return
			}
		}
	}
}

func (s *frames) add(lane tap.Lane, raw string) {
	n := uint64(len(*s) + 1)
	*s = append(*s, tap.Frame{Seq: n, At: time.Duration(n) * time.Millisecond, Lane: lane, Raw: []byte(raw), Size: int64(len(raw))})
}

func summarize(t *testing.T, src Source, about About) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteSummary(context.Background(), &out, src, about); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSummary(t *testing.T) {
	data, err := os.ReadFile("../cmd/mcptap/testdata/fixture/weather.txtar")
	if err != nil {
		t.Fatal(err)
	}
	head, all, err := text.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	got := summarize(t, frames(all), About{
		Header: head.Header, Status: "cut", Gaps: []tap.Range{{From: 20, To: 22}}, Program: "mcptap 1.0.0", Replaced: 1, Bundle: "bug.mcptap.zip",
	})
	const file = "testdata/weather.md"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the summary differs from %s (rewrite it with -update):\n%s", file, got)
	}
}

var fenceLine = regexp.MustCompile("^(`{3,})([a-z]*)$")

// outside returns the parts of a text that are not code.
func outside(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case fence == "" && m != nil:
			fence = m[1]
		case fence != "" && m != nil && m[2] == "" && len(m[1]) >= len(fence):
			fence = ""
		case fence == "":
			out.WriteString(withoutSpans(line) + "\n")
		}
	}
	if fence != "" {
		t.Error("a fence is not closed")
	}
	return out.String()
}

// withoutSpans removes the code spans of a line: from a run of backticks to the next one of
// the same length.
func withoutSpans(line string) string {
	row := regexp.MustCompile("`+")
	out := ""
	for {
		at := row.FindStringIndex(line)
		if at == nil {
			return out + line
		}
		out += line[:at[0]]
		fence, rest := line[at[0]:at[1]], line[at[1]:]
		end := -1
		for _, m := range row.FindAllStringIndex(rest, -1) {
			if m[1]-m[0] == len(fence) {
				end = m[1]
				break
			}
		}
		if end < 0 {
			return out + line[at[0]:]
		}
		line = rest[end:]
	}
}

// TestHostileSummary checks that recorded text is neither markup nor unescaped.
func TestHostileSummary(t *testing.T) {
	for _, evil := range []string{
		"```\nEVIL", "````` EVIL", "`EVIL", "EVIL`", "a ``EVIL`` b", "\n\n# EVIL", "<b>EVIL</b>", "@EVIL #12", "|EVIL|", "[EVIL](http://x)",
		"\n```\n```\n/EVIL", "~~~\nEVIL", "\\`EVIL", "\x1b[2JEVIL\u202e", strings.Repeat("`", 60) + "EVIL", " EVIL ", "\xff\xfeEVIL", "\r\nEVIL\u2028EVIL",
		"<!-- EVIL", "--> EVIL", "![EVIL](http://example.com/x.png)", "<img src=x onerror=EVIL>", "https://EVIL.example.com", "<details><summary>EVIL",
		"$$EVIL$$", "[x]: EVIL", "    EVIL", "- [ ] EVIL", "| a |\n|---|\n| EVIL |", "\u2066EVIL\u2069", "closes #1 EVIL", "```mermaid\nEVIL\n```", "</code>EVIL", "*EVIL*",
	} {
		word := evil
		quoted := string(appendJSON(word))
		var s frames
		s.add(tap.Stderr, word)
		s.add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+quoted+`,"clientInfo":{"name":`+quoted+`,"version":`+quoted+`}}}`)
		s.add(tap.ToServer, `{"jsonrpc":"2.0","id":2,"method":`+quoted+`,"params":{"name":`+quoted+`}}`)
		s.add(tap.ToClient, `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":`+quoted+`}}`)
		s.add(tap.ToServer, `{"jsonrpc":"2.0","id":3,"method":`+quoted+`}`)
		s.add(tap.ToClient, word)
		s.add(tap.Lifecycle, `{"event":"broken","lane":`+quoted+`}`)
		s.add(tap.Lifecycle, `{"event":"exit","signal":`+quoted+`}`)
		s.add(tap.Lifecycle, `{"event":"request","method":"POST","target":"/mcp"}`)
		s.add(tap.ToServer, `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
		s.add(tap.Lifecycle, `{"event":"response","status":200}`)
		s.add(tap.Lifecycle, `{"event":"end","by":"server","error":`+quoted+`}`)
		for i := len(s) - 4; i < len(s); i++ {
			s[i].Exchange = 1
		}
		got := summarize(t, s, About{Bundle: "bug.zip", Header: tap.Header{
			ID: word, Label: word, Transport: word, Upstream: word, Program: word, Platform: word, Command: []string{word, word},
		}, Program: word})
		if left := outside(t, got); strings.Contains(left, "EVIL") {
			t.Errorf("%q is outside code:\n%s", word, left)
		}
		if strings.ContainsAny(got, "\x1b\u202e\u2028\r") {
			t.Errorf("%q: invisible characters left", word)
		}
		if n := strings.Count(got, "EVIL"); n < 8 {
			t.Errorf("%q occurs %d times", word, n)
		}
	}
}

func appendJSON(s string) []byte {
	var out bytes.Buffer
	out.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.Bytes()
}

// A summary is short, however long the recording is.
func TestLongSummary(t *testing.T) {
	var s frames
	big := strings.Repeat("x", 50_000)
	for i := range 300 {
		s.add(tap.Stderr, "line "+big+"\n")
		s.add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"n%d","arguments":%q}}`, i, i, big))
		s.add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":"o%d","method":"open%d"}`, i, i))
		s.add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":%q}}`, i, big))
		s.add(tap.ToClient, strings.Repeat("[", 9000)+strings.Repeat("1,", 20_000)+"1"+strings.Repeat("]", 9000))
		s.add(tap.ToClient, "no message "+big)
	}
	got := summarize(t, s, About{Bundle: "bug.zip"})
	if len(got) > 62<<10 { // an issue has 64 KiB
		t.Errorf("the summary has %d bytes", len(got))
	}
	for _, want := range []string{"`tools/call n0`", "`tools/call n299`", "294 calls left out here.", "- and 280 more", "… cut\n", "`open0`"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary does not contain %s", want)
		}
	}
}

// TestCommandQuotes checks that a file name is a single shell word, and not a flag.
func TestCommandQuotes(t *testing.T) {
	for name, want := range map[string]string{
		"bug.mcptap.zip": "mcptap web bug.mcptap.zip ", "a bug.zip": "mcptap web './a bug.zip' ", "$(x);'.zip": `mcptap web './$(x);'\''.zip' `,
		"-x.zip": "mcptap web './-x.zip' ", "a\n`b.zip": "mcptap web './a\\n`b.zip' ",
	} {
		if got := summarize(t, frames{}, About{Bundle: name}); !strings.Contains(got, want) {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestSummaryEndsWithItsContext(t *testing.T) {
	var s frames
	s.add(tap.ToServer, "x")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := WriteSummary(ctx, io.Discard, s, About{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A lost recording has frames that cannot be read again.
type lost struct{ frames }

func (lost) Frame(uint64) (tap.Frame, error) { return tap.Frame{}, io.ErrUnexpectedEOF }

// TestSummaryOfUnreadableFrames checks that an unreadable frame that is quoted causes an error.
func TestSummaryOfUnreadableFrames(t *testing.T) {
	var call, invalid frames
	call.add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"a"}`)
	call.add(tap.ToClient, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`)
	invalid.add(tap.ToServer, "x")
	for _, s := range []frames{call, invalid} {
		if err := WriteSummary(context.Background(), io.Discard, lost{s}, About{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
}

// TestHTTPFailure checks that a call refused by HTTP shows the response and its body, as
// `mcptap show` does.
func TestHTTPFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want []string
	}{
		"body":    {"out of `memory`", []string{"Response, frame 3: `HTTP 500 Internal Server Error`\n\nIts body, frame 4, 15 B:\n\n```text\nout of `memory`\n```\n"}},
		"no body": {"", []string{"Response, frame 3: `HTTP 500 Internal Server Error`\n\n"}},
	} {
		var s frames
		add := func(lane tap.Lane, form tap.Form, raw string) {
			s.add(lane, raw)
			s[len(s)-1].Exchange, s[len(s)-1].Form = 1, form
		}
		add(tap.Lifecycle, tap.FormLine, `{"event":"request","conn":1,"proto":"HTTP/1.1","method":"POST","target":"/mcp"}`)
		add(tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)
		add(tap.Lifecycle, tap.FormLine, `{"event":"response","proto":"HTTP/1.1","status":500,"reason":"Internal Server Error"}`)
		if tt.body != "" {
			add(tap.ToClient, tap.FormBody, tt.body)
		}
		add(tap.Lifecycle, tap.FormLine, `{"event":"end"}`)
		got := summarize(t, s, About{Header: tap.Header{Transport: "http"}})
		for _, want := range tt.want {
			if !strings.Contains(got, want) || strings.Contains(got, `"event"`) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
	}
}

func TestSummaryOfAcceptedRequest(t *testing.T) {
	var s frames
	for _, f := range []tap.Frame{
		{Lane: tap.Lifecycle, Raw: []byte(`{"event":"request","method":"POST","target":"/mcp","header":[["Mcp-Session-Id","x"]]}`)},
		{Lane: tap.ToServer, Form: tap.FormBody, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)},
		{Lane: tap.Lifecycle, Raw: []byte(`{"event":"response","status":202}`)},
		{Lane: tap.Lifecycle, Raw: []byte(`{"event":"end","by":"server"}`)},
	} {
		s.add(f.Lane, string(f.Raw))
		s[len(s)-1].Exchange, s[len(s)-1].Form = 1, f.Form
	}
	if got, want := summarize(t, s, About{Header: tap.Header{Transport: "http"}}), "in frame 2: `HTTP 202 without a response`, waited "; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestSummaryOfOneFrame(t *testing.T) {
	var s frames
	s.add(tap.ToServer, `{"jsonrpc":"2.0","method":"a"}`)
	if got, want := summarize(t, s, About{}), "; 1 frame in "; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestSummaryOfNextPage(t *testing.T) {
	var s frames
	s.add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.add(tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"c"}}`)
	if got, want := summarize(t, s, About{}), "did not request the next page\n\n- `tools/list`, in frame 1\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}
