package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/view"
)

// detailJSON describes a frame without its bytes. Its texts are escaped.
type detailJSON struct {
	Seq      uint64    `json:"seq"`
	At       int64     `json:"at"`   // ns from the start
	Took     int64     `json:"took"` // ns from the first byte to the last
	Time     time.Time `json:"time"`
	Lane     string    `json:"lane"`
	Form     string    `json:"form"`
	Exchange uint64    `json:"exchange,omitempty"`
	Size     int64     `json:"size"`
	Kind     string    `json:"kind,omitempty"`
	ID       string    `json:"id,omitempty"` // as it is on the wire, with quotes
	// Remark is why the frame is not a valid message, or another peculiarity.
	Remark string `json:"remark,omitempty"`
	// Duplicates reports that the message has two members of the same name.
	Duplicates bool       `json:"duplicates,omitempty"`
	Event      *eventJSON `json:"event,omitempty"`
	Heads      *headsJSON `json:"heads,omitempty"`
	// Payload is the size in bytes of [jsonrpc.Payload], if that is not the whole frame.
	Payload int64 `json:"payload,omitempty"`
}

// eventJSON has the fields of a server-sent event except its data.
type eventJSON struct {
	ID       *string `json:"id,omitempty"`
	Name     string  `json:"name,omitempty"`
	Retry    string  `json:"retry,omitempty"`
	Comments string  `json:"comments,omitempty"`
}

// open opens the recording of a request, and its frame if the path has one. If it
// reports false it has sent an error.
func (s *Server) open(w http.ResponseWriter, r *http.Request) (Reader, tap.Frame, bool) {
	reader, err := s.source.Open(r.PathValue("key"))
	if err != nil {
		failSource(w, err)
		return Reader{}, tap.Frame{}, false
	}
	if r.PathValue("seq") == "" {
		return reader, tap.Frame{}, true
	}
	f, ok := openFrame(w, reader, r.PathValue("seq"))
	return reader, f, ok
}

// openFrame reads the frame with a number. If it reports false it has sent an error.
func openFrame(w http.ResponseWriter, reader Reader, number string) (tap.Frame, bool) {
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || seq == 0 {
		fail(w, http.StatusBadRequest, errors.New("invalid frame number (numbers begin at 1)"))
		return tap.Frame{}, false
	}
	f, err := reader.Frame(seq)
	if err == nil {
		return f, true
	}
	if rec, recErr := reader.Recording(); recErr == nil && !hasFrame(&rec, seq) {
		failWith(w, http.StatusNotFound, problemOf(err))
	} else {
		failSource(w, err)
	}
	return tap.Frame{}, false
}

// hasFrame reports whether a recording has the frame with a number.
func hasFrame(rec *Recording, seq uint64) bool {
	for _, g := range rec.Gaps {
		if g.From <= seq && seq <= g.To {
			return false
		}
	}
	return seq <= rec.Info.Frames
}

// serveDetail describes a frame.
func (s *Server) serveDetail(w http.ResponseWriter, r *http.Request) {
	reader, f, ok := s.open(w, r)
	if !ok {
		return
	}
	rec, err := reader.Recording()
	d := newDetail(&rec, &f)
	if err == nil && f.Exchange != 0 {
		d.Heads, err = findHeads(reader, &f)
	}
	if err != nil {
		failSource(w, err)
		return
	}
	respond(w, d)
}

// newDetail describes a frame, without the heads of its exchange.
func newDetail(rec *Recording, f *tap.Frame) *detailJSON {
	d := &detailJSON{
		Seq: f.Seq, At: int64(f.At), Took: int64(f.Took), Time: rec.Header.Start.Add(f.At),
		Lane: f.Lane.String(), Form: f.Form.String(), Exchange: f.Exchange, Size: max(f.Size, int64(len(f.Raw))),
	}
	if f.Lane == tap.ToServer || f.Lane == tap.ToClient {
		m := jsonrpc.PeekFrame(f)
		d.Kind, d.ID, d.Remark = m.Kind.String(), brief(string(m.ID)), brief(m.Reason)
		if kind, _ := view.OtherWords(f); m.Kind == jsonrpc.Other && kind != "" {
			d.Kind = kind
		}
		d.Duplicates = len(m.DuplicateKeys) > 0
	}
	if f.Form == tap.FormEvent && f.Whole() {
		e := tap.ParseServerSentEvent(f.Raw)
		d.Event = &eventJSON{Name: brief(e.Name), Retry: brief(e.Retry), Comments: brief(string(e.Comments))}
		if e.HasID {
			id := brief(e.ID)
			d.Event.ID = &id
		}
		d.Payload = int64(len(jsonrpc.Payload(f)))
	}
	return d
}

// maxCompared is the size in bytes above which frames are not compared, and maxChanges
// how many changes are sent.
const (
	maxCompared = 1 << 20
	maxChanges  = 200
)

// changesJSON has the first changes between two frames; More counts the others.
type changesJSON struct {
	Changes  []changeJSON `json:"changes,omitempty"`
	More     int          `json:"more,omitempty"`
	TooLarge bool         `json:"too_large,omitempty"`
}

type changeJSON struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// serveChanges compares a frame with another one, whose number is the parameter before.
func (s *Server) serveChanges(w http.ResponseWriter, r *http.Request) {
	reader, f, ok := s.open(w, r)
	if !ok {
		return
	}
	before, ok := openFrame(w, reader, r.URL.Query().Get("before"))
	if !ok {
		return
	}
	if before.Size > maxCompared || f.Size > maxCompared {
		respond(w, changesJSON{TooLarge: true})
		return
	}
	respond(w, compareFrames(jsonrpc.Payload(&before), jsonrpc.Payload(&f), maxChanges))
}

// compareFrames compares two payloads except for their ids, which always differ.
func compareFrames(before, after []byte, most int) *changesJSON {
	changes, more := view.Changes(before, after, most)
	c := &changesJSON{More: more}
	for _, change := range changes {
		if change.Path != "$.id" {
			c.Changes = append(c.Changes, changeJSON{escapeText(change.Path), escapeText(change.Old), escapeText(change.New)})
		}
	}
	return c
}
