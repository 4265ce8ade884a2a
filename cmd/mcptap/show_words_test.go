package main

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

func TestParseRanges(t *testing.T) {
	const end = math.MaxUint64
	for _, c := range []struct {
		words []string
		want  []tap.Range
		ok    bool
		fails bool
	}{
		{[]string{"17"}, []tap.Range{{From: 17, To: 17}}, true, false},
		{[]string{"17..30"}, []tap.Range{{From: 17, To: 30}}, true, false},
		{[]string{"17..", "..3"}, []tap.Range{{From: 17, To: end}, {From: 1, To: 3}}, true, false},
		{[]string{"#17"}, []tap.Range{{From: 17, To: 17}}, true, false},
		{[]string{"5-7", "#5..#7"}, []tap.Range{{From: 5, To: 7}, {From: 5, To: 7}}, true, false},
		{[]string{"17-"}, []tap.Range{{From: 17, To: end}}, true, false},
		{[]string{"#"}, nil, false, false},
		{[]string{"1-2-3"}, nil, false, false},
		{[]string{"2026-11-20"}, nil, false, false},
		{[]string{"1,3", "5"}, []tap.Range{{From: 1, To: 1}, {From: 3, To: 3}, {From: 5, To: 5}}, true, false},
		{[]string{"17", "x"}, nil, false, false},
		{[]string{"1..2..3"}, nil, false, false},
		{[]string{".."}, nil, false, false},
		{[]string{"1,"}, nil, false, false},
		{[]string{"-1"}, nil, false, false},
		{[]string{"1.5"}, nil, false, false},
		{[]string{"0"}, nil, false, true},
		{[]string{"5..3"}, nil, false, true},
		{[]string{"99999999999999999999"}, nil, false, true},
	} {
		got, ok, err := parseRanges(c.words)
		if ok != c.ok || (err != nil) != c.fails || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v, %v", c.words, got, ok, err)
		}
	}
}

// Arguments that begin with a minus sign and are not flags reach show as words.
func TestWordsAreNotFlags(t *testing.T) {
	for _, c := range []struct{ args, words []string }{
		{[]string{"show", "@last", "-method:ping"}, []string{"@last", "-method:ping"}},
		{[]string{"show", "-f", "@last", "-foo", "-(a", "-fh", "-"}, nil}, // -h is help
		{[]string{"show", "-f", "@last", "-foo", "-(a", "-é", "-"}, []string{"@last", "-foo", "-(a", "-é", "-"}},
		{[]string{"show", "@last", "--", "-x", "--y"}, []string{"@last", "-x", "--y"}},
		{[]string{"show", "@last", "--since", "-30s", "-30s"}, []string{"@last", "-30s"}},
		{[]string{"show", "@last", "--since=-30s", "-x"}, []string{"@last", "-x"}},
		{[]string{"--dir", "-d", "show", "@last", "--calls", "-x"}, []string{"@last", "-x"}},
	} {
		a, out := testApp(nil)
		root := newRoot(a)
		var got []string
		for _, cmd := range root.Commands() {
			if cmd.Name() == "show" {
				cmd.RunE = func(cmd *cobra.Command, args []string) error {
					got = args
					if since := cmd.Flags().Lookup("since").Value.String(); since != "" && since != "-30s" || a.dirFlag != "" && a.dirFlag != "-d" {
						t.Errorf("%q: --since %q, --dir %q", c.args, since, a.dirFlag)
					}
					return nil
				}
			}
		}
		if err := a.execute(t.Context(), root, c.args); err != nil || !slices.Equal(got, c.words) {
			t.Errorf("%q: %q, %v, want %q: %s", c.args, got, err, c.words, out)
		}
	}
	for _, args := range [][]string{{"export", "@last", "-o", "-"}, {"stdio", "--", "x", "-y"}, {}, {"-x"}} {
		a, _ := testApp(nil)
		if got := markWords(newRoot(a), args); !slices.Equal(got, args) {
			t.Errorf("%q: %q", args, got)
		}
	}
}

