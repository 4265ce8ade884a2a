package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/demo"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

const demoLong = `Records two sessions between a built-in client and a built-in server, one with the
handshake of 2025-11-25 and one in 2026-07-28, and lists their frames. It takes a few
seconds and needs no network.`

// demoRows is the number of rows that the demo shows of each recording.
const demoRows = 9

func newDemo(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Record two sessions of a built-in client and server",
		Long:  demoLong,
		Args:  takes(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:    "serve",
		Short:  "Run the demo's server on stdin and stdout",
		Args:   takes(0, 0, ""),
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Serve(cmd.Context(), os.Stdin, os.Stdout, a.stderr)
		},
	})
	return cmd
}

// A demoSession is one of the two sessions of the demo.
type demoSession struct{ revision, about string }

var demoSessions = []demoSession{
	{demo.Handshake, "with a handshake; the server may send requests to the client"},
	{demo.Stateless, "without a handshake; every request describes itself"},
}

func runDemo(ctx context.Context, a *app) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the mcptap executable: %w", err)
	}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	name := invocation(self, os.Args[0])
	l := a.printer(a.stdout)
	l.Printf("mcptap records two sessions between a client and a server.\nRecordings are written to %s\n", safe.String(dir))
	var made []demoResult
	for i, s := range demoSessions {
		label := "demo-" + s.revision
		command := []string{self, "stdio", "--dir", dir, "--label", label, "--", self, "demo", "serve"}
		l.Printf("\n%s\n  %s stdio --label %s -- %s demo serve\n\n",
			l.Paint(fmt.Sprintf("%d. Revision %s: %s", i+1, s.revision, s.about), term.Bold), name, label, name)
		began := time.Now()
		err := demo.Drive(ctx, s.revision, command, func(done string) { l.Printf("  - %s\n", safe.String(done)) })
		if err != nil {
			return hint.With(err, "the recording up to that point: `"+name+" show @last`")
		}
		res, err := demoShow(a, l, dir, label, began)
		if err != nil {
			return err
		}
		made = append(made, res)
	}
	flag := a.dirArg()
	l.Printf("\n%s\n", l.Paint("Try:", term.Bold))
	for _, line := range [][2]string{
		{"ls" + flag, "all recordings"},
		{"show" + flag + " " + made[0].id, "the frames of the first one"},
		{fmt.Sprintf("show%s %s %d", flag, made[0].id, made[0].call), "one frame in full"},
		{"export" + flag + " " + made[1].id + " --format txtar", "the second one as a transcript"},
		{"stdio -- YOUR SERVER…", "to record your own server"},
	} {
		l.Printf("  %s  %s\n", term.Pad(name+" "+line[0], len(name)+len(flag)+34, false), l.Paint(line[1], term.Dim))
	}
	return l.Err
}

// A demoResult is what the closing suggestions refer to.
type demoResult struct {
	id   string
	call uint64 // the number of the frame to suggest
}

// demoShow prints the totals of a recording and its first rows.
func demoShow(a *app, l *term.Printer, dir, label string, began time.Time) (res demoResult, err error) {
	info, err := newestNamed(dir, label, began)
	if err != nil {
		return res, err
	}
	rec, err := store.Open(info.Path)
	if err != nil {
		return res, err
	}
	res = demoResult{info.Header.ID, 2}
	l.Printf("\n  Recorded as %s: %s, %s, %s (intended), in %s.\n\n", info.Header.ID,
		term.Plural(info.Tally.Frames.Total(), "frame", "frames"), view.Size(int64(info.Tally.Bytes.Total())),
		term.Plural(info.Tally.Errors, "error", "errors"), view.Took(info.Duration))
	w := bufio.NewWriter(&indenter{w: a.stdout})
	rows := a.printer(w)
	if rows.Width > 0 {
		rows.Width = max(rows.Width-2, term.MinWidth)
	}
	p := listing.NewFrames(rows, info)
	var tracker session.Tracker
	for f, err := range rec.Frames(0) {
		if err != nil {
			return res, err
		}
		r := view.NewRow(tracker.Add(&f))
		if r.Method == "tools/call" && r.Kind == "request" && res.call == 2 {
			res.call = f.Seq
		}
		if f.Seq <= demoRows {
			err = p.Row(&r, nil)
		} else if res.call > 2 {
			break
		}
		if err != nil {
			return res, err
		}
	}
	if err := w.Flush(); err != nil {
		return res, err
	}
	if info.Frames > demoRows {
		l.Printf("  %s\n", l.Paint(fmt.Sprintf("… and %d more", info.Frames-demoRows), term.Dim))
	}
	return res, l.Err
}

// newestNamed returns the newest recording with a label.
func newestNamed(dir, label string, began time.Time) (store.Info, error) {
	infos, err := store.List(dir)
	if err != nil {
		return store.Info{}, err
	}
	for _, i := range infos {
		if i.Header.Label == label && !i.Header.Start.Before(began.Add(-time.Second)) {
			return i, nil
		}
	}
	return store.Info{}, errors.New("the session was not recorded")
}

// invocation returns the command that starts this program.
func invocation(self, typed string) string {
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "go run ./cmd/mcptap" // self is deleted when it exits
	}
	if found, err := exec.LookPath("mcptap"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "mcptap"
		}
	}
	return term.ShellQuote(typed)
}

// An indenter puts two spaces before each line.
type indenter struct {
	w   io.Writer
	mid bool // within a line
}

func (i *indenter) Write(p []byte) (int, error) {
	var out []byte
	for _, c := range p {
		if !i.mid {
			out = append(out, "  "...)
		}
		out = append(out, c)
		i.mid = c != '\n'
	}
	_, err := i.w.Write(out)
	return len(p), err
}
