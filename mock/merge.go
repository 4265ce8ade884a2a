package mock

import (
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Extended yields the frames of a stdio recording, followed by the added frames. The ends of the
// lanes and the exit of the server stay at the end. Added ids that are already in use are replaced.
func Extended(recorded iter.Seq2[tap.Frame, error], added []tap.Frame) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		x := extension{open: map[string]bool{}}
		for f, err := range recorded {
			if err != nil {
				yield(f, err)
				return
			}
			if sessionEnds(&f) {
				x.ends = append(x.ends, f)
				continue
			}
			x.watch(&f)
			f.Seq -= uint64(len(x.ends))
			x.seq, x.at = f.Seq, f.At
			if !yield(f, nil) {
				return
			}
		}
		if x.insert(added, yield) {
			x.end(yield)
		}
	}
}

// sessionEnds reports whether a frame is the end of a lane or of the server.
func sessionEnds(f *tap.Frame) bool {
	if f.Lane != tap.Lifecycle || f.Exchange != 0 {
		return false
	}
	e, err := tap.ParseEvent(f.Raw)
	return err == nil && (e.Name == tap.EventEOF || e.Name == tap.EventExit)
}

// An extension is the state of Extended.
type extension struct {
	seq  uint64          // the number of the last frame
	at   time.Duration   // the time of the last frame
	ends []tap.Frame     // the frames that stay at the end
	open map[string]bool // the ids of open client requests
}

// watch updates the ids in use.
func (x *extension) watch(f *tap.Frame) {
	if f.Lane != tap.ToServer && f.Lane != tap.ToClient {
		return
	}
	m := jsonrpc.PeekFrame(f)
	for part := range m.All {
		switch {
		case part.Kind == jsonrpc.Request && f.Lane == tap.ToServer:
			x.open[string(part.ID)] = true
		case isResponse(part) && f.Lane == tap.ToClient:
			delete(x.open, string(part.ID))
		}
	}
}

// insert yields the added frames.
func (x *extension) insert(added []tap.Frame, yield func(tap.Frame, error) bool) bool {
	renamed := map[string][]byte{}
	began := x.at
	for _, f := range added {
		m := jsonrpc.Peek(f.Raw)
		if f.Lane == tap.ToServer && m.Kind == jsonrpc.Request && len(m.ID) > 0 && x.open[string(m.ID)] {
			renamed[string(m.ID)] = x.another(m.ID)
		}
		f.Raw = rename(f.Lane, &m, f.Raw, renamed)
		f.Size = int64(len(f.Raw))
		f.At += began
		x.seq++
		x.at = f.At
		f.Seq = x.seq
		if !yield(f, nil) {
			return false
		}
	}
	return true
}

// end yields the frames that stay at the end.
func (x *extension) end(yield func(tap.Frame, error) bool) {
	for _, f := range x.ends {
		x.seq++
		x.at = max(x.at, f.At)
		f.Seq, f.At = x.seq, x.at
		if !yield(f, nil) {
			return
		}
	}
}

// another returns an unused id of the same type.
func (x *extension) another(id []byte) []byte {
	for n := int64(1); ; n++ {
		other := strconv.AppendInt(nil, firstLiveID+n, 10)
		if id[0] == '"' {
			other = fmt.Appendf(nil, `%s-%d"`, id[:len(id)-1], n)
		}
		if !x.open[string(other)] {
			x.open[string(other)] = true
			return other
		}
	}
}

// rename replaces a client id in a message.
func rename(lane tap.Lane, m *jsonrpc.Message, raw []byte, renamed map[string][]byte) []byte {
	switch {
	case m.Kind == jsonrpc.Request && lane == tap.ToServer, isResponse(m) && lane == tap.ToClient:
		if id := renamed[string(m.ID)]; id != nil {
			return replay.Rewrite(raw, id, "id")
		}
	case m.Kind == jsonrpc.Notification && m.Method == "notifications/cancelled" && lane == tap.ToServer:
		if id := renamed[string(replay.Value(raw, "params", "requestId"))]; id != nil {
			return replay.Rewrite(raw, id, "params", "requestId")
		}
	}
	return raw
}
