package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
)

// frames reads a fixture. It returns the frames and the secrets between marks.
func frames(t *testing.T, name string) (list []tap.Frame, secrets []string) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	marks := regexp.MustCompile(`(?s)«(.*?)»`)
	for i, file := range a.Files {
		words := strings.Fields(file.Name)
		lane, err := tap.ParseLane(words[1])
		if err != nil {
			t.Fatal(err)
		}
		f := tap.Frame{Seq: uint64(i + 1), Lane: lane}
		if len(words) > 2 {
			if f.Form, err = tap.ParseForm(words[2]); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range marks.FindAllSubmatch(file.Data, -1) {
			secrets = append(secrets, string(m[1]))
		}
		f.Raw = marks.ReplaceAll(file.Data, []byte("$1"))
		list = append(list, f)
	}
	return list, secrets
}

// twice runs a redactor over frames as `mcptap redact` does.
func twice(r *Redactor, list []tap.Frame) (out [][]byte) {
	for i := range list {
		r.Frame(&list[i])
	}
	r.Again()
	for i := range list {
		out = append(out, r.Frame(&list[i]))
	}
	return out
}

func testOptions() Options { return Options{Key: []byte("key")} }

func TestNothingPlantedIsLeft(t *testing.T) {
	list, secrets := frames(t, "corpus.txtar")
	if len(secrets) < 45 {
		t.Fatal(len(secrets))
	}
	out := twice(New(testOptions()), list)
	all := string(bytes.Join(out, nil))
	for _, s := range secrets {
		if s != "4711" && strings.Contains(all, s) {
			t.Errorf("left: %s", s)
		}
	}
	if strings.Contains(strings.ToLower(all), "planted") {
		t.Errorf("a part is left: %s", all)
	}
	for i, f := range list {
		if json.Valid(f.Raw) && !json.Valid(out[i]) {
			t.Errorf("frame %d is no longer JSON: %s", f.Seq, out[i])
		}
	}
}

// The text between the marks is replaced, the text around them is kept.
func TestNothingElseIsTouched(t *testing.T) {
	a, err := txtar.ParseFile("testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	list, _ := frames(t, "corpus.txtar")
	out := twice(New(testOptions()), list)
	pseudonym := `(redacted-[0-9a-f]{12}|-?9[0-9.]*|[A-Za-z0-9+/=]+)`
	for i, file := range a.Files {
		parts := regexp.MustCompile(`(?s)«.*?»`).Split(string(file.Data), -1)
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		want := regexp.MustCompile("^(?s:" + strings.Join(parts, pseudonym) + ")$")
		if !want.Match(out[i]) {
			t.Errorf("frame %d\n%s\nbecame\n%s", i+1, list[i].Raw, out[i])
		}
	}
}

func TestHarmlessIsKept(t *testing.T) {
	list, _ := frames(t, "open.txtar")
	r := New(testOptions())
	for i, got := range twice(r, list) {
		if !bytes.Equal(got, list[i].Raw) {
			t.Errorf("frame %d\n%s\nbecame\n%s", i+1, list[i].Raw, got)
		}
	}
	if f := r.Findings(); len(f) > 0 {
		t.Errorf("%+v", f)
	}
}

func TestACheckFindsNothingAfterwards(t *testing.T) {
	numbers := map[uint64]bool{3: true, 22: true, 23: true, 24: true, 30: true} // of which the frames have some
	list, _ := frames(t, "corpus.txtar")
	opt := testOptions()
	out := twice(New(opt), list)
	again := New(opt)
	opt.Check = true
	before, after := New(opt), New(opt)
	for i := range list {
		if got := before.Frame(&list[i]); !bytes.Equal(got, list[i].Raw) {
			t.Errorf("a check changed frame %d", i+1)
		}
		f := list[i]
		f.Raw = out[i]
		after.Frame(&f)
		if got := again.Frame(&f); !numbers[f.Seq] && !bytes.Equal(got, out[i]) {
			t.Errorf("redacted twice:\n%s\n%s", out[i], got)
		}
	}
	if n := len(before.Findings()); n < 30 {
		t.Errorf("only %d found before", n)
	}
	if f := after.Findings(); len(f) > 0 {
		t.Errorf("found afterwards: %+v", f)
	}
}

// A value always has the same pseudonym, and a different one with another key.
func TestPseudonyms(t *testing.T) {
	line := func(r *Redactor, raw string) string {
		return string(r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(raw)}))
	}
	r := New(testOptions())
	a := line(r, `{"password":"first1"}`)
	if b := line(r, `{"x":{"token":"first1"}}`); a[len(`{"password":`):] != b[len(`{"x":{"token":`):len(b)-1] {
		t.Errorf("%s and %s", a, b)
	}
	if b := line(r, `{"password":"other1"}`); a == b {
		t.Error("two values have one pseudonym")
	}
	if b := line(New(Options{Key: []byte("another")}), `{"password":"first1"}`); a == b {
		t.Error("two keys make one pseudonym")
	}
	for in, want := range map[string]string{`{"pin":-12.50e7}`: `^\{"pin":-99\.9\de7\}$`, `{"pin":0}`: `^\{"pin":9\}$`} {
		if got := line(r, in); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// A check distinguishes secrets from pseudonyms, except for a few numbers.
func TestACheckIsNotFooled(t *testing.T) {
	opt := testOptions()
	made := New(opt)
	opt.Check = true
	const tries = 2000
	rnd := rand.New(rand.NewPCG(3, 4))
	p := &planter{rnd}
	for _, tt := range []struct {
		name, alphabet string
		size           int
		missed         int // at most, of all
	}{
		{"figures", "0123456789", 4, tries / 300}, {"long figures", "0123456789", 8, 1}, {"hexadecimal", hexes, 8, 0},
		{"letters", letters, 4, 0}, {"letters", letters, 6, 0}, {"hexadecimal behind x", "x" + hexes, 5, 0},
	} {
		missed := 0
		for range tries {
			value := p.of(tt.alphabet, tt.size)
			raw := fmt.Sprintf(`{"password":%q}`, value)
			if tt.alphabet[0] == '0' && tt.alphabet != hexes {
				raw = `{"password":1` + value[1:] + `,"pin":` + "1234" + `}`
				if value[0] != '0' {
					raw = `{"password":` + value + `}`
				}
			}
			f := tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(raw)}
			check := made
			*check = Redactor{opt: opt, words: made.words, kinds: made.kinds, namer: made.namer, names: made.names, findings: map[Place]*Finding{}, used: made.used, kept: made.kept}
			check.Frame(&f)
			if len(check.findings) == 0 {
				missed++
			}
			check.opt.Check, check.known = false, known{}
			f.Raw = check.Frame(&f)
			check.opt.Check, check.findings = true, map[Place]*Finding{}
			if check.Frame(&f); len(check.findings) > 0 {
				t.Errorf("%s became %s, and that is found", raw, f.Raw)
			}
		}
		if missed > tt.missed {
			t.Errorf("%s of %d: %d of %d are missed", tt.name, tt.size, missed, tries)
		}
	}
}

