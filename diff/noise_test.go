package diff

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
)

// compareScript compares the sides a and b of a script, with c and d as baselines if the script has
// lines for them.
func compareScript(t *testing.T, text string, opt Options) (*Report, []string) {
	t.Helper()
	lines, want := parseTruth(text)
	baselines := slices.ContainsFunc(lines, func(l string) bool { return l[0] == 'c' || l[0] == 'd' })
	for _, side := range []byte{'c', 'd'} {
		if !baselines {
			break
		}
		opt.Baselines = append(opt.Baselines, recorded(string(side), play(t, side, lines)))
	}
	return compare(t, play(t, 'a', lines), play(t, 'b', lines), opt), want
}

func TestBaselinesShowWhatIsNoise(t *testing.T) {
	data, err := os.ReadFile("testdata/noise.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases := txtar.Parse(data).Files
	if len(cases) < 10 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		r, want := compareScript(t, string(c.Data), Options{})
		if got := verdicts(r); !verdictsFit(got, want) {
			t.Errorf("%s:\n  got %s\n want %s", c.Name, strings.Join(got, "; "), strings.Join(want, "; "))
		} else if len(want) == 0 && r.Noise == 0 && !strings.Contains(c.Name, "slow") {
			t.Errorf("%s: nothing was noise", c.Name)
		}
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		a, b, text string
		want       bool
	}{
		{"at 1 in x", "at 2 in x", "at 3 in x", true},
		{"at 1 in x", "at 2 in x", "at 3 in y", false},
		{"at 1 in x", "at 2 in x", "at  in x", true},
		{"at 1 in x", "at 2 in x", "at 3 4 in x", true},
		{"at 1 in x", "at 2 in x", "at 3 and then something else altogether in x", false},
		{"1", "2", "3", true},
		{"1", "2", "", true},
		{"a", "a b", "a c", true},
		{"same", "same", "same", true},
		{"same", "same", "same!", false},
		{"", "", "x", false},
		{"[10ms] ok [1 rows]", "[12ms] ok [2 rows]", "[9999ms] ok [77 rows]", true},
		{"[10ms] ok [1 rows]", "[12ms] ok [2 rows]", "[9999ms] failed [77 rows]", false},
	} {
		tpl := learnTemplate(c.a, c.b)
		if !tpl.fits(c.a) || !tpl.fits(c.b) {
			t.Errorf("%q and %q do not match the template made from them: %+v", c.a, c.b, tpl)
		}
		if tpl.fits(c.text) != c.want {
			t.Errorf("%q, %q: %q fits: %v", c.a, c.b, c.text, !c.want)
		}
	}
	if learnTemplate(strings.Repeat("x", maxTemplateText+1), "y") != nil {
		t.Error("a template was made from an endless text")
	}
}