// A flag of head and git log is explained, and not taken for a filter.
func TestNoLimitFlag(t *testing.T) {
	for _, args := range [][]string{
		{"show", "@last", "-n", "5"}, {"show", "-n", "5", "@last"}, {"show", "@last", "--calls", "-n", "5"}, {"show", "@last", "-5"}, {"show", "@last", "--tail", "5"},
	} {
		a, out := testApp(nil)
		if code := a.run(args); code != exitFailure || !strings.Contains(out.String(), "\nmcptap: hint: list a range of frames, such as 1-5, or") {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
	}
}

func TestParseArgs(t *testing.T) {
	a, _ := testApp(map[string]string{"MCPTAP_DIR": t.TempDir()})
	w := newWriter(a.env("MCPTAP_DIR"), 0)
	w.rec.Close()
	id := w.rec.Header().ID
	for _, c := range []struct {
		o    showOptions
		args []string
		want showWords
	}{
		{showOptions{}, []string{"@last"}, showWords{recordings: []string{"@last"}}},
		{showOptions{}, []string{"@last", "17"}, showWords{recordings: []string{"@last"}, number: 17}},
		{showOptions{}, []string{"@last", "17..17"}, showWords{recordings: []string{"@last"}, ranges: []tap.Range{{From: 17, To: 17}}}},
		{showOptions{calls: true}, []string{"@last", "17"}, showWords{recordings: []string{"@last"}, ranges: []tap.Range{{From: 17, To: 17}}}},
		{showOptions{}, []string{"@last", "-tool:a", "b"}, showWords{recordings: []string{"@last"}, query: "-tool:a b"}},
		{showOptions{}, []string{"@last", "5-7", "#9", "is:error", "3"}, showWords{recordings: []string{"@last"},
			ranges: []tap.Range{{From: 5, To: 7}, {From: 9, To: 9}}, query: "is:error 3"}},
		{showOptions{}, []string{"@last", "@live"}, showWords{recordings: []string{"@last"}, query: "@live"}},
		{showOptions{}, []string{"@live"}, showWords{recordings: []string{"@live"}}},
		{showOptions{follow: true}, []string{"@live", "x"}, showWords{recordings: []string{"@live"}, all: true, query: "x"}},
		{showOptions{follow: true}, []string{"@last", id, "x"}, showWords{recordings: []string{"@last", id}, query: "x"}},
		{showOptions{follow: true}, []string{"@last", "beef", "deadbeef"}, showWords{recordings: []string{"@last"}, query: "beef deadbeef"}},
		{showOptions{follow: true}, []string{"@last", w.rec.Path()}, showWords{recordings: []string{"@last", w.rec.Path()}}},
	} {
		got, err := c.o.parseArgs(a, slices.Clone(c.args))
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%q: %+v, %v, want %+v", c.args, got, err, c.want)
		}
	}
}

func TestMoments(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	start := time.Date(2026, 11, 20, 22, 30, 0, 500_000_000, zone)
	info := store.Info{Header: tap.Header{Start: start.UTC()}, Duration: 3 * time.Hour}
	for text, want := range map[string]time.Duration{
		"2s":                        2 * time.Second,
		"1m05.500s":                 65500 * time.Millisecond,
		"1h02m":                     62 * time.Minute,
		"-30s":                      3*time.Hour - 30*time.Second,
		"-5h":                       -2 * time.Hour,
		"23:00":                     30*time.Minute - 500*time.Millisecond,
		"23:00:01.25":               30*time.Minute + 750*time.Millisecond,
		"00:30:00":                  2*time.Hour - 500*time.Millisecond, // of the next day
		"22:30":                     -500 * time.Millisecond,            // the minute in which it began
		"12:00":                     -10*time.Hour - 30*time.Minute - 500*time.Millisecond,
		"2026-11-20T21:00:00Z":      30*time.Minute - 500*time.Millisecond,
		"2026-11-20 23:00:00":       30*time.Minute - 500*time.Millisecond,
		"2026-11-20 21:00:00 +0000": 30*time.Minute - 500*time.Millisecond,
		"2026-11-21":                90*time.Minute - 500*time.Millisecond,
	} {
		m, err := parseMoment("since", text, zone)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := m.offsetIn(&info, zone); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "#0", "#x", "x", "24:00", "12", "1:2:3:4", "2026-13-01", "#-1"} {
		if _, err := parseMoment("since", text, zone); err == nil {
			t.Errorf("%q is a time", text)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		title string
		words []string
		width int
		want  []string
	}{
		{"", []string{"one", "two"}, 0, []string{"one, two"}},
		{"all: ", []string{"one", "two", "three"}, 14, []string{"all: one, two,", "three"}},
		{"", []string{"one two three", "four five"}, 12, []string{"one two", "three,", "four five"}},
		{"", []string{"unbreakable-word"}, 10, []string{"unbreakab…"}},
		{"title: ", []string{"天気予報 天気"}, 12, []string{"title:", "天気予報", "天気"}},
	} {
		if got := term.WrapList(c.title, c.words, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q %q at %d: %q, want %q", c.title, c.words, c.width, got, c.want)
		}
	}
}
