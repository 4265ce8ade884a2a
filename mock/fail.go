package mock

import (
	"encoding/json"
	"net/http"

	"github.com/mcptap/mcptap/replay"
)

// unreadable says why a session came to its end.
const unreadable = "the recording cannot be read any more: "

// failure is the answer to a request whose answer cannot be read; id is the request's as
// it stands, nil for none.
func failure(id []byte, err error) []byte {
	text, e := json.Marshal("mcptap mock: " + unreadable + err.Error())
	if e != nil { // a string: cannot happen
		panic(e)
	}
	if len(id) == 0 {
		id = []byte("null")
	}
	return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":` + string(text) + `},"id":` + string(id) + `}`)
}

// failed answers a request to which an answer cannot be read.
func (s *Server) failed(w http.ResponseWriter, id []byte, err error) {
	s.plain(w, http.StatusInternalServerError, failure(id, err))
}

// fail ends the session since the recording cannot be read. Each request without a
// response gets an error.
func (t *talk) fail(err error) {
	t.failed = err
	t.srv.opt.Note(replay.Note{Kind: replay.NoteMiss, Text: unreadable + err.Error()})
	for _, owed := range t.play.Owed() {
		t.put(t.sorry(owed, err))
	}
	t.finish(true)
}

// sorry is the answer to a request whose answer cannot be read, with a status of HTTP
// where that can still be said.
func (t *talk) sorry(owed replay.Owed, err error) replay.Output {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := replay.Output{Stream: owed.Stream, Raw: failure(owed.ID, err)}
	if x := t.streams[owed.Stream]; x != nil && x != t.duplex {
		out.Last = true
		if x.base+len(x.events) == 0 && x.form == formUnknown {
			out.Status = http.StatusInternalServerError
		}
	}
	return out
}
