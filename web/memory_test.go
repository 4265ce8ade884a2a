package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A memory is a recording in memory. It may grow while being read.
type memory struct {
	mu     sync.Mutex
	grown  chan struct{} // closed and replaced when it grows
	key    string
	frames []tap.Frame
	label  string
	status store.Status
	err    error // returned at the end of Frames
	maxRaw int   // larger frames are truncated; 0 for no limit
}

func (m *memory) add(lane tap.Lane, raw string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := uint64(len(m.frames) + 1)
	m.frames = append(m.frames, tap.Frame{Seq: n, At: time.Duration(n) * time.Millisecond, Lane: lane, Raw: []byte(raw), Size: int64(len(raw))})
	m.wake()
}

func (m *memory) wake() {
	if m.grown != nil {
		close(m.grown)
		m.grown = nil
	}
}

func (m *memory) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = store.Ended
	m.wake()
}

func (m *memory) reader() Reader { return Reader{FrameReader: m, Key: m.key} }

func (m *memory) Info() (store.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := store.Info{Status: m.status, Frames: uint64(len(m.frames)), Header: tap.Header{ID: m.key, Label: m.label, Start: time.Unix(1e9, 0).UTC(), Transport: "stdio"}}
	if n := len(m.frames); n > 0 {
		i.Duration = m.frames[n-1].At
	}
	return i, nil
}

func (m *memory) Frame(seq uint64) (tap.Frame, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq == 0 || seq > uint64(len(m.frames)) {
		return tap.Frame{}, fmt.Errorf("no frame %d: %w", seq, fs.ErrNotExist)
	}
	return m.cut(m.frames[seq-1]), nil
}

func (m *memory) cut(f tap.Frame) tap.Frame {
	if m.maxRaw > 0 && len(f.Raw) > m.maxRaw {
		f.Raw = f.Raw[:16]
	}
	return f
}

func (m *memory) Frames(after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		m.mu.Lock()
		frames, err := m.frames, m.err
		m.mu.Unlock()
		for _, f := range frames[min(after, uint64(len(frames))):] {
			if !yield(m.cut(f), nil) {
				return
			}
		}
		if err != nil {
			yield(tap.Frame{}, err)
		}
	}
}

func (m *memory) Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		for {
			m.mu.Lock()
			if m.grown == nil {
				m.grown = make(chan struct{})
			}
			grown, n, live := m.grown, uint64(len(m.frames)), m.status == store.Live
			m.mu.Unlock()
			for ; after < n; after++ {
				if !yield(m.frames[after], nil) {
					return
				}
			}
			if !live {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-grown:
			}
		}
	}
}

func (m *memory) WriteRaw(w io.Writer, f tap.Frame) error {
	_, err := io.Copy(w, bytes.NewReader(m.frames[f.Seq-1].Raw))
	return err
}

// A shelf is a source of recordings in memory.
type shelf struct{ all []*memory }

func (s *shelf) Recordings() (list []Recording, err error) {
	for _, m := range s.all {
		r, _ := m.reader().Recording()
		list = append(list, r)
	}
	return list, nil
}

func (s *shelf) Open(key string) (Reader, error) {
	for _, m := range s.all {
		if m.key == key {
			return m.reader(), nil
		}
	}
	return Reader{}, fmt.Errorf("no recording: %w", fs.ErrNotExist)
}

func (s *shelf) Compare(_ context.Context, a, b Side) (*Comparison, error) {
	return &Comparison{
		Sessions: []*report.Sides{{V: 1, Summary: fmt.Sprintf("%v and %v are the same.", a, b)}},
		Unpaired: []Unpaired{{Side: "b", Name: "second\x1b[31m"}},
	}, nil
}

// busy returns the frames of a busy session.
func busy(n int) []tap.Frame {
	var m memory
	for i := range n / 2 {
		m.add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_%d","arguments":{"city":"Oslo","day":%d}}}`+"\n", i, i%9, i))
		if i%1000 == 7 {
			m.add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"no station"}}`+"\n", i))
		} else {
			m.add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"{\"high\":%d}"}]}}`+"\n", i, i%40))
		}
	}
	return m.frames
}
