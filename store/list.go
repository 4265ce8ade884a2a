package store

import (
	"cmp"
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
	// Ended means that the tap recorded its traffic to the end.
	Ended Status = iota
	// Live means that a running tap writes the recording.
	Live
	// Cut means that the tap was killed or the machine stopped. The recording is complete
	// up to that moment, unless it was made from a damaged one.
	Cut
	// Damaged means that the file, or a part of it, cannot be read.
	Damaged
	// Denied means that there is no permission to read the file.
	Denied
)

// Unreadable reports whether the status is Damaged or Denied.
func (s Status) Unreadable() bool { return s >= Damaged }

// String returns ended, live, cut, damaged or denied.
func (s Status) String() string {
	return [...]string{"ended", "live", "cut", "damaged", "denied"}[s]
}

// Info describes a recording without reading its frames.
type Info struct {
	// Path is the recording's file.
	Path string
	// Header is the header of the recording. For a damaged file, it has only what the file name
	// contains.
	Header tap.Header
	// Tally summarizes the frames, for a live recording the committed ones.
	Tally session.Tally
	// Err is the reason for the status Damaged or Denied, or why the queue of a recording with
	// the status Cut could not be appended.
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

// ExtendLive sets the duration of a live recording to the time until now, so that pending
// requests show how long they have waited.
func (i *Info) ExtendLive(now time.Time) {
	if i.Status == Live {
		i.Duration = max(i.Duration, now.Sub(i.Header.Start))
	}
}

// lacking adds the error that prevented the queue of a dead tap from being appended.
func (i Info) lacking(drainErr error) Info {
	if i.Status == Cut && i.Err == nil {
		i.Err = drainErr
	}
	return i
}

// readInfo describes the recording at path, as far as it can be read.
func readInfo(path string) (Info, error) {
	i := Info{Path: path, Status: Cut}
	if IsLive(path) { // before reading, so that nothing written before the end is missed
		i.Status = Live
	}
	if info, err := os.Stat(path); err == nil {
		i.Size = info.Size()
	}
	sum, err := readSummary(path)
	if err != nil {
		i.Header, i.Status, i.Err = headerFromName(path), Damaged, err
		if errors.Is(err, fs.ErrPermission) {
			i.Status = Denied
		}
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
	if sum.short && i.Status != Live {
		i.Status, i.Err = Damaged, damaged(path, errors.New("the file is truncated"))
	}
	return i, nil
}

// Stat describes the recording at path. It never fails: for an unreadable file, the Info
// has the error and the header from the name.
func Stat(path string) Info {
	drainErr := drainIfDead(context.Background(), path)
	i, err := readInfo(path)
	none := errors.Is(err, fs.ErrNotExist)
	switch {
	case (none || errors.Is(err, ErrNotRecording)) && IsLive(path):
		i.Status, i.Err = Live, nil // the tap has not created the file yet
		if f, err := os.Open(path + QueueExt); err == nil {
			if q, err := readDead(f); err == nil {
				i.Header = q.header
			}
			f.Close()
		}
	case none && drainErr != nil:
		i.Err = drainErr
	}
	return i.lacking(drainErr)
}

// IsLive reports whether a running tap writes the recording at path: whether it holds its
// queue.
func IsLive(path string) bool { return held(path + QueueExt) }

// List describes the recordings in dir, the newest first. It reads no frames. A
// dir that does not exist has none.
func List(dir string) ([]Info, error) {
	infos, err := named(dir)
	for n := range infos {
		infos[n] = Stat(infos[n].Path)
	}
	infos = slices.DeleteFunc(infos, func(i Info) bool { return errors.Is(i.Err, fs.ErrNotExist) }) // removed in the meantime
	slices.SortStableFunc(infos, newestFirst)
	return infos, err
}

func newestFirst(a, b Info) int {
	return cmp.Or(b.Header.Start.Compare(a.Header.Start), strings.Compare(b.Path, a.Path))
}

// recordingsIn returns the names of the recordings in dir, sorted. They include those with
// only a queue, whose tap was killed before it created the file. It removes the remains of
// taps killed even earlier.
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
	slices.Sort(names) // a.mcptap and a.mcptap.queue may not be adjacent
	return slices.Compact(names), nil
}

// Remove deletes the recording at path and its queue. It refuses a live one with [ErrLive],
// and a file that is not a recording.
func Remove(path string) error {
	if IsLive(path) {
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
		return nil // there was only a queue
	}
	return os.Remove(path)
}

// nameTime is the format of the start in a file's name.
const nameTime = "20060102T150405.000Z"

// headerFromName is the inverse of [FileName], as far as possible.
func headerFromName(path string) (h tap.Header) {
	name := strings.TrimSuffix(filepath.Base(path), Ext)
	if first, rest, ok := strings.Cut(name, "-"); ok {
		if t, err := time.Parse(nameTime, first); err == nil {
			h.Start, name = t, rest
		}
	}
	if i := strings.LastIndexByte(name, '-'); i >= 0 && IsID(name[i+1:]) {
		name, h.ID = name[:i], name[i+1:]
	}
	h.Label = name
	return h
}

// IsID reports whether s is a recording's id: eight lower-case hex digits.
func IsID(s string) bool {
	return len(s) == 8 && strings.Trim(s, "0123456789abcdef") == ""
}
