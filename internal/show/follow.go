package show

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// JoinPause is the poll interval for new recordings.
	JoinPause = 200 * time.Millisecond
	// waitPause is the poll interval for calls that are selected once they have waited long enough.
	waitPause = 200 * time.Millisecond
	// arrivals is the number of frames, of all recordings, that are buffered for sorting.
	arrivals = 128
)

// several follows recordings. One goroutine per recording reads it, and keeps no file open between
// reads; a single goroutine does everything else.
type several struct {
	ctx     context.Context
	o       *Options
	sel     view.Selection
	in      chan arrival
	open    []*followed
	running int  // number of recordings that may have more frames
	began   bool // the first item was printed
}

// A followed is one of several recordings.
type followed struct {
	*lister
	path string
	more bool   // there may be frames after the backlog
	read uint64 // the last frame that was listed
	over bool   // no more frames are needed
	stop context.CancelFunc
}

// An arrival is a frame, or the end, of a recording.
type arrival struct {
	from  *followed
	frame tap.Frame
	over  bool
	err   error
}

// compare orders arrivals by wall-clock time. The end of a recording comes last.
func (x *arrival) compare(y *arrival) int {
	switch {
	case x.over && y.over:
		return 0
	case x.over:
		return 1
	case y.over:
		return -1
	}
	return x.from.start.Add(x.frame.At).Compare(y.from.start.Add(y.frame.At))
}

// Several lists recordings together, in order of wall-clock time, and then follows them. With all, it
// also follows recordings in dir that start later. It returns [ErrNone] if nothing matched.
func Several(ctx context.Context, o *Options, sel view.Selection, dir string, paths []string, all bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &several{ctx: ctx, o: o, sel: sel, in: make(chan arrival, arrivals)}
	if len(paths) == 0 {
		o.Say("no recording in " + dir + " is live; waiting for one to start")
	}
	for _, path := range paths {
		if err := s.join(path); err != nil {
			return err
		}
	}
	if err := s.backlog(); err != nil {
		return err
	}
	if err := s.start(s.open); err != nil {
		return err
	}
	var poll <-chan time.Time
	if all {
		tick := time.NewTicker(JoinPause)
		defer tick.Stop()
		poll = tick.C
	}
	if err := s.run(dir, poll); err != nil {
		return err
	}
	if !s.began && (sel.Picks() || o.Since != "" || o.Until != "") {
		o.Say("nothing matched")
		return ErrNone
	}
	return nil
}

// followOne follows one recording.
func followOne(ctx context.Context, o *Options, l *lister) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &several{ctx: ctx, o: o, sel: l.Selection, in: make(chan arrival, arrivals)}
	s.open = []*followed{{lister: l, more: true}}
	if err := s.start(s.open); err != nil {
		return err
	}
	return s.run("", nil)
}

