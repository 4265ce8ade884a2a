package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
)

// pruneRules say which recordings go.
type pruneRules struct {
	hasOlder, hasKeep, hasSize bool

	older time.Duration
	keep  int
	size  int64
}

// A pruned is a recording that may go.
type pruned struct {
	store.Info
	// began and ended are when it did; of a damaged one, when its file was last
	// written to.
	began, ended time.Time
	reason       pruneReason
}

// A pruneReason is the rule by which a recording goes.
type pruneReason uint8

const (
	pruneNone pruneReason = iota
	pruneOlder
	pruneKeep
	pruneSize
)

// String returns the reason's stable name.
func (r pruneReason) String() string {
	return [...]string{"", "older_than", "keep_last", "max_size"}[r]
}

// why says in words why a recording goes.
func (p *pruned) why(now time.Time) string {
	switch p.reason {
	case pruneOlder:
		what := "ended"
		if p.Status == store.Damaged {
			what = "file is from"
		}
		return what + " " + formatAge(now.Sub(p.ended)) + " ago"
	case pruneKeep:
		return "not among the last"
	case pruneSize:
		return "more than the size"
	}
	return ""
}

// formatAge returns an age in days, or in less where it is not one.
func formatAge(d time.Duration) string {
	if d < 48*time.Hour {
		return formatDuration(d)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// prunable returns the recordings that count, those that began last first: all
// that are recordings at all and have such a label.
func prunable(infos []store.Info, label string) []pruned {
	var all []pruned
	for _, info := range infos {
		if errors.Is(info.Err, store.ErrNotRecording) {
			continue
		}
		if label != "" && !labelled(label, info.Header.Label) {
			continue
		}
		p := pruned{Info: info, began: info.Header.Start, ended: info.Header.Start.Add(info.Duration)}
		if info.Status == store.Damaged {
			p.began = fileTime(info.Path)
			p.ended = p.began
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b pruned) int {
		return cmp.Or(b.began.Compare(a.began), cmp.Compare(b.Path, a.Path))
	})
	return all
}

// labelled reports whether a label matches a pattern. A slash is a character
// like any other.
func labelled(pattern, label string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, _ := path.Match(flat.Replace(pattern), flat.Replace(label))
	return ok
}

// fileTime is when a recording's file, or else its queue, was written to.
func fileTime(path string) time.Time {
	for _, name := range []string{path, path + store.QueueExt} {
		if info, err := os.Stat(name); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// choose returns those of all, which come in the order of [prunable], that go,
// the oldest first.
func (r *pruneRules) choose(all []pruned, now time.Time) []pruned {
	left := sizeOf(all)
	goes := make([]bool, len(all))
	pick := func(i int, reason pruneReason) {
		goes[i], all[i].reason = true, reason
		left -= all[i].Size
	}
	for i := range all {
		switch {
		case r.protects(all, i):
		case r.hasOlder && all[i].ended.Before(now.Add(-r.older)):
			pick(i, pruneOlder)
		case r.hasKeep && !r.hasOlder && !r.hasSize:
			pick(i, pruneKeep)
		}
	}
	for i := len(all) - 1; i >= 0 && r.hasSize && left > r.size; i-- {
		if !goes[i] && !r.protects(all, i) {
			pick(i, pruneSize)
		}
	}
	var chosen []pruned
	for i, p := range slices.Backward(all) {
		if goes[i] {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// protects reports whether no rule can remove a recording: it is live, or kept,
// or it does not tell its age.
func (r *pruneRules) protects(all []pruned, i int) bool {
	return all[i].Status == store.Live || r.hasKeep && i < r.keep || all[i].began.IsZero()
}

// over is by how much what stays is larger than --max-size.
func (r *pruneRules) over(all, chosen []pruned) int64 {
	if !r.hasSize {
		return 0
	}
	return max(sizeOf(all)-sizeOf(chosen)-r.size, 0)
}

// sizeOf is what recordings occupy together, in bytes.
func sizeOf(all []pruned) (n int64) {
	for _, p := range all {
		n += p.Size
	}
	return n
}

// ageUnits are the units of an age.
var ageUnits = map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}

// parseAge reads an age such as 30d, 12h, 2w or 1d12h. A unit is needed, so that
// nobody's days are taken for hours.
func parseAge(s string) (time.Duration, error) {
	bad := fmt.Errorf("%s is no age (want a number with a unit, such as 30d, 12h or 2w)", quote(s))
	var total time.Duration
	rest := s
	for rest != "" {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end <= 0 {
			return 0, bad
		}
		n, err := strconv.ParseInt(rest[:end], 10, 64)
		unit := ageUnits[rest[end]]
		if err != nil || unit == 0 || n > int64((math.MaxInt64-total)/unit) {
			return 0, bad
		}
		total += time.Duration(n) * unit
		rest = rest[end+1:]
	}
	if s == "" {
		return 0, bad
	}
	return total, nil
}
