package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestTruth runs tables of small pairs of sessions, each with all differences to report and their
// classes.
func TestTruth(t *testing.T) {
	names, err := filepath.Glob("testdata/truth/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	cases := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range txtar.Parse(data).Files {
			cases++
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+c.Name, func(t *testing.T) { truth(t, string(c.Data)) })
		}
	}
	if cases < 300 {
		t.Errorf("%d pairs", cases)
	}
}

func truth(t *testing.T, text string) {
	lines, want := parseTruth(text)
	a, b := play(t, 'a', lines), play(t, 'b', lines)
	r := compare(t, a, b, Options{})
	got := verdicts(r)
	if !verdictsFit(got, want) {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	for i := range r.Differences {
		// The dialect has no page, and the reason for a revision is only that the client requested it.
		d := &r.Differences[i]
		if d.Class == Expected && (d.Reason == "" || !page.MatchString(d.Page) && d.Path != "$.revision" && !strings.Contains(d.Reason, "002 dialect")) {
			t.Errorf("%s %s %s is expected, because %q: see %q", d.Method, d.Path, d.What, d.Reason, d.Page)
		}
	}
	// In the reverse direction the number of differences is the same, whatever their classes.
	if back := verdicts(compare(t, b, a, Options{})); (len(back) == 0) != (len(got) == 0) {
		t.Errorf("in reverse:\n  %s", strings.Join(back, "\n  "))
	}
	for _, side := range [][]string{verdicts(compare(t, a, a, Options{})), verdicts(compare(t, b, b, Options{}))} {
		if len(side) > 0 {
			t.Errorf("a side differs from itself:\n  %s", strings.Join(side, "\n  "))
		}
	}
}

// page matches the name of a page of the specification.
var page = regexp.MustCompile(`^20\d\d-\d\d-\d\d/(basic|client|server)(/[a-z_-]+)*(#[a-z_-]+)?$`)

// TestPrintedPathsCanBeIgnored uses each path that is printed for the truth tables as a rule: what
// differs there and below is ignored, and nothing else.
func TestPrintedPathsCanBeIgnored(t *testing.T) {
	names, _ := filepath.Glob("testdata/truth/*.txtar")
	for _, name := range names {
		data, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range data.Files {
			lines, _ := parseTruth(string(c.Data))
			a, b := play(t, 'a', lines), play(t, 'b', lines)
			var printed []string
			x, y := recorded("a", a), recorded("b", b)
			e := newEngine(x, y, &Options{Slower: DefaultSlower, Ratio: DefaultRatio})
			e.found = func(f *finding) { printed = append(printed, f.difference().Path) }
			if _, err := e.run(); err != nil {
				t.Fatal(err)
			}
			for _, path := range printed {
				if path == "" {
					continue
				}
				rule, err := ParseRule(path)
				if err != nil {
					t.Fatal(err)
				}
				below := regexp.MustCompile("^" + regexp.QuoteMeta(path) + `($|[.\[])`)
				want, rest := uint64(0), uint64(0)
				for _, p := range printed {
					if below.MatchString(p) {
						want++
					}
				}
				r := compare(t, a, b, Options{Ignore: []Rule{rule}})
				for i := range r.Differences {
					if d := &r.Differences[i]; below.MatchString(d.Path) {
						t.Errorf("%s: %s is not ignored by %s", c.Name, d.Path, path)
					}
					rest += r.Differences[i].Times
				}
				if r.Ignored != want || rest != uint64(len(printed))-want {
					t.Errorf("%s: %s ignores %d, want %d; %d of %d remain", c.Name, path, r.Ignored, want, rest, len(printed))
				}
			}
		}
	}
}

func parseTruth(text string) (lines, want []string) {
	for _, l := range strings.Split(text, "\n") {
		switch l = strings.TrimSpace(l); {
		case l == "" || l[0] == '#':
		case l[0] == '=':
			want = append(want, strings.TrimSpace(l[1:]))
		default:
			lines = append(lines, l)
		}
	}
	return lines, want
}

// verdicts returns the differences of a report in the form of a script.
func verdicts(r *Report) (all []string) {
	for i := range r.Differences {
		d := &r.Differences[i]
		if d.Path == "$.revision" { // see TestOpening
			continue
		}
		s := fmt.Sprintf("%s %s %s %s", d.Class, d.Kind, d.In, d.Path)
		s = strings.TrimSpace(s)
		if d.What != "" {
			s += " | " + d.What
		}
		if d.Times > 1 {
			s += fmt.Sprintf(" x%d", d.Times)
		}
		all = append(all, s)
	}
	return all
}

// verdictsFit reports whether the verdicts are exactly the wanted ones. A wanted verdict may omit
// the words, or have only a part of them.
func verdictsFit(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	left := slices.Clone(want)
	for _, g := range got {
		i := slices.IndexFunc(left, func(w string) bool { return verdictFits(g, w) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

func verdictFits(got, want string) bool {
	split := func(s string) (head, words, times string) {
		if i := strings.LastIndex(s, " x"); i >= 0 && strings.Trim(s[i+2:], "0123456789") == "" {
			s, times = s[:i], s[i+2:]
		}
		head, words, _ = strings.Cut(s, " | ")
		return strings.TrimSpace(head), words, times
	}
	h, w, n := split(got)
	wantH, wantW, wantN := split(want)
	return h == wantH && strings.Contains(w, wantW) && n == wantN
}