// A value that was found by its name is also found without a name, even in earlier
// frames.
func TestKnownValues(t *testing.T) {
	list := []tap.Frame{
		{Seq: 1, Lane: tap.Stderr, Raw: []byte("using s3cr3tvalue now, and 100%25\n")},
		{Seq: 2, Lane: tap.ToServer, Raw: []byte(`{"id":1,"password":"s3cr3tvalue","token":"string"}`)},
		{Seq: 3, Lane: tap.ToClient, Raw: []byte(`{"id":1,"result":"S3CR3TVALUE or s3cr3tvalue, a string"}`)},
	}
	out := twice(New(testOptions()), list)
	if strings.Contains(string(bytes.Join(out, nil)), "s3cr3tvalue") {
		t.Errorf("%s", bytes.Join(out, nil))
	}
	if !strings.Contains(string(out[2]), "S3CR3TVALUE") || !strings.Contains(string(out[2]), "a string") {
		t.Errorf("%s", out[2])
	}
}

// However many values there are, each is found.
func TestManyKnownValues(t *testing.T) {
	r := New(testOptions())
	line := func(raw string) string {
		return string(r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(raw)}))
	}
	for i := range 300 {
		line(fmt.Sprintf(`{"password":"value-%d-x"}`, i))
		for _, j := range []int{0, i / 2, i} {
			if got := line(fmt.Sprintf(`"<value-%d-x> <value-%d-x>"`, j, j)); strings.Contains(got, "value-") {
				t.Fatalf("after %d: %s", i, got)
			}
		}
	}
	for i := range 100_000 { // more than are kept
		r.known.add(fmt.Appendf(nil, "another-%d-x", i))
	}
	if len(r.known.values) > maxKnown || r.known.bytes > maxKnownBytes {
		t.Errorf("%d values, %d bytes", len(r.known.values), r.known.bytes)
	}
}

