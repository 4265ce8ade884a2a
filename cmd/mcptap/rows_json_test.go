package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// Every line is JSON for strict parsers, whatever the ids are, and different ids stay different.
func TestJSONWithHostileIDs(t *testing.T) {
	ids := []string{`1`, `1.0`, `"1"`, `"\ud800"`, `"\uDC00 x"`, `"\ud800\ud800"`, `"\ud83c\udf26"`, `"\ufffd"`, "\"\ufffd\"", `"\\ud800"`,
		"\"\xff\"", "\"\xfe\"", "\"\xed\xa0\x80\"", "\"\u202e\"", `"\u0000"`, `"\"\\ud800\""`, `12345678901234567890.10e-3`}
	var frames []tap.Frame
	for _, id := range ids {
		frames = append(frames, tap.Frame{Lane: tap.ToServer, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"m"}` + "\n")})
	}
	path, seen := record(t, frames), map[string]string{}
	show := func(args ...string) []string {
		a, out := testApp(nil)
		if code := a.run(append([]string{"show", path, "--json"}, args...)); code != 0 {
			t.Fatalf("exit %d: %s", code, out)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	lines := show()
	for i := range ids {
		lines = append(lines, show(fmt.Sprint(i+1))...)
	}
	for _, line := range lines {
		if err := strictJSON(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var j struct {
			Type   string
			Seq    int
			ID     json.RawMessage `json:"id"`
			Raw    *string         `json:"id_raw"`
			Base64 []byte          `json:"id_base64"`
		}
		if err := json.Unmarshal([]byte(line), &j); err != nil || j.Type == "summary" {
			continue
		}
		id, form := string(j.ID), "id "
		switch {
		case j.Raw != nil:
			id, form = *j.Raw, "raw "
		case j.Base64 != nil:
			id, form = string(j.Base64), "base64 "
		}
		want := ids[j.Seq-1]
		if form == "id " {
			want = strings.ReplaceAll(want, "\u202e", `\u202e`) // the same string, safe on a terminal
		}
		if id != want {
			t.Errorf("%s: the id reads as %q, want %q", line, id, want)
		}
		if other, ok := seen[form+id]; ok && other != ids[j.Seq-1] {
			t.Errorf("%q and %q look the same", other, ids[j.Seq-1])
		}
		seen[form+id] = ids[j.Seq-1]
	}
	for _, line := range strings.Split(string(export(t, path, "ndjson")), "\n") {
		if err := strictJSON(line); line != "" && err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// strictJSON returns an error for strings in a line that strict parsers reject.
func strictJSON(line string) error {
	if !json.Valid([]byte(line)) {
		return fmt.Errorf("not JSON")
	}
	for b := []byte(line); ; {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			return nil
		}
		b = b[i:]
		n := 1
		for b[n] != '"' {
			if b[n] == '\\' {
				n++
			}
			n++
		}
		if _, err := safe.Unquote(b[:n+1]); err != nil {
			return fmt.Errorf("%s: %w", b[:n+1], err)
		}
		b = b[n+1:]
	}
}
