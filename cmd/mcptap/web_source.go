package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcptap/mcptap/diff"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/web"
)

// A webSource gives the viewer the recordings of a directory, and optionally one from
// elsewhere.
type webSource struct {
	dir  string
	more string // the path of the one from elsewhere

	mu    sync.Mutex
	paths map[string]string // by key, as they were listed last
}

func newWebSource(dir string) *webSource { return &webSource{dir: dir, paths: map[string]string{}} }

// include adds a recording to the list, and returns its key.
func (s *webSource) include(path string) string {
	if filepath.Dir(path) != filepath.Clean(s.dir) {
		s.more = path
	}
	_, _ = s.list() // the page reports the error
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, p := range s.paths {
		if samePath(p, path) {
			return key
		}
	}
	return ""
}

func samePath(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

// list describes the recordings and remembers where they are.
func (s *webSource) list() ([]store.Info, error) {
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
	paths := make(map[string]string, len(infos))
	for i := range infos {
		paths[keyOf(&infos[i], count)] = infos[i].Path
	}
	s.mu.Lock()
	s.paths = paths
	s.mu.Unlock()
	return infos, nil
}

// Recordings implements [web.Source].
func (s *webSource) Recordings() ([]web.Recording, error) {
	infos, err := s.list()
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for i := range infos {
		count[infos[i].Header.ID]++
	}
	all := make([]web.Recording, len(infos))
	for i := range infos {
		all[i] = webRecording(&infos[i], keyOf(&infos[i], count))
		all[i].Arg = s.arg(infos[i].Path)
	}
	return all, nil
}

// arg returns the argument that names a recording in commands, "" for its id: a path if
// it is not in the directory.
func (s *webSource) arg(path string) string {
	if samePath(filepath.Dir(path), s.dir) {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func webRecording(i *store.Info, key string) web.Recording {
	r := web.Recording{
		Key: key, Path: i.Path, Header: i.Header, Tally: i.Tally, Status: i.Status.String(), Last: i.Frames,
		Gaps: i.Gaps, Duration: i.Duration, Size: i.Size,
	}
	if i.Err != nil {
		r.Problem = i.Err.Error()
	}
	return r
}

// Open implements [web.Source].
func (s *webSource) Open(key string) (web.Reader, error) {
	rec, err := s.recording(key)
	if err != nil {
		return nil, err
	}
	return &webReader{rec: rec, key: key, arg: s.arg(rec.Path())}, nil
}

// recording opens the recording of a key.
func (s *webSource) recording(key string) (*store.Recording, error) {
	path, ok := s.path(key)
	if !ok {
		if _, err := s.list(); err != nil {
			return nil, err
		}
		if path, ok = s.path(key); !ok {
			return nil, fmt.Errorf("%w: %w", errNoRecording, fs.ErrNotExist)
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !store.IsLive(path) {
		return nil, err
	}
	return store.Open(path)
}

func (s *webSource) path(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, ok := s.paths[key]
	return path, ok
}

// Formats implements [web.Source].
func (s *webSource) Formats() []web.Format {
	return []web.Format{
		{Name: "ndjson", Ext: "ndjson", About: "complete, for programs and mcptap import", Type: "application/x-ndjson"},
		{Name: "txtar", Ext: "txtar", About: "a transcript to read and edit", Type: "text/plain; charset=utf-8"},
		{Name: "har", Ext: "har", About: "for the network panel of a browser", Type: "application/json"},
		{Name: "otlp", Ext: "otlp.json", About: "OpenTelemetry traces", Type: "application/json"},
		{Name: "mermaid", Ext: "mmd", About: "a diagram for Markdown", Type: "text/plain; charset=utf-8"},
	}
}

// A webReader is a recording for the viewer.
type webReader struct {
	rec *store.Recording
	key string
	arg string
}

// Recording implements [web.Reader].
func (r *webReader) Recording() (web.Recording, error) {
	info, err := r.rec.Info()
	if err != nil {
		return web.Recording{}, err
	}
	rec := webRecording(&info, r.key)
	rec.Arg = r.arg
	return rec, nil
}

// Frame implements [web.Reader].
func (r *webReader) Frame(seq uint64) (tap.Frame, error) { return r.rec.Frame(seq) }

// Frames implements [web.Reader].
func (r *webReader) Frames(after uint64) iter.Seq2[tap.Frame, error] { return r.rec.Frames(after) }

// Follow implements [web.Reader].
func (r *webReader) Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error] {
	return r.rec.Follow(ctx, after)
}

// WriteRaw implements [web.Reader].
func (r *webReader) WriteRaw(w io.Writer, f tap.Frame) error { return r.rec.WriteRaw(w, f) }

// Export implements [web.Reader].
func (r *webReader) Export(ctx context.Context, w io.Writer, format string) error {
	return recording.Export(ctx, w, format, r.rec, programVersion())
}

// maxSideDifferences limits the differences per class that a page receives.
const maxSideDifferences = 300

// Compare implements [web.Source].
func (s *webSource) Compare(ctx context.Context, a, b web.Side) (*web.Comparison, error) {
	set := &diffreport.Set{}
	d := differ{ctx: ctx, set: set, opt: diff.Options{Rows: diff.DefaultRows, Most: maxSideDifferences, Check: ctx.Err}}
	var sides [2][]*diff.Session
	for i, side := range []web.Side{a, b} {
		rec, err := s.recording(side.Key)
		if err != nil {
			return nil, err
		}
		c, err := openCompared(rec.Path())
		if err != nil {
			return nil, err
		}
		if c.session, err = recording.Selected(rec, side.Session); err != nil {
			return nil, err
		}
		if sides[i], err = d.sessions(c); err != nil {
			return nil, err
		}
	}
	if err := d.pairs(sides[0], sides[1], nil); err != nil {
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