func TestBase64OfText(t *testing.T) {
	inner := `{"note":"é","password":"plantedInside1"}`
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding, base64.RawStdEncoding} {
		raw := `{"blob":"` + enc.EncodeToString([]byte(inner)) + `","data":"data:application/json;base64,` + enc.EncodeToString([]byte(inner)) + `"}`
		out := New(testOptions()).Frame(&tap.Frame{Seq: 1, Lane: tap.ToClient, Raw: []byte(raw)})
		var got struct{ Blob, Data string }
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{got.Blob, strings.TrimPrefix(got.Data, "data:application/json;base64,")} {
			plain, err := enc.DecodeString(s)
			if err != nil || !regexp.MustCompile(`^\{"note":"é","password":"redacted-[0-9a-f]{12}"\}$`).Match(plain) {
				t.Errorf("%v %s", err, plain)
			}
		}
	}
}

func TestUserRules(t *testing.T) {
	msg := `{"id":1,"method":"tools/call","params":{"arguments":{"customer":{"name":"Ann","age":30,"vip":true},"rows":[["a","b"],["c","d"]],"note":"order 12-345 for bob@example.com"}}}`
	for rule, want := range map[string]string{
		"key:customer":              `"customer":{"name":"R","age":9\d,"vip":true}`,
		"key:cust*":                 `"customer":{"name":"R","age":9\d,"vip":true}`,
		"path:$.params..name":       `"name":"R","age":30`,
		"path:$..rows[*][1]":        `\[\["a","R"\],\["c","R"\]\]`,
		"path:$.params.*.note":      `"note":"R"\}`,
		`pattern:\d\d-\d{3}`:        `"order R for bob@`,
		`pattern:order (\d\d)-\d+`:  `"order R-345 for bob@`,
		`path:$['params']..rows[0]`: `\[\["R","R"\],\["c","d"\]\]`,
	} {
		r, err := ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		opt := testOptions()
		opt.Rules = []Rule{r}
		red := New(opt)
		got := string(red.Frame(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(msg)}))
		if !regexp.MustCompile(strings.ReplaceAll(want, "R", "redacted-[0-9a-f]{12}")).MatchString(got) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s", rule, got)
		}
		if f := red.Findings(); len(f) == 0 || f[0].Rule != rule || !strings.HasPrefix(f[0].Where, "to_server $.params.arguments") {
			t.Errorf("%s: %+v", rule, f)
		}
	}
	batch, _ := ParseRule("path:$.params.x")
	if got := New(Options{Rules: []Rule{batch}}).Frame(&tap.Frame{Seq: 1, Raw: []byte(`[{"params":{"x":"a"}},{"params":{"x":["b"]}}]`), Lane: tap.ToServer}); strings.Count(string(got), "redacted-") != 2 {
		t.Errorf("in a batch: %s", got)
	}
	opt := testOptions()
	opt.Emails = true
	if got := New(opt).Frame(&tap.Frame{Seq: 1, Raw: []byte(msg), Lane: tap.ToServer}); !regexp.MustCompile(`for redacted-[0-9a-f]{12}"`).Match(got) {
		t.Errorf("%s", got)
	}
	head := `{"event":"request","header":[["X-Tenant","acme"],["X-Other","acme"]]}`
	r, _ := ParseRule("header:x-ten*")
	opt = testOptions()
	opt.Rules = []Rule{r}
	if got := New(opt).Frame(&tap.Frame{Seq: 1, Raw: []byte(head)}); !regexp.MustCompile(`\[\["X-Tenant","redacted-[0-9a-f]{12}"\],\["X-Other","acme"\]\]`).Match(got) {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{"", "x", "key:", "what:x", "pattern:(", "path:a", "path:$", "path:$.a[", "path:$..", "key:[", "path:$." + strings.Repeat("a.", 40) + "b"} {
		if _, err := ParseRule(bad); err == nil {
			t.Errorf("%q is a rule", bad)
		}
	}
}

func TestHeader(t *testing.T) {
	r := New(testOptions())
	h := r.Header(tap.Header{
		ID: "0a1b2c3d", Label: "srv-plantedOne1", Command: []string{"srv", "--api-key", "plantedOne1", "--secret=plantedTwo2", "-v", "https://me:plantedThree@h/", "-H", "X-Token: planted four"},
		Upstream: "https://example.com", Dir: "/home/me",
	})
	got := fmt.Sprintf("%+v", h)
	if strings.Contains(got, "planted") || h.Upstream != "https://example.com" || h.Command[1] != "--api-key" || h.Command[4] != "-v" || h.Dir != "/home/me" {
		t.Error(got)
	}
	if len(r.Findings()) != 3 { // the names of one rule, the URL, and the label
		t.Errorf("%+v", r.Findings())
	}
}

