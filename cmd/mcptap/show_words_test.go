package main

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

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

// What is hidden from the parser of flags is just what cannot be one.
func TestMarkWords(t *testing.T) {
	const m = wordMark
	for _, c := range []struct{ args, want []string }{
		{[]string{"show", "@last", "-method:ping"}, []string{"show", "@last", m + "-method:ping"}},
		{[]string{"show", "-f", "@last", "-foo", "-(a", "-fh", "-"}, []string{"show", "-f", "@last", m + "-foo", m + "-(a", "-fh", "-"}},
		{[]string{"show", "@last", "--", "-x", "--y"}, []string{"show", "@last", "--", "-x", "--y"}},
		{[]string{"show", "@last", "--since", "-30s", "-30s"}, []string{"show", "@last", "--since", "-30s", m + "-30s"}},
		{[]string{"show", "@last", "--since=-30s", "--lane", "--", "-x"}, []string{"show", "@last", "--since=-30s", "--lane", "--", m + "-x"}},
		{[]string{"--dir", "d", "show", "@last", "--calls", "-x"}, []string{"--dir", "d", "show", "@last", "--calls", m + "-x"}},
		{[]string{"export", "@last", "-o", "-"}, []string{"export", "@last", "-o", "-"}},
		{[]string{"stdio", "--", "x", "-y"}, []string{"stdio", "--", "x", "-y"}},
		{[]string{"__complete", "show", "@last", "-me"}, []string{"__complete", "show", "@last", m + "-me"}},
		{[]string{"__complete", "show", "@last", "-"}, []string{"__complete", "show", "@last", "-"}},
		{[]string{}, []string{}},
		{[]string{"-x"}, []string{"-x"}},
	} {
		a, _ := testApp(nil)
		if got := markWords(newRoot(a), c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestSortWords(t *testing.T) {
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
		{showOptions{}, []string{"@last", wordMark + "-tool:a", "b"}, showWords{recordings: []string{"@last"}, query: "-tool:a b"}},
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

// The first frame at an offset is found whatever lies between: gaps, and many
// frames at one time.
func TestFirstAt(t *testing.T) {
	path := t.TempDir() + "/x" + store.Ext
	w, err := store.NewWriter(path, tap.Header{ID: "00000001", Start: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	var all []tap.Frame
	for i := range 3000 {
		f := tap.Frame{Seq: uint64(i + 1), At: time.Duration(i/7*7) * time.Second, Lane: tap.Stderr, Raw: []byte("x\n")}
		if i%500 >= 200 && i%500 < 400 { // crossed unrecorded
			continue
		}
		all = append(all, f)
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: 9999 * time.Second}); err != nil {
		t.Fatal(err)
	}
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := rec.Info()
	if err != nil {
		t.Fatal(err)
	}
	for at := -time.Second; at < 3010*time.Second; at += 13 * time.Second {
		first, err := firstAt(rec, info, at)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(f tap.Frame) bool { return f.At >= at })
		switch {
		case i < 0:
			if first != info.Frames+1 {
				t.Errorf("%v: frame %d, but there is none", at, first)
			}
		case first > all[i].Seq || i > 0 && first <= all[i-1].Seq:
			t.Errorf("%v: frame %d, want %d", at, first, all[i].Seq)
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
		if got := wrap(c.title, c.words, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q %q at %d: %q, want %q", c.title, c.words, c.width, got, c.want)
		}
	}
}
