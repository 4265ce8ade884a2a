package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/prune"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const day = 24 * time.Hour

// shelf returns some recordings as store.List would, with the time since their start and end, size and
// status.
func shelf() []store.Info {
	info := func(id, label string, began, ended time.Duration, size int64, s store.Status) store.Info {
		return store.Info{
			Path: "/none/" + id, Header: tap.Header{ID: id, Label: label, Start: testNow.Add(-began)},
			Duration: began - ended, Size: size, Status: s,
		}
	}
	return []store.Info{
		info("live", "web", 90*day, 0, 50, store.Live),
		info("b", "web/a", 2*day, 2*day, 10, store.Ended),
		info("c", "files", 10*day, 10*day, 20, store.Cut),
		info("long", "web", 40*day, 5*day, 30, store.Ended),
		info("f", "files", 50*day, 50*day, 40, store.Ended),
		{Path: "/none/odd", Err: fmt.Errorf("odd: %w", store.ErrNotRecording), Size: 1000, Status: store.Damaged},
		{Path: "/none/timeless", Header: tap.Header{ID: "timeless", Label: "files"}, Size: 7, Status: store.Ended},
		info("soon", "web", -day, -2*day, 3, store.Ended), // its clock was wrong
	}
}

func TestPruneChoose(t *testing.T) {
	older := func(d time.Duration) prune.Rules { return prune.Rules{HasOlder: true, Older: d} }
	keep := func(r prune.Rules, n int) prune.Rules {
		r.HasKeep, r.Keep = true, n
		return r
	}
	size := func(r prune.Rules, n int64) prune.Rules {
		r.HasSize, r.Size = true, n
		return r
	}
	for _, c := range []struct {
		name  string
		rules prune.Rules
		label string
		want  string // oldest first
		over  int64
	}{
		{"age counts from the end", older(7 * day), "", "f older_than, c older_than", 0},
		{"all ages", older(0), "", "f older_than, long older_than, c older_than, b older_than", 0},
		{"nothing that old", older(400 * day), "", "", 0},
		{"keep some", keep(prune.Rules{}, 2), "", "f keep_last, long keep_last, c keep_last", 0},
		{"keep all", keep(prune.Rules{}, 50), "", "", 0},
		{"keep only live ones", keep(prune.Rules{}, 0), "", "f keep_last, long keep_last, c keep_last, b keep_last, soon keep_last", 0},
		{"the oldest by size", size(prune.Rules{}, 100), "", "f max_size, long max_size", 0},
		{"exactly the size", size(prune.Rules{}, 160), "", "", 0},
		{"a byte too many", size(prune.Rules{}, 159), "", "f max_size", 0},
		{"live ones alone are too large", size(prune.Rules{}, 10), "", "f max_size, long max_size, c max_size, b max_size, soon max_size", 47},
		{"age, then size", size(older(30*day), 100), "", "f older_than, long max_size", 0},
		{"age makes it fit", size(older(30*day), 120), "", "f older_than", 0},
		{"the last are kept from age", keep(older(0), 3), "", "f older_than, long older_than", 0},
		{"the last are kept from size", keep(size(prune.Rules{}, 10), 3), "", "f max_size, long max_size", 80},
		{"only with a label", keep(prune.Rules{}, 1), "files", "f keep_last", 0},
		{"a pattern that matches a slash", older(0), "we*", "long older_than, b older_than", 0},
		{"no such label", older(0), "nope", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := prune.Candidates(shelf(), c.label)
			chosen := c.rules.Choose(all, testNow)
			var got []string
			for _, p := range chosen {
				got = append(got, p.Header.ID+" "+p.Reason.String())
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
			if over := c.rules.Over(all, chosen); over != c.over {
				t.Errorf("%d too much stays, want %d", over, c.over)
			}
		})
	}
}

