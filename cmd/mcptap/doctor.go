package main

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"
)

const doctorLong = `Looks at what mcptap needs and says what is wrong with it: the program, the data
directory, whether a recording can be made there, room on the disk, the recordings
that are there, the MCPTAP_ variables, and the clients with their servers.

It changes nothing. Exit status 1 means that something does not work as it is.`

// A health is what a check comes to.
type health uint8

const (
	healthy health = iota
	doubtful
	broken
)

// String returns ok, warning or problem.
func (h health) String() string { return [...]string{"ok", "warning", "problem"}[h] }

func (h health) style() style { return [...]style{green, magenta, red}[h] }

// A finding is one line of what doctor says.
type finding struct {
	what   string // the thing that was looked at
	health health
	text   string
	hint   string // what to do about it
}

// jsonFinding is a finding in `doctor --json`. The names are stable.
type jsonFinding struct {
	V      int    `json:"v"`
	Type   string `json:"type"` // "check"
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warning or problem
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

type doctorOptions struct{ json bool }

func newDoctor(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with the set-up",
		Long:  doctorLong,
		Args:  takes(0, 0, ""),
		RunE:  func(*cobra.Command, []string) error { return o.run(a) },
	}
	addJSON(cmd, &o.json)
	return cmd
}

func (o *doctorOptions) run(a *app) error {
	all := a.examine()
	w := bufio.NewWriter(a.stdout)
	bad := false
	l := lines{w: w}
	p := a.palette()
	for _, f := range all {
		bad = bad || f.health == broken
		if o.json {
			l.err = errors.Join(l.err, writeJSON(w, jsonFinding{jsonVersion, "check", f.what, f.health.String(), f.text, f.hint}))
			continue
		}
		l.printf("%s  %s  %s\n", pad(f.what, 10, false), p.paint(pad(f.health.String(), 7, false), f.health.style()), escape(f.text))
		if f.hint != "" {
			l.printf("%21s%s\n", "", escape("→ "+f.hint))
		}
	}
	if err := errors.Join(l.err, w.Flush()); err != nil {
		return err
	}
	if bad {
		return exitCode(exitNo)
	}
	return nil
}

// examine looks at everything.
func (a *app) examine() []finding {
	all := []finding{examineProgram()}
	if dir, err := a.dataDir(); err != nil {
		all = append(all, finding{"directory", broken, err.Error(), hintFor(err)})
	} else {
		all = append(all, a.examineDir(dir), a.examineRecording(dir), examineDisk(dir), examineRecordings(dir))
	}
	all = append(all, a.examineSettings()...)
	return append(all, a.examineClients()...)
}
