package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Status is the state of the run that made a recording.
type Status uint8

const (
	// Ended means that the tap recorded until its traffic was over.
	Ended Status = iota
	// Live means that a running tap still writes it.
	Live
	// Cut means that the tap was killed or the machine stopped: what is there
	// is complete up to the moment, the rest never was.
	Cut
	// Damaged means that the file cannot be read as it is.
	Damaged
)

// String returns ended, live, cut or damaged.
func (s Status) String() string {
	switch s {
	case Ended:
		return "ended"
	case Live:
		return "live"
	case Cut:
		return "cut"
	}
	return "damaged"
}

// Info describes a recording without reading its frames.
type Info struct {
	// Path is the recording's file.
	Path string
	// Header is what was known at the start. Of a damaged file only what its
	// name contains.
	Header tap.Header
	// Tally summarises the frames; of a live recording those committed yet.
	Tally session.Tally
	// Status is live, ended, cut or damaged. Err is why it is damaged, or why what
	// a cut one still has in its queue could not be appended.
	Status Status
	Err    error
	// Frames is the last frame number.
	Frames uint64
	// Gaps are the frame numbers that crossed unrecorded.
	Gaps []tap.Range
	// Duration is the offset of the end, or of the last frame.
	Duration time.Duration
	// Size is the size of the file, in bytes.
	Size int64
}

// lacking notes why a dead tap's queue could not be drained, if it could not.
func (i Info) lacking(drainErr error) Info {
	if i.Status == Cut && i.Err == nil {
		i.Err = drainErr
	}
	return i
}

// readInfo describes the recording at path, as far as it can be read.
func readInfo(path string) (Info, error) {
	i := Info{Path: path, Status: Cut}
	if queueAlive(path) { // before reading: what it wrote before it ended is then read
		i.Status = Live
	}
	if info, err := os.Stat(path); err == nil {
		i.Size = info.Size()
	}
	sum, err := readSummary(path)
	if err != nil {
		i.Header, i.Status, i.Err = headerFromName(path), Damaged, err
		return i, err
	}
	i.Header, i.Tally, i.Frames, i.Gaps = sum.header, sum.tally, sum.state.NextSeq-1, sum.state.Gaps
	i.Duration = max(sum.state.LastAt, sum.tally.Last)
	if sum.end != nil {
		i.Duration = sum.end.At
		if i.Status = Ended; sum.end.Cut {
			i.Status = Cut
		}
	}
	return i, nil
}

// Stat describes the recording at path. It never fails: for a file that cannot
// be read, the Info has the error, and the header that the name contains.
func Stat(path string) Info {
	drainErr := drainIfDead(context.Background(), path)
	i, err := readInfo(path)
	none := errors.Is(err, fs.ErrNotExist)
	switch {
	case (none || errors.Is(err, ErrNotRecording)) && queueAlive(path):
		i.Status, i.Err = Live, nil // its tap has not made the file yet
	case none && drainErr != nil:
		i.Err = drainErr
	}
	return i.lacking(drainErr)
}

// IsLive reports whether a running tap writes the recording at path.
func IsLive(path string) bool { return queueAlive(path) }

// List describes the recordings in dir, the newest first. It reads no frames. A
// dir that does not exist has none.
func List(dir string) ([]Info, error) {
	infos, err := named(dir)
	for n := range infos {
		infos[n] = Stat(infos[n].Path)
	}
	infos = slices.DeleteFunc(infos, func(i Info) bool { return errors.Is(i.Err, fs.ErrNotExist) }) // removed meanwhile
	slices.SortStableFunc(infos, newestFirst)
	return infos, err
}

func newestFirst(a, b Info) int {
	if c := b.Header.Start.Compare(a.Header.Start); c != 0 {
		return c
	}
	return strings.Compare(b.Path, a.Path)
}

// recordingsIn returns the names of the recordings in dir, in the order of their
// names. One that is only a queue yet, because its tap was killed before it
// could make the file, counts too; one killed before that has left nothing, and
// that is swept up here.
func recordingsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), Ext+newExt) || strings.HasSuffix(e.Name(), Ext+QueueExt+newExt) {
			removeUnborn(filepath.Join(dir, e.Name()))
			continue
		}
		name := strings.TrimSuffix(e.Name(), QueueExt)
		if filepath.Ext(name) == Ext && !e.IsDir() && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names) // a.mcptap and a.mcptap.queue need not be neighbours
	return slices.Compact(names), nil
}

// Remove deletes the recording at path with its queue. A live one is refused
// with [ErrLive], and so is a file that is not a recording.
func Remove(path string) error {
	if queueAlive(path) {
		return fmt.Errorf("remove %s: %w: stop its client first", path, ErrLive)
	}
	info, err := os.Stat(path)
	if err == nil && (info.Size() > 0 || filepath.Ext(path) != Ext) {
		if verr := readVersion(path); errors.Is(verr, ErrNotRecording) {
			return fmt.Errorf("remove: %w; delete it by other means", verr)
		}
	}
	queueErr := os.Remove(path + QueueExt)
	if errors.Is(err, fs.ErrNotExist) && queueErr == nil {
		return nil // it was only a queue
	}
	return os.Remove(path)
}

// nameTime is the format of the start in a file's name.
const nameTime = "20060102T150405.000Z"

// headerFromName is the inverse of [FileName], as far as it can be.
func headerFromName(path string) (h tap.Header) {
	name := strings.TrimSuffix(filepath.Base(path), Ext)
	if first, rest, ok := strings.Cut(name, "-"); ok {
		if t, err := time.Parse(nameTime, first); err == nil {
			h.Start, name = t, rest
		}
	}
	if i := strings.LastIndexByte(name, '-'); i >= 0 && isID(name[i+1:]) {
		name, h.ID = name[:i], name[i+1:]
	}
	h.Label = name
	return h
}

// isID reports whether s is a recording's id: eight lower-case hex digits.
func isID(s string) bool {
	return len(s) == 8 && strings.Trim(s, "0123456789abcdef") == ""
}
