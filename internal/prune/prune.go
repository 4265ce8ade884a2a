// Package prune selects the recordings to remove by age, number and size.
package prune

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// Table prints the recordings to remove as a table.
func Table(l *term.Printer, now time.Time, chosen []Candidate) {
	cols := []term.Column{
		{Title: "ID"}, {Title: "STARTED"}, {Title: "LABEL", Least: 12},
		{Title: "SIZE", Right: true}, {Title: "STATE", Rank: 1}, {Title: "WHY"},
	}
	var rows [][]term.Cell
	for i := range chosen {
		c := &chosen[i]
		id := safe.String(c.Header.ID)
		if id == "" {
			id = "-"
		}
		rows = append(rows, []term.Cell{
			{Text: id, Style: term.Bold}, {Text: term.Start(c.began.In(now.Location()), now), Style: term.Plain}, {Text: safe.String(c.Header.Label), Style: term.Plain},
			{Text: view.Size(c.Size), Style: term.Dim}, {Text: listing.State(&c.Info), Style: listing.StateStyle(&c.Info)}, {Text: c.why(now), Style: term.Plain},
		})
	}
	l.Table(cols, rows)
}

// jsonCandidate is a recording in `prune --json`. The names are stable.
type jsonCandidate struct {
	V          int       `json:"v"`
	Type       string    `json:"type"` // "prune"
	ID         string    `json:"id"`
	Path       string    `json:"path"`
	Label      string    `json:"label"`
	Start      time.Time `json:"start"` // for a damaged one, the time of its file
	End        time.Time `json:"end"`   // likewise
	Status     string    `json:"status"`
	SizeOnDisk int64     `json:"size_on_disk"`
	Reason     string    `json:"reason"` // older_than, keep_last or max_size
	DryRun     bool      `json:"dry_run,omitempty"`
}

// WriteJSON prints a recording to remove as one line of JSON.
func WriteJSON(w io.Writer, p *Candidate, dryRun bool) error {
	return term.WriteJSON(w, jsonCandidate{
		V: text.Version, Type: "prune", ID: p.Header.ID, Path: p.Path, Label: p.Header.Label, Start: p.began.UTC(), End: p.ended.UTC(),
		Status: p.Status.String(), SizeOnDisk: p.Size, Reason: p.Reason.String(), DryRun: dryRun,
	})
}

// Rules select the recordings to remove.
type Rules struct {
	HasOlder, HasKeep, HasSize bool

	Older time.Duration
	Keep  int
	Size  int64
}

// A Candidate is a recording that may be removed.
type Candidate struct {
	store.Info
	// began and ended are its start and end; for a damaged one, both are when its file was last
	// written.
	began, ended time.Time
	Reason       reason
}

// A reason is the rule that selects a recording.
type reason uint8

const (
	pruneNone reason = iota
	pruneOlder
	pruneKeep
	pruneSize
)

// String returns the reason's stable name.
func (r reason) String() string {
	return [...]string{"", "older_than", "keep_last", "max_size"}[r]
}

// why describes the reason.
func (p *Candidate) why(now time.Time) string {
	switch p.Reason {
	case pruneOlder:
		what := "ended"
		if p.Status.Unreadable() {
			what = "file is from"
		}
		return what + " " + formatAge(now.Sub(p.ended)) + " ago"
	case pruneKeep:
		return "beyond --keep-last"
	case pruneSize:
		return "beyond --max-size"
	}
	return ""
}

// formatAge formats an age in days, or more precisely if it is below two days.
func formatAge(d time.Duration) string {
	if d < 48*time.Hour {
		return view.Took(d)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Candidates returns the recordings whose label matches, the most recently started first. It omits
// files that are not recordings.
func Candidates(infos []store.Info, label string) []Candidate {
	var all []Candidate
	for _, info := range infos {
		if errors.Is(info.Err, store.ErrNotRecording) {
			continue
		}
		if label != "" && !labelled(label, info.Header.Label) {
			continue
		}
		p := Candidate{Info: info, began: info.Header.Start, ended: info.Header.Start.Add(info.Duration)}
		if info.Status.Unreadable() {
			p.began = fileTime(info.Path)
			p.ended = p.began
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(b.began.Compare(a.began), cmp.Compare(b.Path, a.Path))
	})
	return all
}

// labelled reports whether a label matches a pattern. A slash is an ordinary character.
func labelled(pattern, label string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, _ := path.Match(flat.Replace(pattern), flat.Replace(label))
	return ok
}

// fileTime returns when a recording's file, or else its queue, was last written.
func fileTime(path string) time.Time {
	for _, name := range []string{path, path + store.QueueExt} {
		if info, err := os.Stat(name); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// Choose returns the recordings to remove, oldest first. all is in the order of [Candidates].
func (r *Rules) Choose(all []Candidate, now time.Time) []Candidate {
	left := Size(all)
	goes := make([]bool, len(all))
	pick := func(i int, reason reason) {
		goes[i], all[i].Reason = true, reason
		left -= all[i].Size
	}
	for i := range all {
		switch {
		case r.Protects(all, i):
		case r.HasOlder && all[i].ended.Before(now.Add(-r.Older)):
			pick(i, pruneOlder)
		case r.HasKeep && !r.HasOlder && !r.HasSize:
			pick(i, pruneKeep)
		}
	}
	for i := len(all) - 1; i >= 0 && r.HasSize && left > r.Size; i-- {
		if !goes[i] && !r.Protects(all, i) {
			pick(i, pruneSize)
		}
	}
	var chosen []Candidate
	for i, p := range slices.Backward(all) {
		if goes[i] {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// Protects reports whether no rule can remove a recording, because it is live, kept, or of unknown
// age.
func (r *Rules) Protects(all []Candidate, i int) bool {
	return all[i].Status == store.Live || r.HasKeep && i < r.Keep || all[i].began.IsZero()
}

// Over returns by how much the remaining recordings exceed --max-size.
func (r *Rules) Over(all, chosen []Candidate) int64 {
	if !r.HasSize {
		return 0
	}
	return max(Size(all)-Size(chosen)-r.Size, 0)
}

// Size returns the total size of recordings, in bytes.
func Size(all []Candidate) (n int64) {
	for _, p := range all {
		n += p.Size
	}
	return n
}

// ageUnits are the units of ages.
var ageUnits = map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}

// ParseAge parses an age such as 30d, 12h, 2w or 1d12h. A unit is required, so that days
// are not mistaken for hours.
func ParseAge(s string) (time.Duration, error) {
	bad := fmt.Errorf("invalid age %s (want a number with a unit, such as 30d, 12h or 2w)", term.Quote(s))
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
