package web

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/view"
)

// detailJSON is what there is to say of one frame beside its bytes. Its texts
// are escaped.
type detailJSON struct {
	Seq       uint64    `json:"seq"`
	At        int64     `json:"at"`   // ns from the start
	Took      int64     `json:"took"` // ns from the first byte to the last
	Time      time.Time `json:"time"`
	Lane      string    `json:"lane"`
	Form      string    `json:"form"`
	Exchange  uint64    `json:"exchange,omitempty"`
	Size      int64     `json:"size"`
	Truncated bool      `json:"truncated,omitempty"`
	Kind      string    `json:"kind,omitempty"`
	ID        string    `json:"id,omitempty"` // as it stands, quotes included
	Method    string    `json:"method,omitempty"`
	// Remark says why the frame is no message, or what is odd about it.
	Remark string `json:"remark,omitempty"`
	// Duplicates says that the message has two members of one name.
	Duplicates bool       `json:"duplicates,omitempty"`
	Event      *eventJSON `json:"event,omitempty"`
	Heads      *headsJSON `json:"heads,omitempty"`
	Time0      time.Time  `json:"start"`
	// Payload is the size in bytes of what [jsonrpc.Payload] gives, where that is
	// not the frame as it is.
	Payload int64 `json:"payload,omitempty"`
}

// eventJSON has the fields of a server-sent event beside its data.
type eventJSON struct {
	ID       *string `json:"id,omitempty"`
	Name     string  `json:"name,omitempty"`
	Retry    string  `json:"retry,omitempty"`
	Comments string  `json:"comments,omitempty"`
}

// open finds the recording, and the frame if the path names one. It answers the
// request itself where there is none.
func (s *Server) open(w http.ResponseWriter, r *http.Request) (Reader, tap.Frame, bool) {
	reader, err := s.source.Open(r.PathValue("key"))
	if err != nil {
		failWith(w, err)
		return Reader{}, tap.Frame{}, false
	}
	text := r.PathValue("seq")
	if text == "" {
		return reader, tap.Frame{}, true
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 {
		fail(w, http.StatusBadRequest, fmt.Errorf("no frame has that number"))
		return Reader{}, tap.Frame{}, false
	}
	f, err := reader.Frame(seq)
	if err != nil {
		failWith(w, err)
		return Reader{}, tap.Frame{}, false
	}
	return reader, f, true
}

// serveDetail is the handler of what there is to say of one frame.
func (s *Server) serveDetail(w http.ResponseWriter, r *http.Request) {
	reader, f, ok := s.open(w, r)
	if !ok {
		return
	}
	rec, err := reader.Recording()
	if err != nil {
		failWith(w, err)
		return
	}
	d, err := newDetail(reader, &rec, &f)
	if err == nil && f.Exchange != 0 {
		d.Heads, err = findHeads(reader, &f)
	}
	if err != nil {
		failWith(w, err)
		return
	}
	answer(w, d)
}

// newDetail says what there is to say of a frame by itself.
func newDetail(reader FrameReader, rec *Recording, f *tap.Frame) (*detailJSON, error) {
	d := &detailJSON{
		Seq: f.Seq, At: int64(f.At), Took: int64(f.Took), Time: rec.Header.Start.Add(f.At), Time0: rec.Header.Start,
		Lane: f.Lane.String(), Form: f.Form.String(), Exchange: f.Exchange, Size: max(f.Size, int64(len(f.Raw))), Truncated: f.Truncated,
	}
	if f.Lane == tap.ToServer || f.Lane == tap.ToClient {
		m := jsonrpc.PeekFrame(f)
		d.Kind, d.ID, d.Method, d.Remark = m.Kind.String(), brief(string(m.ID)), brief(m.Method), brief(m.Reason)
		if kind, _ := view.OtherWords(f); m.Kind == jsonrpc.Other && kind != "" {
			d.Kind = kind
		}
		d.Duplicates = len(m.DuplicateKeys) > 0
	}
	if f.Form == tap.FormEvent && f.Whole() {
		d.Event = newEventJSON(f.Raw)
		d.Payload = int64(len(jsonrpc.Payload(f)))
	}
	return d, nil
}

func newEventJSON(raw []byte) *eventJSON {
	e := tap.ParseServerSentEvent(raw)
	j := &eventJSON{Name: brief(e.Name), Retry: brief(e.Retry), Comments: brief(string(e.Comments))}
	if e.HasID {
		id := brief(e.ID)
		j.ID = &id
	}
	return j
}

// maxPiece is how many bytes of a frame go out at once.
const maxPiece = 8 << 20

// serveBytes is the handler of a frame's bytes, or of its payload: from and to
// say which of them. A browser that is made to open it saves it.
func (s *Server) serveBytes(w http.ResponseWriter, r *http.Request) {
	reader, f, ok := s.open(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	from, to, err := span(q.Get("from"), q.Get("to"), max(f.Size, int64(len(f.Raw))))
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	download := q.Has("download")
	if !download {
		to = min(to, from+maxPiece)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="frame-`+strconv.FormatUint(f.Seq, 10)+`.bin"`)
	if q.Get("part") == "payload" && f.Whole() {
		f.Raw = jsonrpc.Payload(&f)
		f.Size = int64(len(f.Raw))
		to = min(to, f.Size)
		from = min(from, to)
	}
	if f.Whole() {
		_, _ = w.Write(f.Raw[from:to])
		return
	}
	// An error after the first byte cannot be said any more; the page sees that
	// there are fewer than it asked for.
	_ = reader.WriteRaw(&piece{w: w, from: from, to: to}, f)
}

// span reads which bytes are wanted, all without a word.
func span(from, to string, size int64) (int64, int64, error) {
	a, errA := strconv.ParseInt(cmp.Or(from, "0"), 10, 64)
	b, errB := strconv.ParseInt(cmp.Or(to, strconv.FormatInt(size, 10)), 10, 64)
	if errA != nil || errB != nil || a < 0 || b < a {
		return 0, 0, fmt.Errorf("from and to must be offsets in bytes")
	}
	return min(a, size), min(b, size), nil
}

// A piece passes on some of the bytes that are written to it, and ends the
// writing behind them.
type piece struct {
	w        io.Writer
	at       int64
	from, to int64
}

func (p *piece) Write(b []byte) (int, error) {
	from, to := max(p.from-p.at, 0), min(p.to-p.at, int64(len(b)))
	p.at += int64(len(b))
	if from < to {
		if _, err := p.w.Write(b[from:to]); err != nil {
			return 0, err
		}
	}
	if p.at >= p.to {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// maxCompared is the size in bytes above which frames are not compared, and
// maxChanges how many differences are named.
const (
	maxCompared = 1 << 20
	maxChanges  = 200
)

// changesJSON are the differences between two frames: the first of them, and how
// many more there are.
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

// serveChanges is the handler of what differs between two frames.
func (s *Server) serveChanges(w http.ResponseWriter, r *http.Request) {
	reader, f, ok := s.open(w, r)
	if !ok {
		return
	}
	seq, err := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64)
	if err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("before must be the number of a frame"))
		return
	}
	before, err := reader.Frame(seq)
	if err != nil {
		failWith(w, err)
		return
	}
	if before.Size > maxCompared || f.Size > maxCompared {
		answer(w, changesJSON{TooLarge: true})
		return
	}
	answer(w, compareFrames(jsonrpc.Payload(&before), jsonrpc.Payload(&f), maxChanges))
}

// compareFrames is what differs between two payloads, but for the id, which
// always does.
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

func escapeText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	return escape.Escape(s)
}
