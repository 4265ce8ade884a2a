package replay

import (
	"errors"
	"fmt"
	"math"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Builder makes a [Script] of the frames of one session.
type Builder struct {
	s *Script
	// preparer is for who has none.
	preparer *Preparer
	// off is how much is in the spool, which several may share.
	off *uint64
	// lasts are, for each cue, the last of its own items, hangs that of the items
	// which hang on it.
	lasts, hangs []uint32
	// behind is the last cue that was not refused.
	behind uint32
	// listens are the subscriptions by their ids, tasks the items of requests of
	// which the client made a task, by the task.
	listens, tasks map[string]uint32
	// waiting are, of the calls with several requests, those requests that wait for
	// an answer and are no polls, by the first.
	waiting map[uint32]uint32
	// gates are the last answers of the client's among the items of such requests.
	gates map[uint32]uint32
	// signal says that the server was ended from outside, left that its lane is
	// over.
	signal, left bool
}

// ErrTooLarge says that a recording has more messages, or a larger one, than a
// script can hold.
var ErrTooLarge = errors.New("the recording is too large to be played")

// limits of what a script can count.
const (
	maxMessages = math.MaxUint32 - 1
	maxSize     = math.MaxInt32
)

// NewBuilder begins a script. The options bind its sessions too. The messages go
// into the spool, nil for one in memory.
func NewBuilder(opt Options, spool Spool) *Builder {
	if opt.GateTimeout == 0 {
		opt.GateTimeout = DefaultGateTimeout
	}
	if spool == nil {
		spool = &Memory{}
	}
	return newBuilder(opt, spool, newSeeds(), new(uint64))
}

func newBuilder(opt Options, spool Spool, seeds seeds, off *uint64) *Builder {
	s := &Script{opt: opt, spool: spool, seeds: seeds, cues: make([]cue, 1), items: make([]item, 1)}
	b := &Builder{s: s, lasts: make([]uint32, 1), hangs: make([]uint32, 1), off: off}
	b.preparer = b.Preparer()
	return b
}

// Another begins the script of another session of the same recording: with the
// same options, in the same spool, and for what the same [Preparer] prepares.
func (b *Builder) Another() *Builder { return newBuilder(b.s.opt, b.s.spool, b.s.seeds, b.off) }

// Add takes the next frame of the session, which must be whole. It keeps nothing of it.
//
// The error is [ErrTooLarge], or that of the spool.
func (b *Builder) Add(e *session.Entry) error {
	f := *e.Frame
	var m *jsonrpc.Message
	if f.Lane == tap.ToServer || f.Lane == tap.ToClient {
		m, f.Raw = &e.Message, jsonrpc.Payload(&f)
	}
	p := b.preparer.Prepare(&f, m)
	return b.AddPrepared(e, &f, &p)
}

// AddPrepared is Add for a message that a [Preparer] has had. F is the frame as it is
// to be played: its Raw is the message alone, and its exchange that of its stream, 0
// where there is one stream for everything.
func (b *Builder) AddPrepared(e *session.Entry, f *tap.Frame, p *Prepared) error {
	m := p.message
	switch {
	case f.Lane == tap.Lifecycle:
		b.event(f, &e.Event)
		return nil
	case f.Lane == tap.Stderr || m == nil || m.Kind == jsonrpc.Other || e.Replays > 0:
		return nil
	case p.err != nil:
		return p.err
	case len(b.s.items)+len(m.Batch)+1 > maxMessages || len(b.s.cues)+len(m.Batch)+1 > maxMessages:
		return fmt.Errorf("frame %d: %w", f.Seq, ErrTooLarge)
	}
	if e.Facts != nil {
		b.s.facts = *e.Facts
	}
	x := arriving{f: f, raw: f.Raw, place: p.place, line: f.Form == tap.FormLine, prepared: p}
	if m.Kind != jsonrpc.Batch || len(m.Batch) == 0 {
		x.m, x.part = m, &e.Parts[0]
		b.message(&x)
		return nil
	}
	b.batch(&x, m, e.Parts)
	return nil
}

// An arriving is a message on its way into the script.
type arriving struct {
	f    *tap.Frame
	m    *jsonrpc.Message
	part *session.Part
	// raw is the message, place where it went.
	raw   []byte
	place place
	// line says that raw is a line of stdio.
	line bool
	// prepared is what a Preparer said of it.
	prepared *Prepared
}

// batch takes the messages of a batch one by one.
func (b *Builder) batch(x *arriving, m *jsonrpc.Message, parts []session.Part) {
	frame := x.raw
	first := len(b.s.items)
	whole, line := x.place, x.line
	w := into(frame, begin(frame))
	for i := range parts {
		at, ok := w.element()
		if !ok {
			break
		}
		w.i = skip(frame, at)
		part := span{at, w.i}
		x.m, x.part, x.raw, x.place, x.line = &m.Batch[i], &parts[i], part.of(frame), whole.part(part), false
		p := b.preparer.prepare(x.f.Lane, x.raw, x.m)
		x.prepared = &p
		b.message(x)
	}
	if x.f.Lane != tap.ToClient {
		return
	}
	for i := first; i < len(b.s.items); i++ {
		b.s.items[i].flags |= itemBatched
	}
	if b.s.batches == nil {
		b.s.batches = map[uint64]batch{}
	}
	b.s.batches[x.f.Seq] = batch{whole, uint32(first), uint32(len(b.s.items) - 1), line}
}

func (b *Builder) message(x *arriving) {
	if x.f.Lane == tap.ToServer {
		b.client(x)
	} else {
		b.server(x)
	}
}

// event takes what the tap saw of the run.
func (b *Builder) event(f *tap.Frame, e *tap.Event) {
	switch {
	case f.Exchange != 0:
	case e.Name == tap.EventSignal:
		b.signal = true
	case e.Name == tap.EventEOF && e.Lane == tap.ToServer.String():
		if b.s.end == 0 && !b.left {
			b.s.end = b.cue(cue{at: f.At, seq: f.Seq, kind: cueEnd})
		}
	case e.Name == tap.EventEOF && e.Lane == tap.ToClient.String():
		// A server that ends while the client is still there leaves by itself,
		// unless somebody told it to.
		if b.s.end == 0 && !b.signal && !b.left {
			b.hang(item{at: f.At, seq: f.Seq, kind: itemLeave})
		}
		b.left = true
	}
}

// cue adds a cue.
func (b *Builder) cue(c cue) uint32 {
	n := uint32(len(b.s.cues))
	b.s.cues = append(b.s.cues, c)
	b.lasts, b.hangs = append(b.lasts, 0), append(b.hangs, 0)
	b.behind = n
	return n
}

// last is the last cue so far.
func (b *Builder) last() uint32 { return b.behind }

// own adds an item to those of a request.
func (b *Builder) own(c uint32, it item) uint32 {
	n := b.item(c, it)
	if last := b.lasts[c]; last != 0 {
		b.s.items[last].next = n
	} else {
		b.s.cues[c].first = n
	}
	b.lasts[c] = n
	return n
}

// hang adds an item that hangs on the last cue.
func (b *Builder) hang(it item) uint32 {
	it.flags |= itemHangs
	c := b.last()
	n := b.item(c, it)
	if last := b.hangs[c]; last != 0 {
		b.s.items[last].next = n
	} else {
		b.s.cues[c].hang = n
	}
	b.hangs[c] = n
	return n
}

func (b *Builder) item(c uint32, it item) uint32 {
	it.cue, it.after = c, b.last()
	b.s.items = append(b.s.items, it)
	return uint32(len(b.s.items) - 1)
}

// current is the request that something belongs to which belongs to the call of a
// request: the one that waits for an answer, or the last one so far.
func (b *Builder) current(c uint32) uint32 {
	root := b.s.cues[c].call
	if waiting := b.waiting[root]; waiting != 0 {
		return waiting
	}
	if again := b.s.cues[root].again; again != 0 {
		return again
	}
	return root
}

// answered notes that a request of a call has its answer.
func (b *Builder) answered(c uint32) {
	b.s.cues[c].flags |= cueAnswered
	if root := b.s.cues[c].call; b.waiting[root] == c {
		delete(b.waiting, root)
	}
}

// Script returns what was made. The Builder must not be used any more.
func (b *Builder) Script() *Script {
	s := b.s
	s.eras.finish(&s.facts)
	b.s = nil
	return s
}