// Whatever the rules are, live and kept recordings remain, and if the rest is still too large, it could
// not be made smaller.
func TestPruneProtects(t *testing.T) {
	for keep := range 9 {
		for _, age := range []time.Duration{0, 3 * day, 45 * day} {
			for size := int64(0); size < 200; size += 9 {
				r := prune.Rules{HasKeep: keep < 8, Keep: keep, HasOlder: age > 0, Older: age, HasSize: size > 0, Size: size}
				all := prune.Candidates(shelf(), "")
				chosen := r.Choose(all, testNow)
				stays := len(all) - len(chosen)
				for i, p := range all {
					goes := slices.ContainsFunc(chosen, func(c prune.Candidate) bool { return c.Path == p.Path })
					if goes && (p.Status == store.Live || r.HasKeep && i < keep || p.Header.ID == "timeless") {
						t.Fatalf("%+v: %s goes", r, p.Header.ID)
					}
					if !goes && r.Over(all, chosen) > 0 && !r.Protects(all, i) {
						t.Fatalf("%+v: %s stays although it is too much", r, p.Header.ID)
					}
				}
				if r.HasKeep && stays < min(keep, len(all)) {
					t.Fatalf("%+v: only %d stay", r, stays)
				}
			}
		}
	}
}

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "12h": 12 * time.Hour, "2w": 14 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "5s": 5 * time.Second,
	} {
		if got, err := prune.ParseAge(text); got != want || err != nil {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "d", "-1d", "1.5d", "30 d", "1y", "1mo", "99999999999999999999d", "300000d", "9999999w9999999w", "١d", "1d2"} {
		if got, err := prune.ParseAge(text); err == nil {
			t.Errorf("%q is %v", text, got)
		} else if !strings.Contains(err.Error(), "(want a number with a unit, such as 30d, 12h or 2w)") {
			t.Error(err)
		}
	}
}

