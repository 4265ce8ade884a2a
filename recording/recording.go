// Package recording opens the recording that a user names, and copies, converts and saves
// recordings. A name is the path, id or label of a recording, or the path of a text or a
// bundle; with #2 at the end it names a session.
//
// Commands read all of these as recordings in the file format of package store:
// [Opener.Open] makes a temporary one from a text or a bundle.
package recording

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
)

// A Source is a recording that is read from its first frame to its last: all of it, the
// readable part of it, or a session of it.
type Source interface {
	// Info describes the recording as it is now.
	Info() (store.Info, error)
	// Frames yields the frames with a number above after, as far as they exist now.
	Frames(after uint64) iter.Seq2[tap.Frame, error]
	// WriteRaw writes all bytes of the frame that was yielded last.
	WriteRaw(w io.Writer, f tap.Frame) error
}

// Each calls do for each frame of a recording as it is now. It stops at an error and at the
// end of ctx.
func Each(ctx context.Context, src Source, do func(*tap.Frame)) error {
	for f, err := range until(ctx, src.Frames(0)) {
		if err != nil {
			return err
		}
		do(&f)
	}
	return nil
}

// until yields frames until an error or the end of ctx, which it yields as an error.
func until(ctx context.Context, frames iter.Seq2[tap.Frame, error]) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		for f, err := range frames {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(tap.Frame{}, err)
				return
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

// An Opener opens the recording that a user names.
type Opener struct {
	// Dir returns the data directory, which holds the recordings that are not named by
	// a path.
	Dir func() (string, error)
	// Temp makes a directory for recordings made from texts and bundles. The caller
	// removes it.
	Temp func() (string, error)
	// Now returns the time, for a text without one.
	Now func() time.Time
	// Label returns the label of a recording that has none, by the command of its
	// server, which may be empty, and the name of its file.
	Label func(command []string, file string) string
}

// A File is an open recording.
type File struct {
	*store.Recording
	// Name is the argument without the session.
	Name string
	// Session is the number of the session that was named, 0 for all.
	Session int
	// Text is the head of the text that the recording was made from, unchanged, or nil if
	// it was not made from a text.
	Text *text.Head
}

// Open opens the recording that arg names. Whether the session exists is not checked.
func (o *Opener) Open(ctx context.Context, arg string) (*File, error) {
	file := &File{}
	path, err := o.find(ctx, arg, file)
	if err == nil {
		file.Recording, err = store.Open(path)
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Path returns the path of the recording that arg names, which may be damaged, and the
// number of the session, 0 for all.
func (o *Opener) Path(ctx context.Context, arg string) (path string, session int, err error) {
	var file File
	path, err = o.find(ctx, arg, &file)
	return path, file.Session, err
}

// find finds or makes the recording that arg names, and describes it.
func (o *Opener) find(ctx context.Context, arg string, file *File) (path string, err error) {
	file.Name, file.Session, err = store.CutSession(arg)
	switch {
	case err != nil: // it may be a label
	case IsBundle(file.Name):
		return o.fromBundle(ctx, file.Name)
	case IsText(file.Name):
		return o.fromText(ctx, file)
	}
	dir, err := o.Dir()
	if err != nil {
		return "", err
	}
	path, file.Session, err = store.Resolve(dir, arg)
	return path, err
}

// Source returns the session that was named, or the whole recording.
func (f *File) Source(ctx context.Context) (Source, error) {
	if f.Session == 0 {
		return f.Recording, nil
	}
	return Session(ctx, f.Recording, f.Session)
}

// Selected returns the number of the session to select among the frames of a recording,
// 0 for all. It is an error if a recording on stdio has no such session; how many
// sessions HTTP traffic has is known only after reading it.
func Selected(rec *store.Recording, number int) (int, error) {
	if number == 0 {
		return 0, nil
	}
	info, err := rec.Info()
	switch {
	case err != nil:
		return 0, err
	case info.Header.Transport == "http":
		return number, nil
	case number > 1:
		return 0, NoSession(rec.Path(), 1, number)
	}
	return 0, nil
}

// NoSession returns the error for a session that a recording with n sessions lacks.
func NoSession(path string, n, number int) error {
	sessions := "one session"
	if n != 1 {
		sessions = fmt.Sprintf("%d sessions", n)
	}
	return fmt.Errorf("%q has %s, so there is no #%d", filepath.Base(path), sessions, number)
}

// TextSession returns the name of the text that arg names, and the number of its
// session, 0 for all. It reports false if arg does not name a text.
func TextSession(arg string) (name string, session int, ok bool) {
	name, session, err := store.CutSession(arg)
	return name, session, err == nil && IsText(name)
}

// IsDir reports whether an argument names a directory. If it is also the label of a recording, it
// names the directory only if that has recordings or texts of them.
func (o *Opener) IsDir(arg string) bool {
	if info, err := os.Stat(arg); err != nil || !info.IsDir() {
		return false
	}
	dir, err := o.Dir()
	if err != nil || len(store.Labelled(dir, arg)) == 0 {
		return true
	}
	infos, _ := store.List(arg)
	texts, _ := Texts(arg)
	return len(infos)+len(texts) > 0
}

// IsText reports whether a file is not a recording. Recordings have zero bytes near
// their start, texts have none. A file that cannot be read is a text, so that reading it
// reports the error.
func IsText(name string) bool {
	if strings.HasSuffix(name, store.Ext) || !isRegular(name) {
		return false
	}
	head, err := headOf(name, 4096)
	return err != nil || bytes.IndexByte(head, 0) < 0
}

// IsRecording reports whether a file is one, by its extension or its first bytes.
func IsRecording(name string) bool { return isRegular(name) && !IsText(name) && !IsBundle(name) }

// Texts returns the paths of the texts in a directory, by name: files with the extension
// of an export.
func Texts(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ext := filepath.Ext(path); (ext == ".ndjson" || ext == ".txtar") && IsText(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// IsBundle reports whether a file is a zip archive, which bundles are.
func IsBundle(name string) bool {
	if !isRegular(name) {
		return false
	}
	head, _ := headOf(name, 4)
	return string(head) == "PK\x03\x04" || string(head) == "PK\x05\x06"
}

func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// headOf returns the first bytes of a file.
func headOf(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// A sessionSource is one session of a recording: its frames, and before them the start of
// the run. They are renumbered, as if there had been nothing else.
type sessionSource struct {
	rec    *store.Recording
	number int
	survey *session.Survey
	// now is the frame yielded last, as recorded.
	now tap.Frame
}

// Session finds the frames of a session of a recording, which takes a pass over it. A
// session that does not exist is an error.
func Session(ctx context.Context, rec *store.Recording, number int) (Source, error) {
	s := &sessionSource{rec: rec, number: number, survey: session.NewSurvey(false)}
	if err := Each(ctx, rec, s.survey.Add); err != nil {
		return nil, err
	}
	s.survey.End(0)
	if n := s.survey.Sessions(); number > n {
		return nil, NoSession(rec.Path(), n, number)
	}
	return s, nil
}

// Info implements [Source]. Gaps are left out: which session lacks the frames is
// not known, and the numbers are those of the recording.
func (s *sessionSource) Info() (store.Info, error) {
	info, err := s.rec.Info()
	info.Header.Label += fmt.Sprintf("#%d", s.number)
	info.Gaps = nil
	return info, err
}

// Frames implements [Source].
func (s *sessionSource) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		tracker := session.Tracker{Survey: s.survey}
		seq := uint64(0)
		for f, err := range s.rec.Frames(0) {
			if err == nil {
				e := tracker.Add(&f)
				if e.Session != s.number && !(e.Event.Name == tap.EventStart && f.Exchange == 0) {
					continue
				}
			}
			s.now = f
			if seq++; err == nil && seq <= after {
				continue
			}
			f.Seq = seq
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// WriteRaw implements [Source].
func (s *sessionSource) WriteRaw(w io.Writer, _ tap.Frame) error { return s.rec.WriteRaw(w, s.now) }

// Read yields the frames of a recording after a number, until ctx is done. With follow, it waits
// for later frames of a live recording.
func Read(ctx context.Context, rec *store.Recording, after uint64, follow bool) iter.Seq2[tap.Frame, error] {
	if follow {
		return rec.Follow(ctx, after)
	}
	return until(ctx, rec.Frames(after))
}
