package wrap

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var testTap = Tap{Program: "/opt/mcp tap/mcptap", Listen: "127.0.0.1:8931"}

// testPlaces are the files of the fixtures.
var testPlaces = map[string]Place{
	"claude-desktop": {Path: "x.json", Sections: mcpServers}, "claude-code": {Path: "x.json", Sections: claudeCode},
	"cursor": {Path: "x.json", Sections: mcpServers}, "vscode": {Path: "x.json", Sections: vscodeFile},
	"vscode-settings": {Path: "x.json", Sections: vscodeUser}, "windsurf": {Path: "x.json", Sections: mcpServers},
	"zed": {Path: "x.json", Sections: zedServers}, "codex": {Path: "x.toml", Sections: tomlTables},
	"gemini": {Path: "x.json", Sections: mcpServers}, "project": {Path: "x.json", Sections: mcpServers},
}

func testPlace(toml bool, sections [][]string) Place {
	if toml {
		return Place{Path: "x.toml", Sections: sections}
	}
	return Place{Path: "x.json", Sections: sections}
}

// wrapAll wraps all entries without a problem.
func wrapAll(t *testing.T, p Place, src string, tap Tap) (string, *File) {
	t.Helper()
	f, err := parse([]byte(src), p)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range f.Entries() {
		if e.Problem != "" {
			continue
		}
		if _, err := f.Wrap(i, tap); err != nil {
			t.Fatal(err)
		}
	}
	return string(f.Bytes()), f
}

func fixtures(t *testing.T) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 9 {
		t.Fatal(names, err)
	}
	all := map[string]*txtar.Archive{}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = a
	}
	return all
}

func TestClientsFiles(t *testing.T) {
	spellings := map[string]func(string) string{
		"as it is":         func(s string) string { return s },
		"CRLF":             func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"BOM":              func(s string) string { return byteOrderMark + s },
		"no final newline": func(s string) string { return strings.TrimSuffix(s, "\n") },
	}
	for name, a := range fixtures(t) {
		p, ok := testPlaces[strings.TrimSpace(string(a.Files[0].Data))]
		if !ok {
			t.Fatal(name, "has no place")
		}
		for how, spell := range spellings {
			t.Run(name+"/"+how, func(t *testing.T) {
				before, after := spell(string(a.Files[1].Data)), spell(string(a.Files[2].Data))
				got, f := wrapAll(t, p, before, testTap)
				if got != after {
					t.Errorf("wrapped:\n%s\nwant:\n%s", got, after)
				}
				if f.Diff() == "" {
					t.Error("no diff")
				}
				if twice, f := wrapAll(t, p, got, Tap{Program: "other", Listen: "[::1]:1"}); twice != got || f.Diff() != "" {
					t.Errorf("wrapped twice:\n%s", twice)
				}
				back, err := without([]byte(got), p)
				if err != nil || string(back) != before {
					t.Errorf("unwrapped, %v:\n%s\nwant:\n%s", err, back, before)
				}
			})
		}
	}
}

// TestOneEntryAtATime wraps each entry alone: the others are unchanged.
func TestOneEntryAtATime(t *testing.T) {
	for name, a := range fixtures(t) {
		p := testPlaces[strings.TrimSpace(string(a.Files[0].Data))]
		before := a.Files[1].Data
		f, err := parse(before, p)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range f.Entries() {
			if e.Problem != "" {
				continue
			}
			one, _ := parse(before, p)
			if changed, err := one.Wrap(i, testTap); !changed || err != nil {
				t.Fatal(name, e.Name, changed, err)
			}
			now, err := parse(one.Bytes(), p)
			if err != nil {
				t.Fatal(name, e.Name, err)
			}
			for j, was := range f.Entries() {
				is := now.Entries()[j]
				if is.Wrapped != (i == j) || strings.Join(is.Command, "|") != strings.Join(was.Command, "|") || is.URL != was.URL {
					t.Errorf("%s, %s wrapped: %s is %+v, was %+v", name, e.Name, was.Name, is, was)
				}
			}
			if changed, err := now.Unwrap(i); !changed || err != nil || string(now.Bytes()) != string(before) {
				t.Errorf("%s, %s: %v %v\n%s", name, e.Name, changed, err, now.Bytes())
			}
		}
	}
}

