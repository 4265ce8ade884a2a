// Package run plays a recorded client to a live server, records the new session, and compares
// the two.
package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/diff/load"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/replay/report"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/streamable"
)

// ErrNo is returned by a run with a negative result, which has been reported.
var ErrNo = errors.New("the recordings differ")

// A Run plays a recording to a server and compares the result.
type Run struct {
	Differ load.Differ
	Play   client.Options
	Server endpoint.Server // without To, the server is a command
	Edits  []Edit          // to the chosen calls
	// Label is that of the new recording, "" for that of the old one.
	Label, Version      string
	Update, Yes, NoSave bool
	Baselines           []string
	NeverFail           bool   // differences are not failures
	Format              string // of the report, "" for text

	Dir     func() (string, error) // of the new recording
	Ask     func(question string) bool
	Say     func(string)
	Out     io.Writer
	Printer func(io.Writer) *term.Printer
	// Write writes the comparison after a head. Warn warns about options that had no effect.
	Write func(set *diffreport.Set, head func(*term.Printer) error) error
	Warn  func(*diff.Options)

	arg      string
	from     *load.Recording
	plan     *client.Plan // nil once it has been played
	requests int          // in the plan
	old      []*diff.Session

	// chosen are the calls to edit, and resent those that were sent, in order. inCall and
	// inRequest are the edited members that calls and requests have.
	chosen            map[session.Ref]*report.Resent
	resent            []*report.Resent
	inCall, inRequest map[place]bool

	notes []client.Note
	id    string // of the new recording
	made  string // its path
}

// Do plays the named recording to a command or, if Server has a URL, to that URL. It returns
// [ErrNo] if the recordings differ, or part of the session was not played.
func (r *Run) Do(name string, command []string) error {
	if len(r.Edits) > 0 {
		r.chosen, r.Play.Edit = map[session.Ref]*report.Resent{}, r.edited
		r.inCall, r.inRequest = map[place]bool{}, map[place]bool{}
	}
	if err := r.read(name); err != nil {
		return err
	}
	err := r.perform(command)
	if err != nil {
		return err
	}
	r.plan = nil // the comparison needs the memory
	if len(r.Edits) > 0 {
		err = r.writeResent()
	} else {
		err = r.report(r.Differ.Set)
	}
	return errors.Join(err, r.forget())
}

// read reads the recording, for the plan and the comparison.
func (r *Run) read(name string) (err error) {
	r.arg = name
	if r.Update && recording.IsBundle(name) {
		err := errors.New("--update cannot replace the recording in a bundle")
		return hint.With(err, "`mcptap import` makes a recording of it")
	}
	if r.from, err = r.Differ.Load(name); err != nil {
		return err
	}
	ahead := load.FrameCache{From: r.from} // reading one frame takes as long as reading many
	planner := client.NewPlanner(ahead.Get)
	seen := planner.Add
	if r.chosen != nil {
		seen = func(e *session.Entry, marked bool) {
			planner.Add(e, marked)
			r.choose(e, marked)
		}
	}
	if r.old, err = r.Differ.Read(r.from, seen); err != nil {
		return err
	}
	if err := r.Differ.Only.Check(); err != nil {
		return err
	}
	if len(r.old) > 1 {
		return hint.With(fmt.Errorf("%s has %s; name one to play", term.Quote(name), term.Plural(len(r.old), "session", "sessions")),
			"such as "+name+"#1")
	}
	if r.Update && r.from.Session > 0 {
		return hint.With(errors.New("--update would also replace the other sessions of the recording"),
			"`mcptap export "+name+" -o FILE` writes one session")
	}
	r.plan = planner.Plan(r.Differ.Only != nil)
	if r.requests = r.plan.Requests(); r.plan.Steps() == 0 {
		return hint.With(fmt.Errorf("%s has no session to play", term.Quote(name)), "`mcptap show` lists its contents")
	}
	return nil
}

