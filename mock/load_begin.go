package mock

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// aheadFrames is how many frames are read before the first is played. That takes
// milliseconds; a recording of fewer is whole before anything is said.
const aheadFrames = 8192

// underLock is how many frames are added to a script while its sessions have to wait.
const underLock = 64

// Begin is Load that does not wait for all of a long recording of lines, as stdio has
// them, but returns when the first frames have been read. The rest is read while the
// sessions are played. They say what they would say if all had been read: whatever
// supposes more than has been read waits for it, such as the answer to a request that
// has not been found yet, and the end. A recording of HTTP is read in full, since there
// a refusal at its end may change what is said at its beginning.
//
// An error that is found later ends each session that comes to need what cannot be
// read, its own end included, with that error; [Recording.Wait] returns it too. Such an
// error names the recording as name, if it does not do so already. Over HTTP whoever
// waits for an answer then gets the error in its place, unless it is
// [context.Canceled], which says that nobody wants the rest.
func Begin(name string, frames iter.Seq2[tap.Frame, error], opt replay.Options) (*Recording, error) {
	return load(frames, opt, newSpool(), newGrowth(name, aheadFrames))
}

// Wait waits until all of the recording has been read.
func (r *Recording) Wait() error {
	if r.growth == nil {
		return nil
	}
	<-r.growth.over
	return r.growth.err
}

// grows reports whether the rest of it is still being read.
func (r *Recording) grows() bool {
	if r.growth == nil {
		return false
	}
	select {
	case <-r.growth.over:
		return false
	default:
		return true
	}
}

// failure is why the rest of it will never be there, nil if it is or may be.
func (r *Recording) failure() error {
	if r.growth == nil {
		return nil
	}
	r.growth.mu.RLock()
	defer r.growth.mu.RUnlock()
	return r.growth.err
}

// A growth adds the rest of a recording to a script that is played already. It is a
// [replay.Growth].
type growth struct {
	name string
	// ahead is how many frames are read before the first is played, batch how many are
	// handed on at once.
	ahead, batch int

	began time.Time
	// mu is held for reading by sessions, and for writing by who adds to the script,
	// who has to let them in in between.
	mu    sync.RWMutex
	grown *sync.Cond
	in    *reading
	ended sync.Once
	err   error
	// over is closed when nothing will be added any more.
	over chan struct{}
}

func newGrowth(name string, ahead int) *growth {
	g := &growth{name: name, ahead: ahead, batch: batchSize, began: time.Now(), over: make(chan struct{})}
	g.grown = sync.NewCond(g.mu.RLocker())
	return g
}

// Lock implements [replay.Growth].
func (g *growth) Lock() { g.mu.RLock() }

// Unlock implements [replay.Growth].
func (g *growth) Unlock() { g.mu.RUnlock() }

// More implements [replay.Growth].
func (g *growth) More() error {
	if g.err != nil {
		return g.err
	}
	g.grown.Wait()
	return nil
}

// All implements [replay.Growth].
func (g *growth) All() error {
	g.mu.RUnlock()
	<-g.over
	g.mu.RLock()
	return g.err
}

// Now implements [replay.Growth].
func (g *growth) Now() time.Duration { return time.Since(g.began) }

// errClosed is what is wrong with a script whose recording was closed.
var errClosed = fmt.Errorf("the recording was closed before it was read: %w", context.Canceled)

// begun returns the recording of what has been read, and goes on reading.
func (l *loader) begun(g *growth, in *reading) *Recording {
	g.in = in
	b := l.session(onlySession).b
	p := &played{Script: b.Grow(g), number: onlySession}
	go g.run(l, b)
	return &Recording{Script: p.Script, sessions: []*played{p}, site: l.site, spool: l.spool, growth: g}
}

// run adds what is read to the script. Waking somebody costs more than adding a frame,
// so that is done for a batch.
func (g *growth) run(l *loader, b *replay.Builder) {
	defer close(g.over)
	defer g.grown.Broadcast()
	for batch := range g.in.batches {
		for len(batch) > 0 {
			some := batch[:min(underLock, len(batch))]
			batch = batch[len(some):]
			if err := g.add(func() error { return l.all(some) }); err != nil {
				return
			}
		}
		g.grown.Broadcast()
	}
	_ = g.add(func() error {
		select {
		case <-g.in.stop:
			return errClosed
		default:
			b.Script()
			return nil
		}
	})
}

// add lets nobody play while it adds something. An error ends it all.
func (g *growth) add(something func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := something()
	if err != nil && !strings.Contains(err.Error(), g.name) {
		err = fmt.Errorf("%s: %w", g.name, err)
	}
	g.err = err
	return err
}

// end ends the reading, if it is not over.
func (g *growth) end() {
	g.ended.Do(g.in.end)
	<-g.over
}
