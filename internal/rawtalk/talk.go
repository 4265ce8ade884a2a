// Package rawtalk plays conversations of raw bytes through an HTTP tap, for tests. It parses the
// text files that describe them (see tap/streamable/testdata/talk/README) and implements the two
// peers.
package rawtalk

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// A Talk is a parsed file.
type Talk struct {
	Head    string // everything before the recording
	Steps   []Step
	Records string
	Set     map[string]bool
}

// A Step is one action of a side, or something that the side expects.
type Step struct {
	Line int
	Verb string // ">", "<", "~", "^", or words such as "client fin"
	Text string
	// Get is what the other side gets, if Other is set. Otherwise it gets Text.
	Get   string
	Other bool
}

// RecordsMark precedes the recording.
const RecordsMark = "-- recorded --\n"

// Parse reads a file.
func Parse(t testing.TB, file string) *Talk {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, records, _ := strings.Cut(string(raw), RecordsMark)
	k := &Talk{Head: head, Records: records, Set: map[string]bool{}}
	for n, line := range strings.Split(head, "\n") {
		var last *Step
		if len(k.Steps) > 0 {
			last = &k.Steps[len(k.Steps)-1]
		}
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "", "#":
		case "set":
			k.Set[rest] = true
		case ">", "<", "~", "^":
			k.Steps = append(k.Steps, Step{Line: n + 1, Verb: mark, Text: rest})
		case "|":
			if last.Other {
				last.Get += rest
			} else {
				last.Text += rest
			}
		case "=":
			last.Other, last.Get = true, rest
		case "client", "server":
			k.Steps = append(k.Steps, Step{Line: n + 1, Verb: line})
		default:
			t.Fatalf("%s:%d: %q is not a step", file, n+1, line)
		}
	}
	return k
}

// Expand replaces the placeholders for addresses. {host} is the value of a Host header on that side
// of the tap.
func Expand(t testing.TB, s, host, tapAt, upAt string) []byte {
	t.Helper()
	_, port, _ := net.SplitHostPort(tapAt)
	return unescaped(t, strings.NewReplacer("{host}", host, "{tap}", tapAt, "{tapport}", port, "{up}", upAt).Replace(s))
}

// Neutral replaces the addresses of one run with placeholders.
func Neutral(text, tapAt, upAt string) string {
	_, port, _ := net.SplitHostPort(tapAt)
	return strings.NewReplacer(tapAt, "{tap}", upAt, "{up}", ":"+port, ":{tapport}").Replace(text)
}

// Escaped returns bytes as one line: line ends and unprintable bytes are escaped as in Go.
func Escaped(p []byte) string {
	var b strings.Builder
	for _, c := range p {
		switch {
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\\':
			b.WriteString(`\\`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescaped is the inverse of Escaped.
func unescaped(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case '\\':
			out = append(out, '\\')
		case 'x':
			var c byte
			if _, err := fmt.Sscanf(s[i+1:i+3], "%02x", &c); err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			out = append(out, c)
			i += 2
		default:
			t.Fatalf("%q: no such escape", s)
		}
	}
	return out
}
