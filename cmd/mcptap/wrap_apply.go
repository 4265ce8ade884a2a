package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	clients "github.com/mcptap/mcptap/wrap" // wrap is what folds lines here
)

// apply wraps or unwraps, file by file. What fails in one leaves the others
// alone.
func (o *wrapOptions) apply(a *app, configs []config, names []string) error {
	t, err := o.tap(a)
	if err != nil {
		return err
	}
	plan, err := o.choose(a, configs, names)
	if err != nil {
		return err
	}
	w := wrapWriter(a)
	var failed []error
	changed := 0
	for i := range configs {
		n, err := o.applyTo(a, w, &configs[i], plan[i], t)
		changed += n
		if err != nil {
			failed = append(failed, err)
		}
	}
	if changed == 0 && len(failed) == 0 && !o.dryRun {
		a.say("nothing to change")
	}
	return errors.Join(append(failed, w.Flush())...)
}

// choose finds the entries to change, by index for each file.
func (o *wrapOptions) choose(a *app, configs []config, names []string) ([][]int, error) {
	plan := make([][]int, len(configs))
	missing := slices.Clone(names)
	origin := ""
	for i, c := range configs {
		if c.err != nil {
			a.say(c.err.Error())
			continue
		}
		for j, e := range c.file.Entries() {
			if !o.all && !slices.Contains(names, e.Name) {
				continue
			}
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == e.Name })
			if o.all && o.passOver(a, &c, &e) || e.Wrapped != o.undo {
				continue
			}
			if e.Kind == clients.URL && !o.undo && e.Problem == "" {
				if o.listen == "" {
					return nil, withHint(fmt.Errorf("%s in %s has a URL: a tap must run in front of it", quote(e.Name), c.place.Path),
						"`mcptap wrap "+e.Name+" --listen 127.0.0.1:8931` leads the client there and says what to run")
				}
				if origin == "" {
					origin = e.Origin()
				}
				if origin != e.Origin() {
					return nil, withHint(fmt.Errorf("%s and %s need a tap each", origin, e.Origin()), "wrap them by name, with a --listen of their own")
				}
			}
			plan[i] = append(plan[i], j)
		}
	}
	if len(missing) > 0 {
		return nil, withHint(fmt.Errorf("no client has a server %s", quote(missing[0])), "`mcptap wrap --list` shows them")
	}
	return plan, nil
}

// passOver leaves out of --all what cannot be wrapped, and says so.
func (o *wrapOptions) passOver(a *app, c *config, e *clients.Entry) bool {
	why := e.Problem
	if e.Kind == clients.URL && !o.undo && !e.Wrapped && o.listen == "" && why == "" {
		why = "it has a URL, and needs --listen"
	}
	if why == "" || e.Wrapped != o.undo {
		return false
	}
	a.say("left out: " + e.Name + " in " + c.place.Path + ": " + why)
	return true
}

// applyTo changes one file, and returns how many of its entries changed.
func (o *wrapOptions) applyTo(a *app, w io.Writer, c *config, entries []int, t clients.Tap) (int, error) {
	if len(entries) == 0 {
		return 0, nil
	}
	change := func(i int) (bool, error) { return c.file.Wrap(i, t) }
	if o.undo {
		change = c.file.Unwrap
	}
	var done []clients.Entry
	for _, i := range entries {
		changed, err := change(i)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.place.Path, err)
		}
		if changed {
			done = append(done, c.file.Entries()[i])
		}
	}
	if len(done) == 0 {
		return 0, nil
	}
	if o.dryRun {
		fmt.Fprintf(w, "%s\n", escape(c.place.Path))
		for line := range strings.Lines(c.file.Diff()) {
			fmt.Fprintf(w, "%s\n", escape(strings.TrimSuffix(line, "\n")))
		}
		return len(done), nil
	}
	backup, err := o.write(c)
	if err != nil {
		return 0, err
	}
	o.report(a, w, c, done, backup)
	return len(done), nil
}

// write replaces the file, after the backup is there.
func (o *wrapOptions) write(c *config) (backup string, err error) {
	path, now := c.place.Path, c.file.Bytes()
	if _, err := clients.Parse(now, c.place.TOML(), c.place.Sections); err != nil {
		return "", fmt.Errorf("%s was not written, as it could not be read any more: %w", path, err)
	}
	if !o.undo {
		was, err := clients.Without(c.src, c.place)
		if err != nil {
			return "", err
		}
		if backup, err = clients.WriteBackup(path, was); err != nil {
			return "", fmt.Errorf("a backup of %s: %w", path, err)
		}
	}
	if err := clients.Replace(path, c.src, now); err != nil {
		return "", err
	}
	if o.undo {
		return "", clients.DropBackup(path, now)
	}
	return backup, nil
}

func (o *wrapOptions) report(a *app, w io.Writer, c *config, done []clients.Entry, backup string) {
	word := "wrapped"
	if o.undo {
		word = "unwrapped"
	}
	for _, e := range done {
		fmt.Fprintf(w, "%s %s in %s (%s)\n", word, escape(e.Name), escape(c.place.Path), escape(c.place.Title))
	}
	if backup != "" {
		fmt.Fprintf(w, "what it was: %s\n", escape(backup))
	}
	for _, e := range done {
		if e.Kind == clients.URL && !o.undo {
			redact := map[bool]string{true: " --redact"}[o.redact]
			fmt.Fprintf(w, "run this while the client does: mcptap http %s --listen %s%s\n", escape(e.Origin()), escape(o.listen), redact)
			return
		}
	}
}