// perform plays and records the session.
func (r *Run) perform(command []string) error {
	dir, err := r.Dir()
	if err != nil {
		return err
	}
	var cfg streamable.Config
	h := r.header(command)
	if r.Server.To != "" {
		if cfg, err = r.Server.Config(); err != nil {
			return err
		}
		h.Transport, h.Upstream = "http", cfg.Upstream.Scheme+"://"+cfg.Upstream.Host
	}
	var broken error
	rec := store.Create(dir, h, store.Options{Warn: func(err error) { broken = err }})
	r.id, r.made = rec.Header().ID, rec.Path()
	r.Play.Note = func(n client.Note) { r.notes = append(r.notes, n) }
	if cfg.Upstream == nil {
		err = client.Play(r.Differ.Ctx, r.plan, client.Stdio(command, rec), r.Play)
	} else {
		err = r.overHTTP(cfg, rec)
	}
	rec.Close()
	var none *client.ReachError
	if errors.As(err, &none) {
		// Nothing was played, so the new recording is useless.
		return errors.Join(r.unreached(none), store.Remove(r.made), broken)
	}
	if err != nil && r.NoSave {
		err = errors.Join(err, store.Remove(r.made))
	}
	return errors.Join(err, broken)
}

// unreached returns an error for a server that opened no session, with advice.
func (r *Run) unreached(e *client.ReachError) error {
	to := r.Server.To
	if u, err := url.Parse(to); err == nil {
		u.RawQuery, u.Fragment = "", "" // they may contain a key
		to = u.Redacted()
	}
	text := e.Error()
	advice := "check that it is running and that the address is correct"
	switch {
	case e.Status >= 300 && e.Status < 400 && e.Location != "":
		advice = "it redirects to " + e.Location
	case e.Status == 401 || e.Status == 403:
		advice = "add a token with --header 'Authorization: Bearer …'"
	case e.Status == 404 || e.Status == 405:
		advice = "check the path: usually /mcp, or /sse for HTTP+SSE (--transport sse)"
	case e.Status > 0:
		advice = "check the URL, or set --transport"
	case strings.Contains(text, "certificate"):
		advice = "use --ca-file for a private certificate authority"
	}
	if e.Status > 0 {
		text = "the server at " + to + " did not open a session: " + text
	} else if strings.Contains(text, " could not be reached: ") {
		_, why, _ := strings.Cut(text, " could not be reached: ")
		text = "the server at " + to + " could not be reached: " + why
	}
	return hint.With(fmt.Errorf("--to: %s", text), advice)
}

// header returns the header of the new recording.
func (r *Run) header(command []string) tap.Header {
	dir, _ := os.Getwd()
	return tap.Header{
		Label: cmp.Or(r.Label, r.from.Info.Header.Label), Transport: "stdio", Command: command, Dir: dir,
		Program: "mcptap " + r.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ReplayOf: cmp.Or(r.from.Info.Header.ID, "a file"),
	}
}

// overHTTP plays to a URL through a new tap.
func (r *Run) overHTTP(cfg streamable.Config, rec *store.Recorder) error {
	conn, closeTap, err := r.Server.Dial(cfg, rec, r.plan.SSE())
	if err != nil {
		return err
	}
	return errors.Join(client.Play(r.Differ.Ctx, r.plan, conn, r.Play), closeTap())
}

// summary returns the part of the report about the replay itself.
func (r *Run) summary() *report.Report {
	s := &report.Report{Of: r.from.Name, Requests: r.requests, Notes: r.notes}
	if !r.NoSave {
		s.ID, s.Path = r.id, r.made
	}
	if slices.ContainsFunc(r.notes, func(n client.Note) bool { return n.Kind == client.NoteDied || n.Kind == client.NoteTimeout }) {
		s.Stderr = lastStderr(r.made)
	}
	return s
}

// stderrLines is the number of last lines of the server's stderr that are reported.
const stderrLines = 5

// lastStderr returns the last lines of stderr in the readable part of a recording.
func lastStderr(path string) (last []string) {
	rec, err := store.Open(path)
	if err != nil {
		return nil
	}
	for f, err := range rec.Frames(0) {
		if err != nil {
			break
		}
		if line := strings.TrimSpace(string(f.Raw)); f.Lane == tap.Stderr && line != "" {
			last = append(last[max(0, len(last)-stderrLines+1):], line[:min(len(line), maxStderrLine)])
		}
	}
	return last
}

