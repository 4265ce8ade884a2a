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

func (s frames) WriteRaw(w io.Writer, f tap.Frame) error { _, err := w.Write(f.Raw); return err }

func (s *frames) add(lane tap.Lane, raw string) {
	n := uint64(len(*s) + 1)
	*s = append(*s, tap.Frame{Seq: n, At: time.Duration(n) * time.Millisecond, Lane: lane, Raw: []byte(raw), Size: int64(len(raw))})
}

func summary(t *testing.T, src Source, about About) string {
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
	got := summary(t, frames(all), About{
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
		t.Errorf("it differs from %s (rewrite it with -update):\n%s", file, got)
	}
}

var fenceLine = regexp.MustCompile("^(`{3,})([a-z]*)$")

// outside returns what of a text is no code.
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

// withoutSpans takes the code out of a line: from a row of backticks to the next
// one that is as long.
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

// Nothing recorded is markup, mentions anybody, or reaches a terminal as it is.
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
		got := summary(t, s, About{Bundle: "bug.zip", Header: tap.Header{
			ID: word, Label: word, Transport: word, Upstream: word, Program: word, Platform: word, Command: []string{word, word},
		}, Program: word})
		if left := outside(t, got); strings.Contains(left, "EVIL") {
			t.Errorf("%q stands outside of code:\n%s", word, left)
		}
		if strings.ContainsAny(got, "\x1b\u202e\u2028\r") {
			t.Errorf("%q: what cannot be seen is there", word)
		}
		if n := strings.Count(got, "EVIL"); n < 8 {
			t.Errorf("%q is there %d times", word, n)
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

// However long a recording is, a summary is short.
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
	got := summary(t, s, About{Bundle: "bug.zip"})
	if len(got) > 62<<10 { // of the 64 of an issue
		t.Errorf("it has %d bytes", len(got))
	}
	for _, want := range []string{"`tools/call n0`", "`tools/call n299`", "294 calls are left out here.", "- and 280 more", "… cut\n", "`open0`"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in it", want)
		}
	}
}

// A file's name is one word to a shell, and no flag.
func TestCommandQuotes(t *testing.T) {
	for name, want := range map[string]string{
		"bug.mcptap.zip": "mcptap web bug.mcptap.zip ", "a bug.zip": "mcptap web './a bug.zip' ", "$(x);'.zip": `mcptap web './$(x);'\''.zip' `,
		"-x.zip": "mcptap web './-x.zip' ", "a\n`b.zip": "mcptap web './a\\n`b.zip' ",
	} {
		if got := summary(t, frames{}, About{Bundle: name}); !strings.Contains(got, want) {
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
