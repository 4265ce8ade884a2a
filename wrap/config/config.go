// Package config finds the configuration files of clients, lists their servers, and wraps or unwraps
// those that the user names.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/wrap"
)

// A File is a configuration file that was found.
type File struct {
	Place wrap.Place
	*wrap.File
	Err error // why it cannot be read
}

// Find reads the files that exist: those of one client, or of all if client is "", or the one named with
// --config. It fails if that one cannot be read.
func Find(host wrap.Host, client, name string) ([]File, error) {
	places := host.Places()
	if name != "" {
		places = []wrap.Place{host.Place(name)}
	}
	var found []File
	for _, p := range places {
		if client != "" && p.Client != client && name == "" {
			continue
		}
		c := File{Place: p}
		c.File, c.Err = wrap.Load(p)
		if errors.Is(c.Err, fs.ErrNotExist) && name == "" {
			continue
		}
		if c.Err != nil && name != "" {
			if errors.Is(c.Err, fs.ErrNotExist) {
				return nil, fmt.Errorf("--config: %s does not exist", term.Quote(name))
			}
			return nil, c.Err
		}
		found = append(found, c)
	}
	return found, nil
}

// A Change describes the requested change.
type Change struct {
	All    bool
	Names  []string // server names, unless All is set
	Undo   bool     // unwrap
	DryRun bool     // print what would change
	Listen string   // the address of a tap in front of servers with a URL
	Flags  string   // further flags of that tap, quoted for a shell, each after a space
	Tap    wrap.Tap
	// Say reports what is skipped.
	Say func(string)
}

// Apply changes files one by one, and prints the changes. A failure in one file does not affect the
// others.
func (o *Change) Apply(w io.Writer, files []File) error {
	plan, err := o.choose(files)
	if err != nil {
		return err
	}
	var failed []error
	changed := 0
	for i := range files {
		n, err := o.applyTo(w, &files[i], plan[i])
		changed += n
		if err != nil {
			failed = append(failed, err)
		}
	}
	if changed == 0 && len(failed) == 0 {
		o.Say("nothing to change")
	}
	return errors.Join(failed...)
}

// choose returns the indexes of the entries to change, for each file.
func (o *Change) choose(files []File) ([][]int, error) {
	plan := make([][]int, len(files))
	missing := slices.Clone(o.Names)
	origin := ""
	for i, c := range files {
		if c.Err != nil {
			o.Say(c.Err.Error())
			continue
		}
		for j, e := range c.Entries() {
			if !o.All && !slices.Contains(o.Names, e.Name) {
				continue
			}
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == e.Name })
			if o.All && o.passOver(&c, &e) || e.Wrapped != o.Undo {
				continue
			}
			if e.Kind == wrap.URL && !o.Undo && e.Problem == "" {
				if o.Listen == "" {
					return nil, hint.With(fmt.Errorf("%s in %s has a URL: a tap must run in front of it", term.Quote(e.Name), c.Place.Path),
						"`mcptap wrap "+term.ShellQuote(e.Name)+" --listen 127.0.0.1:8931` points the client at that address and prints the command to run")
				}
				if origin == "" {
					origin = e.Origin()
				}
				if origin != e.Origin() {
					return nil, hint.With(fmt.Errorf("%s and %s need separate taps", origin, e.Origin()), "wrap each by name, and with --client if they have one name, with its own --listen")
				}
			}
			plan[i] = append(plan[i], j)
		}
	}
	if len(missing) > 0 {
		return nil, hint.With(fmt.Errorf("no client has a server named %s", term.Quote(missing[0])), "`mcptap wrap --list` lists them")
	}
	return plan, nil
}

// passOver reports whether --all skips an entry, and prints why.
func (o *Change) passOver(c *File, e *wrap.Entry) bool {
	why := e.Problem
	if e.Kind == wrap.URL && !o.Undo && !e.Wrapped && o.Listen == "" && why == "" {
		why = "it has a URL, and needs --listen"
	}
	if why == "" || e.Wrapped != o.Undo {
		return false
	}
	o.Say("skipped: " + e.Name + " in " + c.Place.Path + ": " + why)
	return true
}

// applyTo changes one file and returns how many of its entries changed.
func (o *Change) applyTo(w io.Writer, c *File, entries []int) (int, error) {
	if len(entries) == 0 {
		return 0, nil
	}
	change := func(i int) (bool, error) { return c.Wrap(i, o.Tap) }
	if o.Undo {
		change = c.Unwrap
	}
	var done []wrap.Entry
	for _, i := range entries {
		changed, err := change(i)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.Place.Path, err)
		}
		if changed {
			done = append(done, c.Entries()[i])
		}
	}
	if len(done) == 0 {
		return 0, nil
	}
	if o.DryRun {
		fmt.Fprintf(w, "%s\n", escape.String(c.Place.Path))
		for line := range strings.Lines(c.Diff()) {
			fmt.Fprintf(w, "%s\n", escape.String(strings.TrimSuffix(line, "\n")))
		}
		return len(done), nil
	}
	backup, err := c.Apply(o.Undo)
	if err != nil {
		return 0, err
	}
	o.report(w, c, done, backup)
	return len(done), nil
}

func (o *Change) report(w io.Writer, c *File, done []wrap.Entry, backup string) {
	word := "wrapped"
	if o.Undo {
		word = "unwrapped"
	}
	for _, e := range done {
		fmt.Fprintf(w, "%s %s in %s (%s)\n", word, escape.String(e.Name), escape.String(c.Place.Path), escape.String(c.Place.Title))
	}
	if backup != "" {
		fmt.Fprintf(w, "backup: %s\n", escape.String(backup))
	}
	for _, e := range done {
		if e.Kind == wrap.URL && !o.Undo {
			fmt.Fprintf(w, "start this before the client: mcptap http %s --listen %s%s\n", term.ShellQuote(e.Origin()), term.ShellQuote(o.Listen), o.Flags)
			return
		}
	}
}
