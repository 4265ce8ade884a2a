package show

import (
	"math"
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
		got, ok, err := ParseRanges(c.words)
		if ok != c.ok || (err != nil) != c.fails || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v, %v", c.words, got, ok, err)
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
		"00:30:00":                  2*time.Hour - 500*time.Millisecond, // on the next day
		"22:30":                     -500 * time.Millisecond,            // the minute in which it started
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
			t.Errorf("%q was accepted", text)
		}
	}
}
