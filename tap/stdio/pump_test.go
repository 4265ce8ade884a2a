//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A diary lists everything that a pump does, in order. It is also its recorder.
type diary struct {
	lines []string
	over  atomic.Bool
}

func (d *diary) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Chunk(lane tap.Lane, p []byte) {
	if len(p) == 0 {
		d.add("end %v", lane)
		return
	}
	d.add("record %s", p)
}

func (d *diary) Piece(uint64, tap.Lane, tap.Form, []byte, bool) {}

func (d *diary) Event(_ uint64, e tap.Event) {
	d.add("%s %s %d %s", e.Name, e.Lane, e.Bytes, e.Error)
}

// A feed returns one chunk per read, then its error, once.
type feed struct {
	*diary
	chunks []string
	err    error
	last   bool // the run is over when the last read returns
}

func (f *feed) Read(b []byte) (int, error) {
	if len(f.chunks) == 0 && f.err == nil {
		panic("read after the end")
	}
	if f.last && len(f.chunks) <= 1 {
		f.over.Store(true)
	}
	if len(f.chunks) == 0 {
		err := f.err
		f.err = nil
		return 0, err
	}
	n := copy(b, f.chunks[0])
	f.chunks = f.chunks[1:]
	return n, nil
}

// A sink accepts a number of bytes, then fails.
type sink struct {
	*diary
	takes int
	last  bool // the run is over when it fails
}

func (s *sink) Write(b []byte) (int, error) {
	n := min(len(b), s.takes)
	s.takes -= n
	s.add("write %s", b[:n])
	if n < len(b) {
		s.over.Store(s.last)
		return n, syscall.EPIPE
	}
	return n, nil
}

// The order in which a pump calls the recorder, its source and its receiver, and that
// it calls none of them once the run is over.
func TestPump(t *testing.T) {
	for name, c := range map[string]struct {
		feed feed
		sink sink
		want string
	}{
		"end":                 {feed{chunks: []string{"a", "b"}, err: io.EOF}, sink{takes: 9}, "record a, write a, record b, write b, end to_client, eof to_client 0, pass on the end"},
		"read error":          {feed{err: syscall.EIO}, sink{}, "end to_client, eof to_client 0 input/output error, pass on the end"},
		"receiver gone":       {feed{chunks: []string{"abc"}}, sink{takes: 1}, "record abc, write a, end to_client, broken to_client 2 broken pipe, pass back the loss"},
		"over in a read":      {feed{chunks: []string{"a", "b"}, last: true}, sink{takes: 9}, "record a, write a"},
		"over in the last":    {feed{chunks: nil, err: io.EOF, last: true}, sink{}, ""},
		"over in a bad write": {feed{chunks: []string{"abc"}}, sink{last: true}, "record abc, write"},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(diary)
			c.feed.diary, c.sink.diary = d, d
			p := &pump{lane: tap.ToClient, src: &c.feed, dst: &c.sink, rec: d, over: &d.over,
				atEOF: func() { d.add("pass on the end") }, atBroken: func() { d.add("pass back the loss") }}
			p.run()
			for i, line := range d.lines {
				d.lines[i] = strings.TrimSpace(line)
			}
			if got := strings.Join(d.lines, ", "); got != c.want {
				t.Errorf("did %q, want %q", got, c.want)
			}
		})
	}
}