func TestTheTapsOwnFlags(t *testing.T) {
	p := testPlaces["cursor"]
	before := `{"mcpServers":{"a":{"command":"npx","args":["x"]},"b":{"command":"y"}}}`
	tap := Tap{Program: `C:\mcptap.exe`, Flags: []string{"--dir", `C:\rec`}}
	got, f := wrapAll(t, p, before, tap)
	want := `{"mcpServers":{"a":{"command":"C:\\mcptap.exe","args":["stdio", "--dir", "C:\\rec", "--", "npx", "x"]},` +
		`"b":{"command":"C:\\mcptap.exe","args":["stdio","--dir","C:\\rec","--","y"]}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if back, err := without([]byte(got), p); err != nil || string(back) != before {
		t.Errorf("%v %s", err, back)
	}
	if d := f.Diff(); d != "@@ line 1 @@\n-"+before+"\n+"+want+"\n" {
		t.Error(d)
	}
}

// TestByHand checks entries that were wrapped by hand.
func TestByHand(t *testing.T) {
	p := testPlaces["cursor"]
	for _, c := range []struct{ entry, unwrapped, problem string }{
		{`{"command":"mcptap","args":["stdio","--","npx","-y","s"]}`, `{"command":"npx","args":["-y","s"]}`, ""},
		{`{"command":"mcptap","args": ["--dir","d","stdio","--label","l","--","npx"]}`, `{"command":"npx","args": []}`, ""},
		{`{"command":"mcptap","args":["stdio","npx","-y","s"]}`, "", "without --"},
		{`{"command":"mcptap","args":["stdio","--"]}`, "", "without --"},
		{`{"command":"mcptap","args":["stdio",7]}`, "", "not a string"},
		{`{"command":"mcptap","args":"stdio"}`, "", "not a list"},
		{`{"command":"mcptap","args":["mock","x.ndjson"]}`, `{"command":"mcptap","args":["mock","x.ndjson"]}`, ""},
		{`{"command":"mcptap-server","args":["stdio"]}`, `{"command":"mcptap-server","args":["stdio"]}`, ""},
		{`{"url":"ftp://x/"}`, "", "not an http"},
		{`{"url":"https://me:pw@x/"}`, "", "password"},
		{`{"settings":{}}`, "", "neither"},
	} {
		src := `{"mcpServers":{"a":` + c.entry + `}}`
		f, err := parse([]byte(src), p)
		if err != nil {
			t.Fatal(err)
		}
		e := f.Entries()[0]
		if c.problem != "" {
			if !strings.Contains(e.Problem, c.problem) {
				t.Errorf("%s: problem %q", c.entry, e.Problem)
			}
			if _, err := f.Wrap(0, testTap); err == nil && !e.Wrapped {
				t.Errorf("%s was wrapped", c.entry)
			}
			continue
		}
		back, err := without([]byte(src), p)
		if want := `{"mcpServers":{"a":` + c.unwrapped + `}}`; err != nil || string(back) != want {
			t.Errorf("%s: %v %s", c.entry, err, back)
		}
	}
}

// TestEqualNames checks that the last of two equal names is used, as clients do.
func TestEqualNames(t *testing.T) {
	f, err := parse([]byte(`{"mcpServers":{"a":{"command":"old"}},"mcpServers":{"a":{"command":"x","command":"y"},"a":{"command":"z"}}}`), testPlace(false, mcpServers))
	if err != nil || len(f.Entries()) != 1 || f.Entries()[0].Command[0] != "z" {
		t.Fatalf("%v %+v", err, f.Entries())
	}
}

func TestBrokenFiles(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct {
		src  string
		toml bool
		want string
	}{
		{`{"a":`, false, "line 1, column 6: parsing value: unexpected EOF"},
		{"{\n  \"a\" 1}", false, "line 2, column 7: invalid character '1' after object name"},
		{`{"a":1 "b":2}`, false, "expecting ',' or '}'"},
		{`{"a":"x`, false, "parsing string: unexpected EOF"},
		{`{"a":"\`, false, "parsing string: unexpected EOF"},
		{"{\"a\":\"x\ny\"}", false, "line 1, column 6: invalid literal"},
		{`{"a":"\x"}`, false, "line 1, column 6: invalid literal"},
		{`{} x`, false, "after top-level value"},
		{`{/*`, false, "comment"},
		{`{,}`, false, "at start of value"},
		{`[]`, false, "not an object"},
		{`{"a":` + deep, false, "too deep"},
		{"a = " + deep, true, "nested more than"},
		{"a = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000), true, "too deep"},
		{"a = " + strings.Repeat("{a=", 100_000), true, "nested more than"},
		{strings.Repeat("a.", 1000) + "a = 1", true, "too deep"},
		{"a = \"x", true, "unterminated"},
		{"a = \"\"\"x", true, "not terminated"},
		{"a = \"\\", true, "need a character"},
		{"a = \"\\q\"", true, "escape"},
		{"a = \"\\u12\"", true, "escape"},
		{"a = 1 = 2", true, "expected newline"},
		{"a 1", true, "expected '='"},
		{"= 1", true, "start of key"},
		{"[a", true, "expected ']'"},
		{"[[a]", true, "expected ']]'"},
		{"a = 1\n[a.b]", true, "line 2, column 2: \"a\" is not a table"},
		{"a = [1 2", true, "expected ',' or ']'"},
		{"a =", true, "expected value"},
	} {
		_, err := parse([]byte(c.src), testPlace(c.toml, mcpServers))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30q: %v, want %q", c.src, err, c.want)
		}
	}
	for _, empty := range []string{"", "\n", byteOrderMark, "{}", "# c\n"} {
		if f, err := parse([]byte(empty), testPlace(strings.HasPrefix(empty, "#"), mcpServers)); err != nil || len(f.Entries()) > 0 {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestTOMLTexts(t *testing.T) {
	for src, want := range map[string]string{
		`"a\tb\u00e9\U0001F600\x41"`: "a\tbé😀A",
		`'a\tb'`:                     `a\tb`,
		"\"\"\"\na\\\n   b\"\"\"":    "ab",
		`""""quoted""""`:             `"quoted"`,
		`'''it's'''`:                 "it's",
		`""`:                         "",
	} {
		root, err := parseTOML("k = " + src + " # c\n")
		if err != nil || root.child("k").text != want {
			t.Errorf("%s: %v %+v", src, err, root.child("k"))
		}
	}
}

// FuzzWrap checks that unwrapping restores any file.
func FuzzWrap(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range names {
		if a, err := txtar.ParseFile(name); err == nil {
			f.Add(a.Files[1].Data, strings.Contains(name, "codex"))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, toml bool) {
		p := testPlace(toml, anySection)
		file, err := parse(src, p)
		if err != nil {
			return
		}
		for i, e := range file.Entries() {
			if e.Wrapped || e.Problem != "" {
				return
			}
			_, _ = file.Wrap(i, testTap) // entries that cannot be wrapped are unchanged
		}
		back, err := without(file.Bytes(), p)
		if err != nil || string(back) != string(src) {
			t.Errorf("%v\n%q\n%q\n%q", err, src, file.Bytes(), back)
		}
	})
}
