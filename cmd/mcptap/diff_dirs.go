package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/store"
)

// directories compares the recordings of two directories that have one label. Of
// several with one label the oldest is compared with the oldest. The processes
// that a client only starts to ask what the server speaks are kept apart.
func (d *differ) directories(first, second string) error {
	as, err := d.labelled(first)
	if err != nil {
		return err
	}
	bs, err := d.labelled(second)
	if err != nil {
		return err
	}
	later := map[string][]*compared{}
	for _, b := range bs {
		later[b.label()] = append(later[b.label()], b)
	}
	var alone []diffreport.Unpaired
	for _, a := range as {
		same := later[a.label()]
		if len(same) == 0 {
			alone = append(alone, diffreport.Unpaired{Name: a.name})
			continue
		}
		later[a.label()] = same[1:]
		if err := d.both(a, same[0], nil); err != nil {
			return err
		}
	}
	for _, b := range bs {
		if slices.Contains(later[b.label()], b) {
			alone = append(alone, diffreport.Unpaired{Second: true, Name: b.name})
		}
	}
	d.set.Unpaired = append(alone, d.set.Unpaired...)
	return nil
}

// label is what recordings of two directories are paired by.
func (c *compared) label() string {
	if c.info.Tally.Facts.Probe {
		return c.info.Header.Label + "\x00probe"
	}
	return c.info.Header.Label
}

// labelled opens the recordings of a directory, and the texts of such, in the
// order of their starts. What cannot be read is left out, and said.
func (d *differ) labelled(dir string) ([]*compared, error) {
	var all []*compared
	infos, err := store.List(dir)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		c, err := openCompared(info.Path)
		switch {
		case err == nil:
			all = append(all, c)
		case !errors.Is(err, store.ErrNotRecording):
			d.a.say(fmt.Sprintf("left out: %v", err))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if ext := filepath.Ext(name); ext != ".ndjson" && ext != ".txtar" || !isTextFile(name) {
			continue
		}
		c, err := openText(name)
		if err != nil {
			d.a.say(fmt.Sprintf("left out: %v", err))
			continue
		}
		if c.info.Header.Label == "" {
			c.info.Header.Label = strings.TrimSuffix(e.Name(), filepath.Ext(name))
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no recordings in %s", dir)
	}
	slices.SortStableFunc(all, func(a, b *compared) int { return a.info.Header.Start.Compare(b.info.Header.Start) })
	return all, nil
}