// join adds a recording if it was not added before.
func (s *several) join(path string) error {
	if slices.ContainsFunc(s.open, func(f *followed) bool { return f.path == path }) {
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
	if slices.ContainsFunc(s.open, func(f *followed) bool { return f.label == label }) {
		label = info.Header.ID
	}
	l, err := newLister(s.ctx, s.o, rec, info, s.sel, label)
	if err != nil {
		return err
	}
	s.open = append(s.open, &followed{lister: l, path: path, more: info.Status == store.Live})
	return nil
}

// backlog prints the existing frames of all recordings, merged by wall-clock time.
func (s *several) backlog() error {
	type head struct {
		arrival
		next func() (tap.Frame, error, bool)
	}
	var heads []*head
	advance := func(h *head) (ok bool) {
		h.frame, h.err, ok = h.next()
		return ok
	}
	for _, f := range s.open {
		next, stop := iter.Pull2(recording.Read(s.ctx, f.rec, f.read, false))
		defer stop()
		if h := (&head{arrival{from: f}, next}); advance(h) {
			heads = append(heads, h)
		}
	}
	for len(heads) > 0 {
		h := slices.MinFunc(heads, func(a, b *head) int { return a.compare(&b.arrival) })
		if err := s.take(&h.arrival); err != nil {
			return err
		}
		if !advance(h) {
			heads = slices.DeleteFunc(heads, func(other *head) bool { return other == h })
		}
	}
	return nil
}

// start follows the recordings that may have more frames and ends the others.
func (s *several) start(added []*followed) error {
	for _, f := range added {
		if f.over {
			continue
		}
		s.running++
		if f.more {
			ctx, stop := context.WithCancel(s.ctx)
			f.stop = stop
			go s.follow(ctx, f, f.read)
		} else if err := s.take(&arrival{from: f, over: true}); err != nil {
			return err
		}
	}
	return nil
}

// follow sends the frames after a number, and the end of the recording.
func (s *several) follow(ctx context.Context, f *followed, after uint64) {
	send := func(x arrival) bool {
		select {
		case s.in <- x:
			return true
		case <-s.ctx.Done():
			return false
		}
	}
	for frame, err := range f.rec.Follow(ctx, after) {
		if !send(arrival{from: f, frame: frame, err: err}) || err != nil {
			return
		}
	}
	send(arrival{from: f, over: true})
}

// run prints frames until all live recordings have ended. If poll is set, it never ends, and poll
// reports when to look for new recordings.
func (s *several) run(dir string, poll <-chan time.Time) error {
	var wait <-chan time.Time
	if s.o.ByCall() && s.sel.Needs(filter.NeedWait) {
		tick := time.NewTicker(waitPause)
		defer tick.Stop()
		wait = tick.C
	}
	for s.running > 0 || poll != nil {
		select {
		case <-s.ctx.Done():
			return s.interrupted()
		case <-wait:
			for _, f := range s.open {
				if err := s.wait(f); err != nil {
					return err
				}
			}
		case <-poll:
			n := len(s.open)
			for _, path := range store.LivePaths(dir) {
				if err := s.join(path); err != nil {
					return err
				}
			}
			for _, f := range s.open[n:] {
				f.more = true // there is no backlog, even if it has ended since
			}
			if err := s.start(s.open[n:]); err != nil {
				return err
			}
		case x := <-s.in:
			all := []arrival{x}
			for len(all) < arrivals && len(s.in) > 0 {
				all = append(all, <-s.in)
			}
			slices.SortStableFunc(all, func(a, b arrival) int { return a.compare(&b) })
			for i := range all {
				if err := s.take(&all[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// take prints an arrival.
func (s *several) take(x *arrival) error {
	f := x.from
	if x.err != nil {
		return x.err
	}
	if x.over {
		s.running--
	}
	if f.over {
		return nil
	}
	before := f.printed
	if s.began {
		f.out.SkipHeader()
	}
	var err error
	if f.over = x.over; !x.over {
		f.read = x.frame.Seq
		f.over, err = f.frame(&x.frame)
	}
	if f.over && err == nil {
		err = f.finish(s.ctx)
	}
	if f.over && f.stop != nil {
		f.stop()
	}
	s.began = s.began || f.printed > before
	return err
}

// wait prints the calls that are selected because they have now waited long enough.
func (s *several) wait(f *followed) error {
	if f.over {
		return nil
	}
	if s.began {
		f.out.SkipHeader()
	}
	err := f.print(f.Wait())
	s.began = s.began || f.printed > 0
	return err
}

// interrupted prints the calls that have not ended.
func (s *several) interrupted() error {
	err := s.ctx.Err()
	for _, f := range s.open {
		if f.over {
			continue
		}
		info, infoErr := f.rec.Info()
		if infoErr == nil {
			info.ExtendLive(f.now())
			infoErr = f.finishCalls(info)
		}
		err = errors.Join(err, infoErr, f.w.Flush())
	}
	return err
}
