package web

import (
	"cmp"
	"errors"
	"io"
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
	ID       string    `json:"id,omitempty"` // as on the wire, with quotes
	// Remark says why the frame is not a valid message, or describes another anomaly.
	Remark string `json:"remark,omitempty"`
	// Duplicates reports that the message has two members with the same name.
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

// open opens the recording that a request names, and its frame.
func (s *Server) open(r *http.Request) (Reader, tap.Frame, error) {
	reader, err := s.source.Open(r.PathValue("key"))
	if err != nil {
		return reader, tap.Frame{}, err
	}
	f, err := openFrame(reader, r.PathValue("seq"))
	return reader, f, err
}

// openFrame reads the frame with a number.
func openFrame(reader Reader, number string) (tap.Frame, error) {
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || seq == 0 {
		return tap.Frame{}, refuse(http.StatusBadRequest, errors.New("invalid frame number (numbers begin at 1)"))
	}
	f, err := reader.Frame(seq)
	if err == nil {
		return f, nil
	}
	p := problemOf(err)
	if rec, err := reader.Recording(); err == nil && !hasFrame(&rec, seq) {
		p.status = http.StatusNotFound
	}
	return f, p
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
func (s *Server) serveDetail(w http.ResponseWriter, r *http.Request) error {
	reader, f, err := s.open(r)
	if err != nil {
		return err
	}
	rec, err := reader.Recording()
	if err != nil {
		return err
	}
	d := newDetail(&rec, &f)
	if f.Exchange != 0 {
		if d.Heads, err = findHeads(reader, &f); err != nil {
			return err
		}
	}
	return respond(w, d)
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
	} else if e, err := tap.ParseEvent(f.Raw); err == nil && f.Lane == tap.Lifecycle {
		d.Kind = brief(e.Name)
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

// maxCompared is the size in bytes above which frames are not compared, and maxChanges limits the
// changes that are sent.
const (
	maxCompared = 1 << 20
	maxChanges  = 200
)

// changesJSON holds the first changes between two frames; More counts the others.
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

// serveChanges compares a frame with the one whose number is the parameter before.
func (s *Server) serveChanges(w http.ResponseWriter, r *http.Request) error {
	reader, f, err := s.open(r)
	if err != nil {
		return err
	}
	before, err := openFrame(reader, r.URL.Query().Get("before"))
	if err != nil {
		return err
	}
	if before.Size > maxCompared || f.Size > maxCompared {
		return respond(w, changesJSON{TooLarge: true})
	}
	return respond(w, compareFrames(jsonrpc.Payload(&before), jsonrpc.Payload(&f), maxChanges))
}

// compareFrames compares two payloads ignoring their ids, which always differ.
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

const (
	// headsAfter limits the frames that are read to find the end of an HTTP exchange.
	headsAfter = 5_000
	// maxHeader limits the fields of a head that the page receives, and maxField the bytes of each,
	// and of the first line.
	maxHeader = 200
	maxField  = 2048
)

// headsBefore limits the frames before a frame that are read to find the request of its HTTP
// exchange, in several attempts because it is usually near.
var headsBefore = []uint64{100, 2_000, 20_000}

// headsJSON holds the events of the HTTP exchange of a frame, nil if not found nearby.
type headsJSON struct {
	Request  *headJSON `json:"request,omitempty"`
	Response *headJSON `json:"response,omitempty"`
	End      *headJSON `json:"end,omitempty"`
}

// headJSON is an event of an exchange. Its texts are escaped.
type headJSON struct {
	Seq    uint64      `json:"seq"`
	Line   string      `json:"line"`
	Header [][2]string `json:"header,omitempty"`
	Masked []string    `json:"masked,omitempty"`
	Error  string      `json:"error,omitempty"`
}

// findHeads finds the events of the exchange of a frame. The heads precede the bodies of an exchange,
// and the end follows them.
func findHeads(reader Reader, f *tap.Frame) (*headsJSON, error) {
	var h headsJSON
	for _, before := range headsBefore {
		for g, err := range reader.Frames(f.Seq - min(f.Seq, before)) {
			if err != nil {
				return nil, err
			}
			if h.add(&g, f.Exchange); g.Seq >= f.Seq {
				break
			}
		}
		if h.Request != nil || before >= f.Seq {
			break
		}
	}
	n := 0
	for g, err := range reader.Frames(f.Seq) {
		if err != nil {
			return nil, err
		}
		h.add(&g, f.Exchange)
		if n++; h.End != nil || n == headsAfter {
			break
		}
	}
	return &h, nil
}

// add adds a frame if it is an event of the exchange. The last of several responses is kept, because
// interim responses precede the final one.
func (h *headsJSON) add(f *tap.Frame, exchange uint64) {
	if f.Lane != tap.Lifecycle || f.Exchange != exchange {
		return
	}
	e, err := tap.ParseEvent(f.Raw)
	if err != nil {
		return
	}
	var to **headJSON
	line, fault := view.EventWords(&e)
	switch e.Name {
	case tap.EventRequest:
		to = &h.Request
	case tap.EventResponse:
		to = &h.Response
	case tap.EventEnd:
		to = &h.End
	default:
		return
	}
	if *to != nil && (*to).Seq > f.Seq {
		return
	}
	if e.Name != tap.EventEnd {
		line, fault = view.JoinWords(" ", brief(e.Proto), view.JoinWords("", line, fault)), e.Error
	}
	*to = &headJSON{Seq: f.Seq, Line: shorten(line, maxField), Error: brief(fault)}
	for _, field := range e.Header[:min(len(e.Header), maxHeader)] {
		(*to).Header = append((*to).Header, [2]string{brief(field[0]), shorten(field[1], maxField)})
	}
	for _, name := range e.Masked[:min(len(e.Masked), maxHeader)] {
		(*to).Masked = append((*to).Masked, brief(name))
	}
}

// maxPiece limits the bytes of a frame in one response, unless it is a download.
const maxPiece = 8 << 20

// serveBytes sends the bytes of a frame or of its payload, between the offsets from and to. Browsers
// save the URL as a file.
func (s *Server) serveBytes(w http.ResponseWriter, r *http.Request) error {
	reader, f, err := s.open(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if q.Get("part") == "payload" && f.Whole() {
		f.Raw = jsonrpc.Payload(&f)
		f.Size = int64(len(f.Raw))
	}
	from, to, err := offsets(q.Get("from"), q.Get("to"), max(f.Size, int64(len(f.Raw))))
	if err != nil {
		return refuse(http.StatusBadRequest, err)
	}
	if !q.Has("download") {
		to = min(to, from+maxPiece)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="frame-`+strconv.FormatUint(f.Seq, 10)+`.bin"`)
	if f.Whole() {
		_, _ = w.Write(f.Raw[from:to])
		return nil
	}
	// After the first byte an error can no longer be sent. The page notices that bytes are missing.
	_ = reader.WriteRaw(&sectionWriter{w: w, from: from, to: to}, f)
	return nil
}

// offsets parses two offsets within size bytes. The defaults are all bytes.
func offsets(from, to string, size int64) (int64, int64, error) {
	a, errA := strconv.ParseInt(cmp.Or(from, "0"), 10, 64)
	b, errB := strconv.ParseInt(cmp.Or(to, strconv.FormatInt(size, 10)), 10, 64)
	if errA != nil || errB != nil || a < 0 || b < a {
		return 0, 0, errors.New("from and to must be offsets in bytes")
	}
	return min(a, size), min(b, size), nil
}

// A sectionWriter forwards the bytes between two offsets, and then fails.
type sectionWriter struct {
	w            io.Writer
	at, from, to int64
}

func (s *sectionWriter) Write(b []byte) (int, error) {
	from, to := max(s.from-s.at, 0), min(s.to-s.at, int64(len(b)))
	s.at += int64(len(b))
	if from < to {
		if _, err := s.w.Write(b[from:to]); err != nil {
			return 0, err
		}
	}
	if s.at >= s.to {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