// A key in a URL is found wherever the URL is in an argument, and the rest of the URL is kept.
func TestURLsInArguments(t *testing.T) {
	const key = "kJ8sd7Fh2Lq9Xw3Zr5Tn6Yb2"
	for _, arg := range []string{
		"https://h.example/" + key + "/sse", "--url=https://h.example/" + key + "/sse", "--url=https://h.example/sse?key=" + key,
		"URL=https://h.example/" + key + "/sse", "-u=https://h.example/" + key, "--mcp-url=HTTPS://h.example/s/" + key + "/mcp",
		"--server=https://h.example/login?code=" + key + "&page=2", "npx mcp-remote https://h.example/" + key + "/sse --debug",
		`x --url="https://h.example/` + key + `" -v`, "--urls=http://a.example/b,https://h.example/" + key + ",http://c.example/d",
		"--url=https://h.example/sse?state=" + key[:8] + "%2F" + key[8:] + "#top",
	} {
		r := New(testOptions())
		args := strings.Join(r.Args([]string{"srv", arg}), " ")
		event, err := json.Marshal(map[string]any{"event": "start", "command": []string{"srv", arg}})
		if err != nil {
			t.Fatal(err)
		}
		event = New(testOptions()).Frame(&tap.Frame{Seq: 1, Lane: tap.Lifecycle, Raw: event})
		for _, got := range []string{args, string(event)} {
			if strings.Contains(got, key[8:]) || strings.Count(got, "redacted-") != 1 {
				t.Errorf("%s became %s", arg, got)
			}
		}
		before, after, _ := strings.Cut("srv "+strings.Replace(arg, "%2F", "", 1), key)
		if !strings.HasPrefix(args, before) || !strings.HasSuffix(args, after) {
			t.Errorf("%s became %s", arg, args)
		}
	}
	harmless := []string{"--url=https://h.example/v1/mcp/servers?state=open&code=404", "sh", "-c", "curl https://h.example/docs/getting-started && echo https://x.example/"}
	if got := New(testOptions()).Args(harmless); !slices.Equal(got, harmless) {
		t.Errorf("%q became %q", harmless, got)
	}
}

// Content that is not text cannot be searched.
// People paste the list of findings, so it has no secret that is the name of a member.
func TestPlacesHaveNoSecrets(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	for _, check := range []bool{false, true} {
		opt := testOptions()
		opt.Check = check
		r := New(opt)
		r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToClient, Raw: []byte(`{"limits":{"` + key + `":{"password":"plantedPw1"}}}`)})
		found := r.Findings()
		if len(found) != 2 || found[0].Where != "to_client $.limits" || found[1].Where != "to_client $.limits.….password" {
			t.Errorf("check %t: %+v", check, found)
		}
	}
}

func TestNotText(t *testing.T) {
	for _, form := range []tap.Form{tap.FormBody, tap.FormBinary, tap.FormBytes} {
		for _, raw := range []string{"\x1f\x8b\x08\x00\xffplanted", "p\x00l\x00a\x00n\x00t\x00e\x00d\x00"} { // gzip, UTF-16
			r := New(testOptions())
			if got := r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToClient, Form: form, Raw: []byte(raw)}); string(got) != fmt.Sprintf("redacted: %d bytes that are not text were withheld", len(raw)) {
				t.Errorf("%v: %q", form, got)
			}
			if f := r.Findings(); len(f) != 1 || f[0].Rule != "not-text" {
				t.Errorf("%+v", f)
			}
		}
	}
	if got := New(testOptions()).Frame(&tap.Frame{Seq: 1, Lane: tap.Stderr, Raw: []byte("caf\xe9\n")}); string(got) != "caf\xe9\n" {
		t.Errorf("%q", got)
	}
}

// What may be code is not searched for elsewhere.
func TestCodeIsNotKnown(t *testing.T) {
	r := New(testOptions())
	const line = "call []LongWord[int64 and function(x y)"
	r.know(nameRule, []byte("[]LongWord["))
	r.know(nameRule, []byte("function(x y)"))
	if got := r.Frame(&tap.Frame{Seq: 1, Lane: tap.Stderr, Raw: []byte(line)}); string(got) != line {
		t.Errorf("%s becomes %s", line, got)
	}
}

// Two words at one place cause one warning.
func TestKeptPlacesAreListedOnce(t *testing.T) {
	r := New(testOptions())
	twice(r, []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Raw: []byte(call(`{"token":"alphabet"}`))},
		{Seq: 2, Lane: tap.ToServer, Raw: []byte(call(`{"token":"betamaxes"}`))},
		{Seq: 3, Lane: tap.ToServer, Raw: []byte(call(`{"x":"betamaxes"}`))},
		{Seq: 4, Lane: tap.ToServer, Raw: []byte(call(`{"x":"alphabet, betamaxes"}`))},
	})
	want := []Finding{{Place{nameRule, "to_server $.params.arguments.token"}, 3, 3}}
	if got := r.Kept(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