func TestRules(t *testing.T) {
	const text = `
		rev 2025-06-18
		> tools/call {"name":"f"}
		a< {"content":[{"type":"text","text":"{\"at\":1,\"by\":\"x\"}"}],"structuredContent":{"a.b":1,"deep":{"er":{"etag":"1"}},"list":[1,2,3]}}
		b< {"content":[{"type":"text","text":"{\"at\":2,\"by\":\"x\"}"}],"structuredContent":{"a.b":2,"deep":{"er":{"etag":"2"}},"list":[1,5,6]}}
		<~ notifications/message {"level":"info","data":"DATA"}`
	all := []string{"at", "a.b", "etag", "[1]", "[2]"}
	for _, c := range []struct {
		rule string
		left []string
	}{
		{"$.result.nothing", all},
		{"$.result", nil},
		{"$.result.content", all[1:]},
		{"$.result.content[*].text", all[1:]},
		{"$.result.content[0].text.(json).at", all[1:]},
		{"$.result.content[0].text.at", all[1:]},
		{"$.result.content[1].text", all},
		{"$.result.*.*.text.at", all[1:]},
		{"tools/call: $.result.content", all[1:]},
		{"tools/call f: $.result.content", all[1:]},
		{"tools/call g: $.result.content", all},
		{"* f: $.result.content", all[1:]},
		{"prompts/get: $.result.content", all},
		{"$.result..etag", []string{"at", "a.b", "[1]", "[2]"}},
		{"$..etag", []string{"at", "a.b", "[1]", "[2]"}},
		{`$.result.structuredContent["a.b"]`, []string{"at", "etag", "[1]", "[2]"}},
		{"$.result.structuredContent.list[1]", []string{"at", "a.b", "etag", "[2]"}},
		{"$.result.structuredContent.list[*]", all[:3]},
		{"$.result.structuredContent", all[:1]},
	} {
		rule, err := ParseRule(c.rule)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		r, _ := compareScript(t, text, Options{Ignore: []Rule{rule}})
		var left []string
		for _, d := range r.Differences {
			for _, part := range all {
				if strings.HasSuffix(d.Path, part) || strings.HasSuffix(d.Path, `["`+part+`"]`) {
					left = append(left, part)
				}
			}
		}
		if strings.Join(left, " ") != strings.Join(c.left, " ") || int(r.Ignored) != len(all)-len(left) {
			t.Errorf("%s: remaining %v, want %v; %d ignored", c.rule, left, c.left, r.Ignored)
		}
	}
	for _, bad := range []string{"", "$", "$.", "$a", "$.a.", "$.a[", "result", "tools/call: result", "@nothing", ": $.a"} {
		if _, err := ParseRule(bad); err == nil {
			t.Errorf("%q is a rule", bad)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, c := range []struct {
		preset, a, b string
		same         bool
	}{
		{"@timestamps", `"at 2026-11-20T10:00:00Z."`, `"at 2027-01-02T23:59:59.123+02:00."`, true},
		{"@timestamps", `"2026-11-20 10:00"`, `"2026-11-21"`, true},
		{"@timestamps", `"Fri, 20 Nov 2026 10:00:00 GMT"`, `"Sat, 21 Nov 2026 11:00:00 GMT"`, true},
		{"@timestamps", `"10:00:01 up"`, `"11:59:59 up"`, true},
		{"@timestamps", `1795170001`, `1795170002`, true},
		{"@timestamps", `1795170001123`, `1795170001.5`, true},
		{"@timestamps", `17`, `18`, false},
		{"@timestamps", `"2026-11-20 ok"`, `"2026-11-20 failed"`, false},
		{"@timestamps", `"2026-11-20"`, `"never"`, false},
		{"@timestamps", `1795170001`, `"1795170001"`, false},
		{"@uuids", `"id 5f0c3a2e-1111-4222-8333-444455556666"`, `"id 00000000-0000-0000-0000-000000000000"`, true},
		{"@uuids", `"d41d8cd98f00b204e9800998ecf8427e"`, `"D41D8CD98F00B204E9800998ECF84270"`, true},
		{"@uuids", `"id a"`, `"id b"`, false},
		{"@durations", `"took 12ms"`, `"took 1.5 seconds"`, true},
		{"@durations", `"took 12 eggs"`, `"took 13 eggs"`, false},
		{"@durations @timestamps", `"12ms at 10:00:01"`, `"15ms at 10:00:02"`, true},
		{"@timestamps @durations", `"12ms at 10:00:01"`, `"15ms at 10:00:02"`, true},
		{"@timestamps", `"12ms at 10:00:01"`, `"15ms at 10:00:02"`, false},
		{"@timestamps @uuids", `"2026-11-20"`, `"d41d8cd98f00b204e9800998ecf8427e"`, false},
		{"@uuids @timestamps", `1795170001`, `1795170002`, true},
		{"@uuids @timestamps", `[1795170001]`, `{}`, false},
		{"tools/call:@timestamps", `1795170001`, `1795170002`, true},
		{"tools/call&f:@timestamps", `1795170001`, `1795170002`, true},
		{"tools/call&g:@timestamps", `1795170001`, `1795170002`, false},
		{"prompts/get:@timestamps @uuids", `1795170001`, `1795170002`, false},
	} {
		var rules []Rule
		for _, text := range strings.Fields(c.preset) {
			rule, err := ParseRule(strings.ReplaceAll(strings.ReplaceAll(text, ":", ": "), "&", " "))
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, rule)
		}
		text := "rev 2025-06-18\n> tools/call {\"name\":\"f\"}\na< {\"content\":[],\"structuredContent\":{\"v\":" + c.a +
			"}}\nb< {\"content\":[],\"structuredContent\":{\"v\":" + c.b + "}}\n"
		lines, _ := parseTruth(text)
		r := compare(t, play(t, 'a', lines), play(t, 'b', lines), Options{Ignore: rules})
		if (len(r.Differences) == 0) != c.same {
			t.Errorf("%s: %s and %s are the same: %v", c.preset, c.a, c.b, !c.same)
		}
	}
}

// TestSuggest: the smallest set of presets that leaves no difference in behaviour is suggested.
func TestSuggest(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`"at 10:00:01"`, `"at 10:00:02"`, "@timestamps"},
		{`"5f0c3a2e-1111-4222-8333-444455556666 at 10:00:01"`, `"5f0c3a2e-1111-4222-8333-444455556667 at 10:00:02"`, "@timestamps @uuids"},
		{`["12ms", "at 10:00:01"]`, `["15ms", "at 10:00:02"]`, "@durations @timestamps"},
		{`"12ms at 10:00:01, 12 eggs"`, `"15ms at 10:00:02, 13 eggs"`, ""},
		{`["12ms", 1]`, `["15ms", 2]`, ""},
	} {
		lines, _ := parseTruth("rev 2025-06-18\n> tools/call {\"name\":\"f\"}\na< {\"content\":[],\"structuredContent\":{\"v\":" + c.a +
			"}}\nb< {\"content\":[],\"structuredContent\":{\"v\":" + c.b + "}}\n")
		r := compare(t, play(t, 'a', lines), play(t, 'b', lines), Options{})
		if got := strings.Join(r.Suggest(), " "); got != c.want {
			t.Errorf("%s and %s: suggested %q, not %q", c.a, c.b, got, c.want)
		}
	}
}

