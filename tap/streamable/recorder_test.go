package streamable

import (
	"bytes"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/internal/rawtalk"
	"github.com/mcptap/mcptap/tap"
)

// A frame is one frame in a memory.
type frame struct {
	exchange uint64
	lane     tap.Lane
	form     tap.Form
	data     []byte // only the beginning of long frames
	size     int
	sum      hash.Hash32
	ended    bool
	event    *tap.Event
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type laneKey struct {
	exchange uint64
	lane     tap.Lane
}

// A memory is a recorder that keeps everything, and checks that its callers obey the
// rules of [tap.Recorder].
type memory struct {
	tap.Discard // there are no chunks

	mu     sync.Mutex
	t      testing.TB
	frames []*frame
	open   map[laneKey]*frame
	busy   map[laneKey]bool
	keep   int // bytes of each frame; 0 means all
	count  int // pieces
	watch  func(count int)
	grew   *sync.Cond
}

func newMemory(t testing.TB) *memory {
	m := &memory{t: t, open: map[laneKey]*frame{}, busy: map[laneKey]bool{}}
	m.grew = sync.NewCond(&m.mu)
	return m
}

// Piece implements [tap.Recorder].
func (m *memory) Piece(exchange uint64, lane tap.Lane, form tap.Form, p []byte, end bool) {
	key := laneKey{exchange, lane}
	m.enter(key)
	defer m.leave(key)
	f := m.open[key]
	switch {
	case f == nil:
		f = &frame{exchange: exchange, lane: lane, form: form, sum: crc32.New(castagnoli)}
		m.open[key] = f
	case f.form != form:
		m.t.Errorf("exchange %d, %v: a piece of a %v in a frame that is a %v", exchange, lane, form, f.form)
	}
	f.sum.Write(p)
	if f.size += len(p); m.keep == 0 || len(f.data)+len(p) <= m.keep {
		f.data = append(f.data, p...)
	}
	if m.count++; m.watch != nil {
		m.watch(m.count)
	}
	if end {
		f.ended = true
		m.frames = append(m.frames, f) // in the order of their ends
		delete(m.open, key)
	}
}

// Event implements [tap.Recorder].
func (m *memory) Event(exchange uint64, e tap.Event) {
	key := laneKey{exchange, tap.Lifecycle}
	if exchange > 0 { // those of the run come from all connections
		m.enter(key)
		defer m.leave(key)
	} else {
		m.mu.Lock()
		defer m.mu.Unlock()
		defer m.grew.Broadcast()
	}
	m.frames = append(m.frames, &frame{exchange: exchange, lane: tap.Lifecycle, ended: true, event: &e})
}

// enter acquires the lock, and detects concurrent calls for one lane.
func (m *memory) enter(key laneKey) {
	m.mu.Lock()
	if m.busy[key] {
		m.t.Errorf("exchange %d, %v: recorded concurrently", key.exchange, key.lane)
	}
	m.busy[key] = true
	m.mu.Unlock()
	m.mu.Lock()
}

func (m *memory) leave(key laneKey) {
	delete(m.busy, key)
	m.grew.Broadcast()
	m.mu.Unlock()
}

// wait returns when enough returns true for the frames.
func (m *memory) wait(enough func([]*frame) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !enough(m.frames) {
		m.grew.Wait()
	}
}

// all returns the frames so far, those that have not ended last.
func (m *memory) all() []*frame {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := append([]*frame(nil), m.frames...)
	for _, f := range m.open {
		all = append(all, f)
	}
	return all
}

// events returns the events with a name.
func (m *memory) events(name string) []tap.Event {
	var out []tap.Event
	for _, f := range m.all() {
		if f.event != nil && f.event.Name == name {
			out = append(out, *f.event)
		}
	}
	return out
}

// joined returns the bytes of all frames of a form on a lane of an exchange.
func (m *memory) joined(exchange uint64, lane tap.Lane, form tap.Form) []byte {
	var out []byte
	for _, f := range m.all() {
		if f.exchange == exchange && f.lane == lane && f.event == nil && f.form == form {
			out = append(out, f.data...)
		}
	}
	return out
}

// everything returns the whole recording as text.
func (m *memory) everything() string {
	var b strings.Builder
	for _, f := range m.all() {
		if f.event != nil {
			b.Write(f.event.Encode())
		}
		b.Write(f.data)
		b.WriteByte('\n')
	}
	return b.String()
}

// text describes the frames, without times, one per line. Frames of bytes are joined if
// joinBytes is set.
func (m *memory) text(joinBytes bool) string {
	var b strings.Builder
	frames := m.all()
	for i := 0; i < len(frames); i++ {
		f := frames[i]
		switch {
		case f.event != nil:
			describeEvent(&b, f.exchange, f.event)
			continue
		case !f.ended:
			fmt.Fprintf(&b, "#%d %v %v UNENDED %s\n", f.exchange, f.lane, f.form, rawtalk.Escaped(f.data))
			continue
		}
		data := f.data
		for joinBytes && f.form == tap.FormBytes && i+1 < len(frames) && frames[i+1].form == tap.FormBytes &&
			frames[i+1].event == nil && frames[i+1].lane == f.lane {
			i++
			data = append(bytes.Clone(data), frames[i].data...)
		}
		fmt.Fprintf(&b, "#%d %v %v %s\n", f.exchange, f.lane, f.form, rawtalk.Escaped(data))
	}
	return b.String()
}

func describeEvent(b *strings.Builder, exchange uint64, e *tap.Event) {
	if exchange > 0 {
		fmt.Fprintf(b, "#%d ", exchange)
	}
	fmt.Fprint(b, e.Name)
	add := func(name string, value any) {
		if s := fmt.Sprint(value); s != "" && s != "0" && s != "[]" {
			fmt.Fprintf(b, " %s=%s", name, rawtalk.Escaped([]byte(s)))
		}
	}
	add("method", e.Method)
	add("target", e.Target)
	add("proto", e.Proto)
	add("status", e.Status)
	add("reason", e.Reason)
	for _, f := range e.Header {
		add("header", f[0]+": "+f[1])
	}
	add("masked", strings.Join(e.Masked, ","))
	add("what", e.What)
	add("before", e.Before)
	add("after", e.After)
	add("up", e.BytesUp)
	add("down", e.BytesDown)
	for _, f := range e.Trailer {
		add("trailer", f[0]+": "+f[1])
	}
	add("coding", e.Coding)
	add("by", e.By)
	add("error", e.Error)
	b.WriteByte('\n')
}
