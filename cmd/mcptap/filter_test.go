package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/show"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap"
)

// Arguments that begin with a minus sign and are not flags are passed to show as words.
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

// A flag of head and git log is explained, and not treated as a filter.
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
		{showOptions{Options: show.Options{Calls: true}}, []string{"@last", "17"}, showWords{recordings: []string{"@last"}, ranges: []tap.Range{{From: 17, To: 17}}}},
		{showOptions{}, []string{"@last", "-tool:a", "b"}, showWords{recordings: []string{"@last"}, query: "-tool:a b"}},
		{showOptions{}, []string{"@last", "5-7", "#9", "is:error", "3"}, showWords{recordings: []string{"@last"},
			ranges: []tap.Range{{From: 5, To: 7}, {From: 9, To: 9}}, query: "is:error 3"}},
		{showOptions{}, []string{"@last", "@live"}, showWords{recordings: []string{"@last"}, query: "@live"}},
		{showOptions{}, []string{"@live"}, showWords{recordings: []string{"@live"}}},
		{showOptions{Options: show.Options{Follow: true}}, []string{"@live", "x"}, showWords{recordings: []string{"@live"}, all: true, query: "x"}},
		{showOptions{Options: show.Options{Follow: true}}, []string{"@last", id, "x"}, showWords{recordings: []string{"@last", id}, query: "x"}},
		{showOptions{Options: show.Options{Follow: true}}, []string{"@last", "beef", "deadbeef"}, showWords{recordings: []string{"@last"}, query: "beef deadbeef"}},
		{showOptions{Options: show.Options{Follow: true}}, []string{"@last", w.rec.Path()}, showWords{recordings: []string{"@last", w.rec.Path()}}},
	} {
		got, err := c.o.parseArgs(a, slices.Clone(c.args))
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%q: %+v, %v, want %+v", c.args, got, err, c.want)
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
		{"", []string{"#8 a", "#9 b (too long)", "#20 c"}, 12, []string{"#8 a,", "#9 b (too", "long),", "#20 c"}},
		{"", []string{"unbreakable-word"}, 10, []string{"unbreakab…"}},
		{"title: ", []string{"天気予報 天気"}, 12, []string{"title:", "天気予報", "天気"}},
	} {
		if got := term.WrapList(c.title, c.words, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q %q at %d: %q, want %q", c.title, c.words, c.width, got, c.want)
		}
	}
}
