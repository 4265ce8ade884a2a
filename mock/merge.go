package mock

import (
	"iter"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Extended are the frames of a recording on stdio with others added, which cross when
// all that was recorded has. That the client, or the server, ended its lane, and how
// the server exited, stays at the end. An id that is still in use where the others
// are added becomes another one.
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

// sessionEnds reports whether a frame says that a lane of the session is over, or the
// server.
func sessionEnds(f *tap.Frame) bool {
	if f.Lane != tap.Lifecycle || f.Exchange != 0 {
		return false
	}
	e, err := tap.ParseEvent(f.Raw)
	return err == nil && (e.Name == tap.EventEOF || e.Name == tap.EventExit)
}

// An extension is under way.
type extension struct {
	// seq and at are those of the last frame.
	seq uint64
	at  time.Duration
	// ends are the frames that stay at the end.
	ends []tap.Frame
	// open are the client's requests that have no answer.
	open map[string]bool
}

// watch keeps account of the ids in use.
func (x *extension) watch(f *tap.Frame) {
	if f.Lane != tap.ToServer && f.Lane != tap.ToClient {
		return
	}
	m := jsonrpc.PeekFrame(f)
	all := m.Batch
	if m.Kind != jsonrpc.Batch {
		all = []jsonrpc.Message{m}
	}
	for i := range all {
		switch kind := all[i].Kind; {
		case kind == jsonrpc.Request && f.Lane == tap.ToServer:
			x.open[string(all[i].ID)] = true
		case (kind == jsonrpc.Response || kind == jsonrpc.ErrorResponse) && f.Lane == tap.ToClient:
			delete(x.open, string(all[i].ID))
		}
	}
}

// insert yields what is added.
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

// end yields what stays at the end.
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

// another is an id of the same type that is not in use.
func (x *extension) another(id []byte) []byte {
	for n := int64(1); ; n++ {
		other := strconv.AppendInt(nil, firstLiveID+n, 10)
		if id[0] == '"' {
			other = append(append(append(append([]byte(nil), id[:len(id)-1]...), '-'), strconv.FormatInt(n, 10)...), '"')
		}
		if !x.open[string(other)] {
			x.open[string(other)] = true
			return other
		}
	}
}

// rename replaces an id of the client's wherever it stands.
func rename(lane tap.Lane, m *jsonrpc.Message, raw []byte, renamed map[string][]byte) []byte {
	switch {
	case m.Kind == jsonrpc.Request && lane == tap.ToServer, (m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse) && lane == tap.ToClient:
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