// shelve creates a recording that began this long ago and ran for an hour.
func shelve(t *testing.T, dir, id, label string, ago time.Duration, payload int) string {
	t.Helper()
	h := tap.Header{ID: id, Label: label, Start: testNow.Add(-ago), Transport: "stdio"}
	path := filepath.Join(dir, store.FileName(h))
	w, err := store.NewWriter(path, h)
	if err == nil {
		err = w.Add(tap.Frame{Seq: 1, Lane: tap.Stderr, Raw: []byte(strings.Repeat("x", payload) + "\n")})
	}
	if err == nil {
		err = w.Close(store.End{At: time.Hour})
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runPrune runs the command on a directory and returns what it prints.
func runPrune(t *testing.T, a *app, dir string, want int, flags ...string) {
	t.Helper()
	if code := a.run(append([]string{"prune", "--dir", dir}, flags...)); code != want {
		t.Errorf("exit %d, want %d: %s", code, want, a.stdout)
	}
}

func left(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), store.Ext)
		names = append(names, name[strings.LastIndexByte(name, '-')+1:])
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestPruneTable(t *testing.T) {
	dir := t.TempDir()
	shelve(t, dir, "00000001", "github", 40*day, 10)
	shelve(t, dir, "00000002", "天気\x1b[2J", 400*day, 10)
	shelve(t, dir, "00000003", "a-label-that-somebody-made-very-long-indeed-and-then-some", 31*day+90*time.Minute, 10)
	shelve(t, dir, "00000004", "new", 2*time.Hour, 10)
	broken := shelve(t, dir, "00000005", "broken", time.Hour, 10)
	f, err := os.OpenFile(broken, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(make([]byte, 8192), 0)
	if err := errors.Join(err, f.Close(), os.Chtimes(broken, testNow, testNow.Add(-33*day))); err != nil {
		t.Fatal(err)
	}
	infos, err := store.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	rules := prune.Rules{HasOlder: true, Older: 30 * day}
	chosen := rules.Choose(prune.Candidates(infos, ""), testNow)
	for i := range chosen {
		chosen[i].Size = 123456 // on any file system
	}
	for _, width := range []int{80, 140} {
		var out strings.Builder
		prune.Table(&term.Printer{W: &out, Width: width}, testNow, chosen)
		golden(t, fmt.Sprintf("prune-%d.txt", width), []byte(out.String()))
		for line := range strings.Lines(out.String()) {
			if w := term.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("at %d columns a line has %d: %s", width, w, line)
			}
		}
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	shelve(t, dir, "00000001", "github", 40*day, 10)
	shelve(t, dir, "00000002", "files", 30*day+2*time.Hour, 10)
	shelve(t, dir, "00000003", "files", 30*day, 10) // ended 29 days and 23 hours ago
	shelve(t, dir, "00000004", "github", time.Hour, 300_000)
	odd := filepath.Join(dir, "notes.mcptap")
	if err := os.WriteFile(odd, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all = "00000001 00000002 00000003 00000004 notes"

	a, out := testApp(nil)
	runPrune(t, a, dir, 2, "--older-than", "30d")
	if s := out.String(); !strings.Contains(s, "not a terminal") || left(t, dir) != all {
		t.Errorf("%s: %s", left(t, dir), s)
	}
	a, out = testApp(nil)
	runPrune(t, a, dir, 0, "--older-than", "30d", "--dry-run")
	if s := out.String(); strings.Count(s, "\n") != 4 || !strings.Contains(s, "\nmcptap: would remove 2 recordings, ") || !strings.Contains(s, "00000002  Oct 21 10:00  files ") || !strings.Contains(s, "ended 30d ago") || left(t, dir) != all {
		t.Errorf("%s: %s", left(t, dir), s)
	}
	for _, c := range []struct {
		flags []string
		left  string
	}{
		{[]string{"--older-than", "52w"}, all},
		{[]string{"--older-than", "30d", "--keep-last", "3"}, "00000002 00000003 00000004 notes"},
		{[]string{"--keep-last", "0", "--label", "files"}, "00000004 notes"},
		{[]string{"--max-size", "1MB"}, "00000004 notes"},
		{[]string{"--max-size", "1kB"}, "notes"},
		{[]string{"--max-size", "0"}, "notes"},
	} {
		a, _ := testApp(nil)
		runPrune(t, a, dir, 0, append(c.flags, "--yes")...)
		if got := left(t, dir); got != c.left {
			t.Errorf("after %v: %s, want %s", c.flags, got, c.left)
		}
	}
}

// If a rule is invalid, nothing is removed.
func TestPruneUsage(t *testing.T) {
	dir := t.TempDir()
	shelve(t, dir, "00000001", "github", 4000*day, 10)
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, "mcptap prune needs at least one rule\nmcptap: hint: --older-than 30d, --keep-last 20 or --max-size 2GB"},
		{[]string{"--label", "git*"}, "mcptap prune needs at least one rule"},
		{[]string{"--older-than", ""}, `--older-than: invalid age ""`},
		{[]string{"--older-than", "30"}, `--older-than: invalid age "30"`},
		{[]string{"--max-size", ""}, `--max-size: invalid size ""`},
		{[]string{"--max-size", "-1"}, `--max-size: invalid size "-1"`},
		{[]string{"--keep-last", "-1"}, "--keep-last: invalid number -1"},
		{[]string{"--keep-last", ""}, `--keep-last: invalid number ""`},
		{[]string{"--keep-last", "0", "--label", ""}, `--label: invalid pattern ""`},
		{[]string{"--keep-last", "0", "--label", "[a"}, `--label: invalid pattern "[a"`},
		{[]string{"--keep-last", "0", "all"}, `mcptap prune takes no argument "all"`},
	} {
		a, out := testApp(nil)
		runPrune(t, a, dir, 2, append(c.flags, "--yes")...)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %s, want %s", c.flags, out, c.want)
		}
		if left(t, dir) != "00000001" {
			t.Fatalf("%v removed something", c.flags)
		}
	}
}

func TestPruneNothingThere(t *testing.T) {
	a, out := testApp(nil)
	runPrune(t, a, filepath.Join(t.TempDir(), "none"), 0, "--keep-last", "0", "--yes")
	if !strings.HasPrefix(out.String(), "mcptap: nothing to remove in ") {
		t.Error(out)
	}
}
