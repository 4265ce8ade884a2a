// Package load reads the recordings that `mcptap diff` compares. It assigns their frames to
// sessions, and finds the counterpart of each session.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/diff"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Differ reads recordings and compares their sessions.
type Differ struct {
	Ctx context.Context
	// Open opens the recording named by an argument. Say, if not nil, is called with lines about
	// what is not compared.
	Open func(ctx context.Context, arg string) (*recording.File, error)
	Say  func(line string)
	Opt  diff.Options
	Only *Only // the calls to compare, nil for all
	Set  *diffreport.Set
	// Skipped are the errors for the files in directories that cannot be compared.
	Skipped []string
}

// A Recording is a recording to compare.
type Recording struct {
	Rec  *store.Recording
	Name string
	Path string // of the file
	Info store.Info
	Text bool // the file is a text file
	// Session is the number of the only session to compare, 0 for all.
	Session int
}

const (
	// maxCompared is the size above which only the envelope and the size of a frame are compared.
	maxCompared = store.DefaultMaxRaw
	// heldFrames is the number of bytes of the first frames of a recording that are kept in
	// memory, in case they must be compared in full. framesAhead is the number of bytes of later
	// frames that are read together if they are requested in order.
	heldFrames  = 16 << 20
	framesAhead = 4 << 20
	// frameSize is the approximate size of a frame in memory, excluding its bytes.
	frameSize = 256
)

// Recordings compares two recordings.
func (d *Differ) Recordings(first, second string, baselines []string) error {
	a, err := d.Load(first)
	if err != nil {
		return err
	}
	b, err := d.Load(second)
	if err != nil {
		return err
	}
	more, err := d.Baselines(baselines)
	if err != nil {
		return err
	}
	return d.Both(a, b, more)
}

// Baselines reads the sessions of the recordings named by --baseline.
func (d *Differ) Baselines(names []string) (all [][]*diff.Session, err error) {
	for _, name := range names {
		c, err := d.Load(name)
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		sessions, err := d.Sessions(c)
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		all = append(all, sessions)
	}
	return all, nil
}

// Both compares the sessions of two recordings.
func (d *Differ) Both(a, b *Recording, baselines [][]*diff.Session) error {
	as, err := d.Read(a, nil)
	if err != nil {
		return err
	}
	bs, err := d.Sessions(b)
	if err != nil {
		return err
	}
	d.noteSessions(a, as, bs)
	d.noteSessions(b, bs, as)
	return d.Pairs(as, bs, baselines)
}

// noteSessions reports if only one of several sessions of a recording is compared.
func (d *Differ) noteSessions(r *Recording, sessions, others []*diff.Session) {
	if len(sessions) > 1 && len(others) == 1 {
		name := r.Info.Header.ID
		if r.Text {
			name = r.Path
		}
		d.say(fmt.Sprintf("%s has %d sessions; only one is compared (name another with %s#2)", term.Quote(r.Name), len(sessions), term.ShellQuote(name)))
	}
}

func (d *Differ) say(line string) {
	if d.Say != nil {
		d.Say(line)
	}
}

// Pairs compares the sessions of two recordings, each with its counterpart.
func (d *Differ) Pairs(as, bs []*diff.Session, baselines [][]*diff.Session) error {
	others, alone := matched(as, bs)
	bases := make([][]*diff.Session, len(baselines))
	for k, b := range baselines {
		bases[k], _ = matched(as, b)
	}
	for i, a := range as {
		if others[i] == nil {
			d.Set.Unpaired = append(d.Set.Unpaired, diffreport.Unpaired{Name: a.Name()})
			continue
		}
		opt := d.Opt
		for _, base := range bases {
			if base[i] != nil {
				opt.Baselines = append(opt.Baselines, base[i])
			}
		}
		r, err := diff.Compare(a, others[i], opt)
		if err != nil {
			return err
		}
		d.Set.Reports = append(d.Set.Reports, r)
	}
	for _, b := range alone {
		d.Set.Unpaired = append(d.Set.Unpaired, diffreport.Unpaired{Second: true, Name: b.Name()})
	}
	return nil
}

// matched finds the counterpart of each session, nil for none, and the remaining sessions.
// Several clients of one server may come in any order, so sessions are matched first by client
// name and then, if there is no such session, in order.
func matched(as, bs []*diff.Session) (others, alone []*diff.Session) {
	byClient := map[string][]*diff.Session{}
	for _, b := range bs {
		name := b.Side().Client.Name
		byClient[name] = append(byClient[name], b)
	}
	others = make([]*diff.Session, len(as))
	taken := map[*diff.Session]bool{}
	for i, a := range as {
		name := a.Side().Client.Name
		if same := byClient[name]; len(same) > 0 {
			others[i], byClient[name] = same[0], same[1:]
			taken[same[0]] = true
		}
	}
	for _, b := range bs {
		if !taken[b] {
			alone = append(alone, b)
		}
	}
	for i := range as {
		if others[i] == nil && len(alone) > 0 {
			others[i], alone = alone[0], alone[1:]
		}
	}
	return others, alone
}

