// Package source provides the viewer with the recordings of a directory: it lists, opens and compares
// them.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/diff/load"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/web"
)

// Files are the recordings of a directory, and optionally one from another directory. Files implements
// [web.Source].
type Files struct {
	dir  string
	more string // the path of the one from another directory

	mu    sync.Mutex
	paths map[string]string // by key, as last listed
}

// New returns the recordings of a directory.
func New(dir string) *Files { return &Files{dir: dir, paths: map[string]string{}} }

// Include adds a recording to the list, and returns its key.
func (s *Files) Include(path string) string {
	if filepath.Dir(path) != filepath.Clean(s.dir) {
		s.more = path
	}
	all, _ := s.Recordings() // the page reports the error
	for _, r := range all {
		if wholefile.SamePath(r.Path, path) {
			return r.Key
		}
	}
	return ""
}

// Recordings implements [web.Source]. It caches the paths.
func (s *Files) Recordings() ([]web.Recording, error) {
	infos, err := store.List(s.dir)
	if err != nil {
		return nil, err
	}
	if s.more != "" {
		if info := store.Stat(s.more); !errors.Is(info.Err, fs.ErrNotExist) {
			infos = append([]store.Info{info}, infos...)
		}
	}
	count := map[string]int{}
	for i := range infos {
		count[infos[i].Header.ID]++
	}
	all := make([]web.Recording, len(infos))
	paths := make(map[string]string, len(infos))
	for i, info := range infos {
		key := info.Header.ID
		if !store.IsID(key) || count[key] > 1 {
			key = filepath.Base(info.Path)
		}
		all[i] = web.Recording{Info: info, Key: key, Arg: s.Arg(info.Path)}
		paths[key] = info.Path
	}
	s.mu.Lock()
	s.paths = paths
	s.mu.Unlock()
	return all, nil
}

// Arg returns the argument that names a recording in commands: its path if it is not in the directory,
// or "" for its id.
func (s *Files) Arg(path string) string {
	if wholefile.SamePath(filepath.Dir(path), s.dir) {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Open implements [web.Source].
func (s *Files) Open(key string) (web.Reader, error) {
	rec, err := s.recording(key)
	if err != nil {
		return web.Reader{}, err
	}
	return web.Reader{FrameReader: rec, Key: key, Arg: s.Arg(rec.Path())}, nil
}

// recording opens the recording with a key.
func (s *Files) recording(key string) (*store.Recording, error) {
	s.mu.Lock()
	path := s.paths[key]
	s.mu.Unlock()
	if path == "" {
		all, err := s.Recordings()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(r web.Recording) bool { return r.Key == key })
		if i < 0 {
			return nil, fmt.Errorf("no such recording: %w", fs.ErrNotExist)
		}
		path = all[i].Path
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !store.IsLive(path) {
		return nil, err
	}
	return store.Open(path)
}

// maxSideDifferences limits the differences per class that a page receives.
const maxSideDifferences = 300

// Compare implements [web.Source].
func (s *Files) Compare(ctx context.Context, a, b web.Side) (*web.Comparison, error) {
	set := &diffreport.Set{}
	d := load.Differ{Ctx: ctx, Set: set, Opt: diff.Options{Rows: diff.DefaultRows, Most: maxSideDifferences, Check: ctx.Err}}
	var sides [2]*load.Recording
	for i, side := range []web.Side{a, b} {
		rec, err := s.recording(side.Key)
		if err != nil {
			return nil, err
		}
		if sides[i], err = load.NewRecording(rec); err != nil {
			return nil, err
		}
		if sides[i].Session, err = recording.Selected(rec, side.Session); err != nil {
			return nil, err
		}
	}
	if err := d.Both(sides[0], sides[1], nil); err != nil {
		return nil, err
	}
	out := &web.Comparison{Sessions: []*diffreport.Sides{}, Unpaired: []web.Unpaired{}}
	for _, r := range set.Reports {
		out.Sessions = append(out.Sessions, diffreport.NewSides(r))
	}
	for _, u := range set.Unpaired {
		side := "a"
		if u.Second {
			side = "b"
		}
		out.Unpaired = append(out.Unpaired, web.Unpaired{Side: side, Name: u.Name})
	}
	return out, nil
}
