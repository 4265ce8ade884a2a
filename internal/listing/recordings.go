package listing

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// Recordings prints recordings as a table.
func Recordings(l *term.Printer, now time.Time, infos []store.Info) error {
	cols := []term.Column{
		{Title: "ID"},
		{Title: "STARTED"},
		{Title: "LABEL", Least: 12},
		{Title: "SERVER", Least: 12, Rank: 1},
		{Title: "CLIENT", Least: 12, Rank: 3},
		{Title: "REVISION", Rank: 5},
		{Title: "VIA", Rank: 7},
		{Title: "FRAMES", Right: true},
		{Title: "ERRORS", Right: true, Rank: 2},
		{Title: "TIME", Right: true, Rank: 4},
		{Title: "SIZE", Right: true, Rank: 6},
		{Title: "STATE"},
	}
	var rows [][]term.Cell
	for i := range infos {
		info := &infos[i]
		h, facts := &info.Header, &info.Tally.Facts
		id := term.Cell{Text: safe.String(h.ID), Style: term.Bold}
		if h.ID == "" {
			id = term.Cell{Text: "-", Style: term.Plain}
		}
		label := safe.String(h.Label)
		if facts.Probe {
			label += " (probe)"
		}
		if h.ReplayOf != "" {
			label += " (replay of " + safe.String(h.ReplayOf) + ")"
		}
		if n := info.Tally.Sessions; n > 1 {
			label += fmt.Sprintf(" (%d sessions)", n)
		}
		row := []term.Cell{
			id, {Text: term.Start(h.Start.In(now.Location()), now), Style: term.Plain}, {Text: strings.TrimSpace(label), Style: term.Plain},
			{Text: party(facts.Server), Style: term.Plain}, {Text: party(facts.Client), Style: term.Plain}, {Text: revision(facts), Style: term.Plain},
			{Text: safe.String(h.Transport), Style: term.Dim}, {Text: "", Style: term.Plain}, {Text: "", Style: term.Plain}, {Text: "", Style: term.Plain},
			{Text: view.Size(info.Size), Style: term.Dim}, {Text: State(info), Style: StateStyle(info)},
		}
		if !info.Status.Unreadable() {
			row[7].Text = strconv.FormatUint(info.Tally.Frames.Total(), 10)
			row[9].Text = view.Took(info.Duration)
			if n := info.Tally.Errors; n > 0 {
				row[8] = term.Cell{Text: strconv.FormatUint(n, 10), Style: term.Red}
			}
		}
		rows = append(rows, row)
	}
	l.Table(cols, rows)
	return l.Err
}

// party returns the declared name of a side, escaped.
func party(p session.Party) string {
	if p.Version == "" {
		return safe.String(p.Name)
	}
	return safe.String(p.Name + " " + p.Version)
}

// revision returns the protocol revision in use, escaped.
func revision(f *session.Facts) string {
	switch {
	case f.Dialect != "":
		return "dialect " + safe.String(f.Dialect)
	case f.Revision == "" && f.Requested != "":
		return safe.String(string(f.Requested)) + "?" // requested but not agreed on
	}
	return safe.String(string(f.Revision))
}

// State describes a recording whose state is not normal, or whose server failed, escaped, or returns "".
func State(info *store.Info) string {
	state := map[store.Status]string{
		store.Live: "live", store.Damaged: "damaged", store.Denied: "no permission", store.Cut: "cut off",
	}[info.Status]
	if gaps := len(info.Gaps) > 0; gaps && (info.Status == store.Cut || info.Status == store.Ended) {
		state = view.JoinWords(", ", state, "gaps")
	}
	return view.JoinWords(", ", state, term.Fit(safe.String(info.Tally.Exit), 16))
}

// StateStyle returns the style of a state.
func StateStyle(info *store.Info) term.Style {
	if info.Status == store.Live {
		return term.Green
	}
	return term.Red
}

// jsonInfo is a recording in `ls --json`. The names are stable.
type jsonInfo struct {
	V         int           `json:"v"`
	Type      string        `json:"type"` // "recording"
	ID        string        `json:"id"`
	Path      string        `json:"path"`
	Label     string        `json:"label"`
	Start     time.Time     `json:"start"`
	Transport string        `json:"transport,omitempty"`
	Command   []string      `json:"command,omitempty"`
	Dir       string        `json:"dir,omitempty"`
	Program   string        `json:"program,omitempty"`
	Platform  string        `json:"platform,omitempty"`
	Upstream  string        `json:"upstream,omitempty"`
	ReplayOf  string        `json:"replay_of,omitempty"`
	Status    string        `json:"status"` // ended, live, cut, damaged or denied
	Problem   string        `json:"problem,omitempty"`
	Server    session.Party `json:"server,omitzero"`
	Client    session.Party `json:"client,omitzero"`
	Era       string        `json:"era,omitempty"`
	Revision  string        `json:"revision,omitempty"`
	Requested string        `json:"requested,omitempty"`
	Dialect   string        `json:"dialect,omitempty"`
	Probe     bool          `json:"probe,omitempty"`
	// Sessions is absent without exchanges, which means one session.
	Sessions    uint64             `json:"sessions,omitempty"`
	Frames      uint64             `json:"frames"`
	FramesOf    session.LaneCounts `json:"frames_by_lane"`
	Bytes       uint64             `json:"bytes"`
	BytesOf     session.LaneCounts `json:"bytes_by_lane"`
	Errors      uint64             `json:"errors"`
	Exit        string             `json:"exit,omitempty"` // how the server failed
	Gaps        []tap.Range        `json:"gaps,omitempty"`
	Duration    int64              `json:"duration_ns"`
	SizeOnDisk  int64              `json:"size_on_disk"`
	LastFrameNo uint64             `json:"last_seq"`
}

// WriteRecordingJSON prints a recording as one line of JSON.
func WriteRecordingJSON(w io.Writer, i *store.Info) error {
	h, t, f := &i.Header, &i.Tally, &i.Tally.Facts
	j := jsonInfo{
		V: text.Version, Type: "recording", ID: h.ID, Path: i.Path, Label: h.Label, Start: h.Start,
		Transport: h.Transport, Command: h.Command, Dir: h.Dir, Program: h.Program, Platform: h.Platform, Upstream: h.Upstream, ReplayOf: h.ReplayOf,
		Status: i.Status.String(), Server: f.Server, Client: f.Client, Era: string(f.Era),
		Revision: string(f.Revision), Requested: string(f.Requested), Dialect: f.Dialect, Probe: f.Probe,
		Frames: t.Frames.Total(), FramesOf: t.Frames, Bytes: t.Bytes.Total(), BytesOf: t.Bytes, Errors: t.Errors, Exit: t.Exit,
		Gaps: i.Gaps, Duration: int64(i.Duration), SizeOnDisk: i.Size, LastFrameNo: i.Frames,
	}
	if h.Transport == "http" {
		j.Sessions = uint64(t.Sessions)
	}
	if i.Err != nil {
		j.Problem = fmt.Sprint(i.Err)
	}
	return term.WriteJSON(w, j)
}
