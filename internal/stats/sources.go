package stats

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
)

// A Source is a recording or, if session is set, one of its sessions.
type Source struct {
	Path    string
	Session int
}

// Sources returns the recordings that the arguments name, each once, and the number of
// unreadable ones in directories.
func Sources(
	args []string, isDir func(string) bool, find func(arg string) (path string, session int, err error), say func(string),
) (found []Source, leftOut int, err error) {
	for _, arg := range args {
		if isDir(arg) {
			inside, unreadable, err := recordingsIn(arg, find, say)
			if err != nil {
				return nil, 0, err
			}
			leftOut += unreadable
			for _, path := range inside {
				found = append(found, Source{Path: path})
			}
			continue
		}
		path, session, err := find(arg)
		if err != nil {
			return nil, 0, err
		}
		found = append(found, Source{path, session})
	}
	seen := map[Source]bool{}
	return slices.DeleteFunc(found, func(one Source) bool {
		name, err := filepath.Abs(one.Path)
		key := Source{name, one.Session}
		again := err == nil && seen[key]
		seen[key] = true
		return again
	}), leftOut, nil
}

// recordingsIn returns the recordings in a directory, oldest first, and those made from exports in it.
// It reports, counts and omits unreadable ones.
func recordingsIn(dir string, find func(string) (string, int, error), say func(string)) (paths []string, unreadable int, err error) {
	infos, err := store.List(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, info := range slices.Backward(infos) {
		switch {
		case !info.Status.Unreadable():
			paths = append(paths, info.Path)
		case !errors.Is(info.Err, store.ErrNotRecording):
			unreadable++
			say(fmt.Sprintf("skipped: %v", info.Err))
		}
	}
	texts, err := recording.Texts(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, text := range texts {
		path, _, err := find(text)
		if err != nil {
			unreadable++
			say(fmt.Sprintf("skipped: %v", err))
			continue
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, 0, fmt.Errorf("no recordings in %s", dir)
	}
	return paths, unreadable, nil
}
