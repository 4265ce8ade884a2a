package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// TestErrors is the table of invalid queries.
func TestErrors(t *testing.T) {
	lines := strings.Split(readFile(t, "testdata/errors.txt"), "\n")
	tried := 0
	for i, line := range lines {
		q, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		tried++
		e := parseError(t, q)
		if e == nil {
			continue
		}
		if want := lines[i+2]; e.Error() != want {
			t.Errorf("%s\n got %s\nwant %s", q, e, want)
		}
		if want := q + "\n" + strings.TrimPrefix(lines[i+1], "  "); e.Caret() != want {
			t.Errorf("got\n%s\nwant\n%s", e.Caret(), want)
		}
	}
	if tried < 50 {
		t.Errorf("only %d queries tried", tried)
	}
}

// parseError returns what is wrong with a query, nil if nothing is.
func parseError(t *testing.T, q string) *Error {
	t.Helper()
	_, err := Parse(q)
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%.200s: no error", q)
	}
	return e
}

// TestErrorsBeyondText has invalid queries that a text file cannot hold.
func TestErrorsBeyondText(t *testing.T) {
	for _, c := range []struct{ name, query, want, caret string }{
		{"control characters", "\x1b[2Jfoo:", "", ""},
		{"in a value", "is:\x1b[2J\u202e", `is: unknown word "\x1b[2J\u202e" at column 4: the words are error, slow, pending, orphan, unmatched, cancelled, cancel, late, retry, interim, progress, log, invalid, nested, duplicate, unsolicited, batch, finding, truncated`,
			"is:\\x1b[2J\\u202e\n   ^^^^^^^^^^^^^"},
		{"a timeout", "is:timeout", `is: unknown word "timeout" at column 4: for a timeout: is:cancelled or is:pending; the words are error, slow, pending, orphan, unmatched, cancelled, cancel, late, retry, interim, progress, log, invalid, nested, duplicate, unsolicited, batch, finding, truncated`,
			"is:timeout\n   ^^^^^^^"},
		{"in a suggestion", "foob:\x1b\u3164", "unknown key \"foob:\" at column 1: the keys are " + strings.Join(keyNames(), " ") + ` (as text: "foob:\x1b\u3164")`,
			"foob:\\x1b\\u3164\n^^^^^"},
		{"a newline", "a\n|", "| is not an operator at column 3: write OR, or foo,bar; as text: \"|\"", "a\\n|\n   ^"},
		{"not UTF-8", "foo \xff bar", "the query is not UTF-8 at column 5", "foo \\xff bar\n    ^^^^"},
		{"a replacement character is", "\ufffd", "", ""},
		{"too long", strings.Repeat("a ", MaxQuery), "the query is longer than 4 KiB at column 4097", "…" + strings.Repeat("a ", 60) + "…\n" + strings.Repeat(" ", 61) + strings.Repeat("^", 60)},
		{"too deep", strings.Repeat("(", 2000) + "a" + strings.Repeat(")", 2000), "more than 100 groups inside one another at column 101",
			"…" + strings.Repeat("(", 120) + "…\n" + strings.Repeat(" ", 61) + "^"},
		{"deep enough", strings.Repeat("(", MaxDepth) + "a" + strings.Repeat(")", MaxDepth), "", ""},
		{"many negations", strings.Repeat("NOT ", 1000) + "a", "", ""},
		{"wide characters", "天気 \"雨", "unclosed quote at column 4: close it with \"; inside, \\\" is a quote and \\\\ a backslash", "天気 \"雨\n     ^^^"},
		{"between wide characters", strings.Repeat("天", 50) + " is:x " + strings.Repeat("気", 50),
			`is: unknown word "x" at column 55: the words are error, slow, pending, orphan, unmatched, cancelled, cancel, late, retry, interim, progress, log, invalid, nested, duplicate, unsolicited, batch, finding, truncated`,
			"…" + strings.Repeat("天", 19) + " is:x " + strings.Repeat("気", 20) + "…\n" + strings.Repeat(" ", 43) + "^"},
		{"too long to be quoted", "foo:" + strings.Repeat("天", 50), "unknown key \"foo:\" at column 1: the keys are " + strings.Join(keyNames(), " ") + ` (as text: "…")`,
			"foo:" + strings.Repeat("天", 19) + "…\n^^^^"},
		{"a long wide word", "is:" + strings.Repeat("é", 31), "is: unknown word \"" + strings.Repeat("é", 30) + "…\" at column 4: the words are error, slow, pending, orphan, unmatched, cancelled, cancel, late, retry, interim, progress, log, invalid, nested, duplicate, unsolicited, batch, finding, truncated",
			"is:" + strings.Repeat("é", 30) + "…\n   " + strings.Repeat("^", 30)},
		{"a quoted number", `seq:"a\"b"`, `invalid number "a"b" at column 5: write it in digits, as in 17`, "seq:\"a\\\"b\"\n    ^^^^^^"},
		{"a long word", "is:" + strings.Repeat("x", 3000), "is: unknown word \"" + strings.Repeat("x", 60) + "…\" at column 4: the words are error, slow, pending, orphan, unmatched, cancelled, cancel, late, retry, interim, progress, log, invalid, nested, duplicate, unsolicited, batch, finding, truncated",
			"is:" + strings.Repeat("x", 60) + "…\n   " + strings.Repeat("^", 60)},
		{"many repetitions", "/((a{100}){100}){100}/", "bad regular expression: invalid repeat count at column 5: at most 1000 repetitions are allowed", "/((a{100}){100}){100}/\n    ^^^^^"},
	} {
		if c.want == "" {
			if _, err := Parse(c.query); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		e := parseError(t, c.query)
		if e == nil {
			continue
		}
		if e.Error() != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, e, c.want)
		}
		if e.Caret() != c.caret {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, e.Caret(), c.caret)
		}
	}
}

// checkError fails if an error could affect a terminal, or has no text.
func checkError(t *testing.T, e *Error) {
	t.Helper()
	if e.Pos < 0 || e.Len < 0 || e.Pos+e.Len > len(e.Query) {
		t.Errorf("%q: bytes %d to %d of %d", e.Query, e.Pos, e.Pos+e.Len, len(e.Query))
	}
	lines := strings.Split(e.Caret(), "\n")
	if len(lines) != 2 || strings.Trim(lines[1], " ^") != "" {
		t.Errorf("%q: carets are %q", e.Query, lines)
	}
	for _, s := range append(lines, e.Error()) {
		if !escape.Clean(s) {
			t.Errorf("%q: %q is unsafe on a terminal", e.Query, s)
		}
	}
	if e.Problem == "" {
		t.Errorf("%q: an error without text", e.Query)
	}
}
