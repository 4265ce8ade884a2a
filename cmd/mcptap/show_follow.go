package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const (
	// joinPause is the poll interval for new recordings.
	joinPause = 200 * time.Millisecond
	// arrivals is how many frames of all recordings are buffered to be sorted.
	arrivals = 128
)

// several follows several recordings. A goroutine reads each, and keeps no file open
// between reads; one goroutine does everything else.
type several struct {
	ctx    context.Context
	a      *app
	o      *showOptions
	want   *selection
	in     chan arrival
	listed map[string]bool // by path
	labels map[string]bool
	open   []*followed
	began  bool // a first line was printed
	found  bool
}

// A followed is one of several recordings.
type followed struct {
	*lister
	last  uint64 // the last frame that was taken
	ended bool   // it had when it was joined
	over  bool   // no more of it is wanted
	ctx   context.Context
	stop  context.CancelFunc
}

// An arrival is a frame, or the end, of a recording.
type arrival struct {
	from  *followed
	frame tap.Frame
	over  bool
	err   error
}

// at is the wall clock at the frame.
func (x *arrival) at() time.Time { return x.from.info.Header.Start.Add(x.frame.At) }

func followSeveral(ctx context.Context, a *app, o *showOptions, words *showWords, want *selection) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &several{ctx: ctx, a: a, o: o, want: want, in: make(chan arrival, arrivals), listed: map[string]bool{}, labels: map[string]bool{}}
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	var paths []string
	for _, arg := range words.recordings {
		if arg == "@live" {
			paths = append(paths, liveIn(dir)...)
			continue
		}
		path, err := a.find(arg)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		a.say("no recording in " + dir + " is live; waiting for one to start")
	}
	for _, path := range paths {
		if err := s.join(path); err != nil {
			return err
		}
	}
	if err := s.backlog(); err != nil {
		return err
	}
	running := 0
	for _, f := range s.open {
		if f.ended {
			if err := s.take(&arrival{from: f, over: true}); err != nil {
				return err
			}
			continue
		}
		running++
		go s.follow(f, f.last)
	}
	var look <-chan time.Time
	if words.all {
		tick := time.NewTicker(joinPause)
		defer tick.Stop()
		look = tick.C
	}
	if err := s.run(dir, running, look); err != nil {
		return err
	}
	if !s.found && !want.everything() {
		a.say("nothing matched")
		return exitCode(exitNo)
	}
	return nil
}

// liveIn returns the recordings in a directory that are being written. It opens
// none of them.
func liveIn(dir string) (paths []string) {
	queues, _ := fs.Glob(os.DirFS(dir), "*"+store.Ext+store.QueueExt)
	for _, q := range queues {
		if path := filepath.Join(dir, strings.TrimSuffix(q, store.QueueExt)); store.IsLive(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// join begins to list a recording, once.
func (s *several) join(path string) error {
	if s.listed[path] {
		return nil
	}
	rec, err := store.Open(path)
	if err != nil {
		return err
	}
	info, err := rec.Info()
	if err != nil {
		return err
	}
	label := cmp.Or(info.Header.Label, info.Header.ID)
	if s.labels[label] { // as that of another
		label = info.Header.ID
	}
	l, err := newLister(s.ctx, s.a, s.o, rec, info, s.want, label)
	if err != nil {
		return err
	}
	s.listed[path], s.labels[label] = true, true
	f := &followed{lister: l, ended: info.Status != store.Live}
	f.ctx, f.stop = context.WithCancel(s.ctx)
	s.open = append(s.open, f)
	return nil
}

// backlog prints what the recordings have already, merged by the wall clock.
func (s *several) backlog() error {
	var heads []arrival
	var nexts []func() (tap.Frame, error, bool)
	for _, f := range s.open {
		next, stop := iter.Pull2(readFrames(s.ctx, f.rec, f.last+1, false))
		defer stop()
		if frame, err, ok := next(); ok {
			heads = append(heads, arrival{from: f, frame: frame, err: err})
			nexts = append(nexts, next)
		}
	}
	for len(heads) > 0 {
		i := 0
		for k := range heads {
			if heads[k].at().Before(heads[i].at()) {
				i = k
			}
		}
		if err := s.take(&heads[i]); err != nil {
			return err
		}
		frame, err, ok := nexts[i]()
		if ok {
			heads[i] = arrival{from: heads[i].from, frame: frame, err: err}
			continue
		}
		heads, nexts = slices.Delete(heads, i, i+1), slices.Delete(nexts, i, i+1)
	}
	return nil
}

// follow hands over what comes after a frame.
func (s *several) follow(f *followed, after uint64) {
	send := func(x arrival) bool {
		select {
		case s.in <- x:
			return true
		case <-s.ctx.Done():
			return false
		}
	}
	for frame, err := range f.rec.Follow(f.ctx, after) {
		if !send(arrival{from: f, frame: frame, err: err}) || err != nil {
			return
		}
	}
	send(arrival{from: f, over: true})
}

// run prints frames until all running recordings have ended, or without end if others
// may start.
func (s *several) run(dir string, running int, look <-chan time.Time) error {
	for running > 0 || look != nil {
		select {
		case <-s.ctx.Done():
			return s.interrupted()
		case <-look:
			for _, path := range liveIn(dir) {
				n := len(s.open)
				if err := s.join(path); err != nil {
					return err
				}
				if len(s.open) > n {
					running++
					go s.follow(s.open[n], s.open[n].last)
				}
			}
		case x := <-s.in:
			ended, err := s.batch(x)
			if err != nil {
				return err
			}
			running -= ended
		}
	}
	return nil
}

// batch takes what is there now, in the order of the wall clock, and returns how
// many recordings have ended.
func (s *several) batch(x arrival) (ended int, err error) {
	all := []arrival{x}
	for len(all) < arrivals && len(s.in) > 0 {
		all = append(all, <-s.in)
	}
	slices.SortStableFunc(all, func(a, b arrival) int {
		switch { // an end has no time, and is the last of its recording
		case a.over != b.over:
			return map[bool]int{true: 1, false: -1}[a.over]
		case a.over:
			return 0
		}
		return a.at().Compare(b.at())
	})
	for i := range all {
		if err := s.take(&all[i]); err != nil {
			return ended, err
		}
		if all[i].over {
			ended++
		}
	}
	return ended, nil
}

// take prints what has arrived.
func (s *several) take(x *arrival) error {
	f := x.from
	if x.err != nil {
		return x.err
	}
	if !x.over && x.frame.Seq > f.last {
		f.last = x.frame.Seq
	}
	if f.over {
		return nil
	}
	before := f.lines
	if f.rows != nil && s.began {
		f.rows.skipHeader()
	} else if f.byCall != nil && s.began {
		f.byCall.out.skipHeader()
	}
	var err error
	if x.over {
		f.over = true
		err = f.finish(s.ctx)
	} else if f.over, err = f.frame(s.ctx, &x.frame); f.over && err == nil {
		f.partial = true
		err = f.finish(s.ctx)
	}
	s.began = s.began || f.lines > before
	s.found = s.found || f.lines > 0
	if f.over {
		f.stop()
	}
	return err
}

// interrupted prints the calls that have not ended.
func (s *several) interrupted() error {
	err := s.ctx.Err()
	for _, f := range s.open {
		if f.byCall != nil && !f.over {
			err = errors.Join(err, f.byCall.finish(), f.w.Flush())
		}
	}
	return err
}