// maxStderrLine is the maximum number of bytes reported of a line.
const maxStderrLine = 1000

// head returns a function that prints the part of the report about the replay itself. For formats
// that cannot contain it, head prints it to stderr and returns nil.
func (r *Run) head() func(*term.Printer) error {
	switch r.Format {
	case "json":
		return r.summary().JSON
	case "", "text":
		return r.summary().Text
	}
	r.summary().Say(func(line string) { r.Say("replay: " + line) })
	return nil
}

// differs reports whether the recordings differ.
func (r *Run) differs(set *diffreport.Set) bool {
	return len(set.Unpaired) > 0 || slices.ContainsFunc(set.Reports, func(x *diff.Report) bool {
		_, any := x.Worst()
		return any
	})
}

// report compares the two recordings and writes the report.
func (r *Run) report(set *diffreport.Set) error {
	r.Differ.Only = nil // it selected calls of the old recording
	r.Differ.Opt.Lost = report.Lost(r.notes)
	made, err := r.Differ.Load(r.made)
	if err != nil {
		return err
	}
	if r.NoSave { // its id will not exist
		made.Name = "replay of " + r.from.Name
	}
	bs, err := r.Differ.Sessions(made)
	if err != nil {
		return err
	}
	more, err := r.Differ.Baselines(r.Baselines)
	if err != nil {
		return err
	}
	if err := r.Differ.Pairs(r.old, bs, more); err != nil {
		return err
	}
	if err := r.Write(set, r.head()); err != nil {
		return err
	}
	r.Warn(&r.Differ.Opt)
	if r.Update && r.differs(set) {
		return r.update()
	}
	if set.Failed() || !r.NeverFail && r.cut() {
		return ErrNo
	}
	return nil
}

// cut reports whether the server exited before the session was complete, opened no session, or
// spoke a revision other than --revision. That is a failure whatever the comparison shows, because
// the other responses are unknown.
func (r *Run) cut() bool {
	return slices.ContainsFunc(r.notes, func(n client.Note) bool {
		return n.Kind == client.NoteDied || n.Kind == client.NoteUnsent || n.Kind == client.NoteVersion ||
			n.Kind == client.NoteRefused && (n.Method == "initialize" || n.Method == "server/discover")
	})
}

// unanswered reports whether no request got a response: each such request has a note.
func (r *Run) unanswered() bool {
	lost := 0
	for _, n := range r.notes {
		if (n.Kind == client.NoteTimeout || n.Kind == client.NoteRefused) && !strings.HasPrefix(n.Method, "notifications/") {
			lost++
		}
	}
	return lost > 0 && lost >= r.requests
}

// update replaces the old recording with the new one, if the user confirms. A text file keeps its
// format; a recording keeps its id and its label. A partial replay replaces nothing: it would
// destroy most of a recording that cannot be repeated.
func (r *Run) update() error {
	if r.cut() || r.unanswered() {
		r.Say("nothing was replaced: part of the session was not played, or the server sent no response")
		return ErrNo
	}
	if !r.Yes && !r.Ask("Replace "+escape.String(r.from.Name)+" with the new recording?") {
		r.Say("nothing was replaced")
		return ErrNo
	}
	made, err := store.Open(r.made)
	if err != nil {
		return err
	}
	made.SetMaxRaw(math.MaxInt64)
	if r.from.Text {
		err = recording.SaveText(r.Differ.Ctx, r.arg, made)
	} else {
		err = r.rewriteRecording(made)
	}
	if err != nil {
		return fmt.Errorf("--update: %w", err)
	}
	return store.Remove(r.made)
}

// rewriteRecording overwrites a recording with the new one.
func (r *Run) rewriteRecording(made *store.Recording) error {
	info, err := made.Info()
	if err != nil {
		return err
	}
	h := info.Header
	h.ID, h.Label = r.from.Info.Header.ID, r.from.Info.Header.Label
	return recording.Save(r.from.Path, func(name string) error {
		return recording.Copy(r.Differ.Ctx, name, h, made, nil)
	})
}