// Load opens a recording to compare.
func (d *Differ) Load(arg string) (*Recording, error) {
	file, err := d.Open(d.Ctx, arg)
	if err != nil {
		return nil, err
	}
	c, err := NewRecording(file.Recording)
	if err != nil {
		return nil, err
	}
	if c.Text = file.Text != nil; c.Text {
		c.Name, c.Path = file.Name, file.Name
		c.Info = store.Info{Header: file.Text.Header, Gaps: file.Text.Gaps} // as in the file
		c.Session = file.Session
		return c, nil
	}
	c.Session, err = recording.Selected(file.Recording, file.Session)
	return c, err
}

// NewRecording returns a Recording for an open recording.
func NewRecording(rec *store.Recording) (*Recording, error) {
	rec.SetMaxRaw(maxCompared)
	info, err := rec.Info()
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(info.Header.Label + " " + info.Header.ID)
	if name == "" {
		name = filepath.Base(rec.Path())
	}
	return &Recording{Rec: rec, Name: name, Path: rec.Path(), Info: info}, nil
}

// Each calls fn for each frame, until fn fails or ctx is done.
func (c *Recording) Each(ctx context.Context, fn func(f *tap.Frame) error) error {
	var frame tap.Frame // reused, because it escapes to the heap
	for f, err := range c.Rec.Frames(0) {
		if err == nil && f.Seq%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil {
			frame = f
			err = fn(&frame)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return nil
}

// Sessions reads the sessions of any recording but the first, in order. It ignores frame numbers
// in --only, which refer to the first recording.
func (d *Differ) Sessions(c *Recording) ([]*diff.Session, error) {
	other := *d
	if d.Only != nil && d.Only.Filter == nil {
		other.Only = nil
	}
	return other.Read(c, nil)
}

// Read reads the sessions of a recording; see sessionReader.
func (d *Differ) Read(c *Recording, seen func(*session.Entry, bool)) ([]*diff.Session, error) {
	r := sessionReader{
		Recording: c, only: d.Only, seen: seen, made: map[int]*diff.Session{},
		held: FrameCache{From: c, first: map[uint64]tap.Frame{}},
	}
	if err := r.firstPass(d.Ctx); err != nil {
		return nil, err
	}
	if err := c.Each(d.Ctx, r.add); err != nil {
		return nil, err
	}
	r.end()
	if len(r.all) == 0 {
		if c.Session > 0 {
			return nil, fmt.Errorf("%s has no session #%d", term.Quote(c.Name), c.Session)
		}
		r.all = append(r.all, r.begin(0))
		r.all[0].End()
	}
	return r.all, nil
}

// A FrameCache reads frames of a recording a second time. Frames are requested nearly in order,
// and opening the file for each would take most of the time.
type FrameCache struct {
	From *Recording
	// first holds the first frames. bytes is their size in memory.
	first map[uint64]tap.Frame
	bytes int64
	// ahead holds the frames that were last read together, in order.
	ahead []tap.Frame
	last  uint64 // the number of the last frame requested
}

// keep stores a frame if there is room.
func (c *FrameCache) keep(f *tap.Frame) {
	if size := f.Size + frameSize; c.bytes+size <= heldFrames {
		c.bytes += size
		c.first[f.Seq] = *f
	}
}

// Get returns a frame.
func (c *FrameCache) Get(seq uint64) (tap.Frame, error) {
	if f, ok := c.first[seq]; ok {
		return f, nil
	}
	i, ok := slices.BinarySearchFunc(c.ahead, seq, func(f tap.Frame, seq uint64) int { return cmp.Compare(f.Seq, seq) })
	if ok {
		c.last = seq
		return c.ahead[i], nil
	}
	const window = 64 // for larger gaps, reading all frames in between is unlikely to pay off
	inOrder := seq > c.last && seq-c.last <= window
	c.last = seq
	if inOrder {
		return c.read(seq)
	}
	return c.checked(c.From.Rec.Frame(seq))
}

// read reads a frame and some of the following ones.
func (c *FrameCache) read(seq uint64) (tap.Frame, error) {
	clear(c.ahead)
	c.ahead = c.ahead[:0]
	size := int64(0)
	for f, err := range c.From.Rec.Frames(seq - 1) {
		if err != nil {
			return c.checked(f, err)
		}
		c.ahead = append(c.ahead, f)
		if size += f.Size + frameSize; size >= framesAhead {
			break
		}
	}
	if len(c.ahead) == 0 || c.ahead[0].Seq != seq {
		return c.checked(c.From.Rec.Frame(seq))
	}
	return c.ahead[0], nil
}

// checked adds the path of the recording to an error about a missing frame.
func (c *FrameCache) checked(f tap.Frame, err error) (tap.Frame, error) {
	if errors.Is(err, store.ErrNoFrame) {
		err = fmt.Errorf("a frame of %s can no longer be read: %w", c.From.Path, err)
	}
	return f, err
}