// TestRevisionIsNotVolatile: a revision has the form of a date.
func TestRevisionIsNotVolatile(t *testing.T) {
	side := func(revision string) []tap.Frame {
		lines, _ := parseTruth("rev " + revision + "\n> tools/list\n< {\"tools\":[]}")
		return play(t, 'a', lines)
	}
	r := compare(t, side("2025-06-18"), side("2025-11-25"), Options{})
	for i := range r.Differences { // as if the client had requested the same
		r.Differences[i].Class = Behaviour
	}
	r.Counts[Behaviour] = uint64(len(r.Differences))
	if names := r.Suggest(); len(r.Differences) != 1 || names != nil {
		t.Errorf("%+v, suggested %q", r.Differences, names)
	}
}

// TestInvalidText: text that is not a message is shown, and compared without its event.
func TestInvalidText(t *testing.T) {
	lines, _ := parseTruth("rev 2025-06-18\n> tools/list\n< {\"tools\":[]}")
	side := func(form tap.Form, raw string) []tap.Frame {
		frames := play(t, 'a', lines)
		last := frames[len(frames)-1]
		return append(frames, tap.Frame{Seq: last.Seq + 1, At: last.At, Lane: tap.ToClient, Form: form, Raw: []byte(raw), Size: int64(len(raw))})
	}
	plain := play(t, 'a', lines)
	r := compare(t, plain, side(tap.FormLine, "Listening on \x1b[1mstdio\n"), Options{})
	if len(r.Differences) != 1 || r.Differences[0].New != `"Listening on \u001b[1mstdio"` {
		t.Errorf("%+v", r.Differences)
	}
	r = compare(t, side(tap.FormEvent, "id: 1\ndata: {}\n\n"), side(tap.FormEvent, "id: 2\ndata: {}\n\n"), Options{})
	if len(r.Differences) != 0 {
		t.Errorf("%+v", r.Differences)
	}
}

func TestMarkedCallsOnly(t *testing.T) {
	lines, _ := parseTruth(`
		rev 2025-06-18
		> tools/call {"name":"f"}
		a< {"content":[{"type":"text","text":"1"}]}
		b< {"content":[{"type":"text","text":"2"}]}
		> tools/call {"name":"g"}
		a< {"content":[{"type":"text","text":"1"}]}
		b< {"content":[{"type":"text","text":"2"}]}
		a<~ notifications/tools/list_changed`)
	side := func(frames []tap.Frame) *Session {
		s := reader{Session: NewSession("x", func(seq uint64) (tap.Frame, error) { return frames[seq-1], nil })}
		for i := range frames {
			s.add(&frames[i], strings.Contains(string(frames[i].Raw), `"name":"g"`))
		}
		return s.end()
	}
	r, err := Compare(side(play(t, 'a', lines)), side(play(t, 'b', lines)), Options{Marked: true})
	if err != nil || len(r.Differences) != 1 || r.Differences[0].Subject != "g" || r.Calls != 1 {
		t.Errorf("%v, %d calls:\n%s", err, r.Calls, reportLines(r))
	}
}

func TestThresholdsOfTime(t *testing.T) {
	lines, _ := parseTruth("rev 2025-06-18\n> tools/call {\"name\":\"f\"}\n+ 100ms\nb+ 60ms\n< {\"content\":[]}")
	a, b := play(t, 'a', lines), play(t, 'b', lines)
	for _, c := range []struct {
		opt  Options
		want bool
	}{
		{Options{}, false},
		{Options{Slower: 50 * time.Millisecond}, false},
		{Options{Slower: 50 * time.Millisecond, Ratio: 1.5}, true},
		{Options{Slower: 70 * time.Millisecond, Ratio: 1.5}, false},
	} {
		if r := compare(t, a, b, c.opt); (len(r.Differences) > 0) != c.want {
			t.Errorf("%v, %v: %s", c.opt.Slower, c.opt.Ratio, reportLines(r))
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{`at 2026-11-20T10:00:00Z, id="a-b"`, `at| |2026-11-20T10:00:00Z|,| |id|=|"|a-b|"`},
		{"[x]\n", "[|x|]|\n"},
	} {
		if got := strings.Join(splitWords(c.in), "|"); got != c.want {
			t.Errorf("splitWords(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
