package main

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// jsonVersion is the v of each line of JSON that a command prints.
const jsonVersion = text.Version

// jsonRow is a frame in `show --json`. The names are stable.
type jsonRow struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "row"; "frame" with the bytes
	Seq      uint64 `json:"seq"`
	At       int64  `json:"at_ns"`
	Took     int64  `json:"took_ns,omitempty"`
	Lane     string `json:"lane"`
	Exchange uint64 `json:"exchange,omitempty"`
	// Session is the number of the session that the exchange belongs to, absent
	// where it belongs to none; with --follow, also where that is not known yet.
	Session int    `json:"session,omitempty"`
	Kind    string `json:"kind"`
	Event   string `json:"event,omitempty"`
	// Resumes is, of a request that goes on with a stream, the frame that began
	// that stream.
	Resumes uint64 `json:"resumes,omitempty"`
	// Ended are the calls that the end of an exchange ended.
	Ended []jsonEnded `json:"ended,omitempty"`
	jsonID
	Method string `json:"method,omitempty"` // of a response: its request's
	About  string `json:"about,omitempty"`
	// Subject is what the request is about, of a response what its request is, and
	// Preview what the message carries beside it, shortened: arguments, or what a result
	// holds.
	Subject   string     `json:"subject,omitempty"`
	Preview   string     `json:"preview,omitempty"`
	Failed    bool       `json:"failed,omitempty"`
	Fault     string     `json:"fault,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	Size      int64      `json:"size"`
	Parts     []jsonPart `json:"parts,omitempty"`
	// Diff is what changed from the last answers to the same questions, where
	// that was asked for.
	Diff []*jsonDelta `json:"diff,omitempty"`
	// Recording is the id of the recording, where there are several.
	Recording string `json:"recording,omitempty"`
}

// jsonPart is what a message is to which call.
type jsonPart struct {
	Index       int    `json:"index,omitempty"` // in a batch
	Role        string `json:"role"`            // see session.Role
	Call        uint64 `json:"call,omitempty"`
	CallIndex   int    `json:"call_index,omitempty"`
	Parent      uint64 `json:"parent,omitempty"`
	ParentIndex int    `json:"parent_index,omitempty"`
	Guess       bool   `json:"guess,omitempty"`
	Late        bool   `json:"late,omitempty"`
	// Request is the frame of the request that a response answers, Clash that of
	// the open request with the same id as a request.
	Request      uint64 `json:"request,omitempty"`
	RequestIndex int    `json:"request_index,omitempty"`
	Clash        uint64 `json:"clash,omitempty"`
	ClashIndex   int    `json:"clash_index,omitempty"`
	// Response is the frame that answers a request, known only of a single frame.
	Response uint64 `json:"response,omitempty"`
	// Latency is from the request to the response.
	Latency *int64 `json:"latency_ns,omitempty"`
	// First is the frame that a replay repeats.
	First uint64 `json:"first,omitempty"`
}

// jsonEnded is a call that the end of its exchange ended.
type jsonEnded struct {
	session.Ref
	How string `json:"how"` // cancelled, lost or refused
}

// jsonDelta is what changed from one answer to the next.
type jsonDelta struct {
	Index   int          `json:"index,omitempty"` // of the answer in a batch
	Before  session.Ref  `json:"before"`          // the answer before
	Changes []jsonChange `json:"changes"`
	// Skipped is how many changes there are beyond these.
	Skipped int `json:"changes_skipped,omitempty"`
}

// jsonChange is one place at which two answers differ. What is not there is
// left out; what is there is JSON, shortened, as text.
type jsonChange struct {
	Path string  `json:"path"`
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// jsonID is the id of a message, in at most one of three forms. Ids are the only
// recorded JSON that is put into JSON as it stands; all else goes out as strings
// of our own making. As it stands an id distinguishes 1, 1.0 and "1", but a
// string may hold half a surrogate pair ("\ud800"), which the grammar of JSON
// allows and strict parsers refuse with the whole line, or bytes that are no
// UTF-8. To put a replacement character there would make different ids look the
// same.
type jsonID struct {
	// ID is the id as it stands, where every parser takes it. An id that was too
	// long to keep has none.
	ID json.RawMessage `json:"id,omitempty"`
	// Raw is what stands in the message otherwise, quotes and escapes included,
	// as text: "\"\\ud800\"".
	Raw string `json:"id_raw,omitempty"`
	// Base64 is the same where it is not even UTF-8.
	Base64 []byte `json:"id_base64,omitempty"`
}

func newJSONID(id []byte) (j jsonID) {
	switch {
	case !json.Valid(id): // it may have been cut
	case !utf8.Valid(id):
		j.Base64 = id
	case id[0] == '"' && !unquotes(id):
		j.Raw = string(id)
	default:
		j.ID = id
	}
	return j
}

// unquotes reports whether a JSON string has an exact value.
func unquotes(token []byte) bool {
	_, err := unquote(token)
	return err == nil
}

func newJSONRow(r *view.Row, kind string, deltas []*view.Delta) jsonRow {
	f := &r.Part
	j := jsonRow{
		V: jsonVersion, Type: kind, Seq: f.Message.Seq, At: int64(f.At), Took: int64(r.Took), Lane: f.Lane.String(),
		Exchange: f.Exchange, Session: r.Session, Resumes: r.Resumes, Kind: r.Kind, Method: r.Method, About: r.About,
		Subject: r.Subject, Preview: r.Preview,
		Failed: r.Failed, Fault: r.Fault, Truncated: r.Truncated, Size: r.Size,
	}
	if f.Lane == tap.Lifecycle {
		j.Kind, j.Event = f.Lane.String(), r.Kind
	}
	for _, c := range r.Ended {
		if how := c.How(); how != "" {
			j.Ended = append(j.Ended, jsonEnded{c.Call, how})
		}
	}
	j.jsonID = newJSONID(r.ID)
	for i := range r.Messages {
		p := &r.Messages[i]
		out := jsonPart{
			Index: p.Message.Index, Role: p.Role.String(), Call: p.Call.Seq, CallIndex: p.Call.Index,
			Parent: p.Parent.Seq, ParentIndex: p.Parent.Index, Guess: p.Guess, Late: p.Late,
			First: p.First.Seq, Request: p.Request.Seq, RequestIndex: p.Request.Index,
			Clash: p.Clash.Seq, ClashIndex: p.Clash.Index,
		}
		if out.Request > 0 {
			ns := int64(p.Latency)
			out.Latency = &ns
		}
		j.Parts = append(j.Parts, out)
	}
	for _, d := range deltas {
		j.Diff = append(j.Diff, newJSONDelta(d))
	}
	return j
}

func newJSONDelta(d *view.Delta) *jsonDelta {
	j := &jsonDelta{Index: d.Message.Index, Before: d.Previous, Changes: []jsonChange{}, Skipped: d.More}
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	for _, c := range d.Changes {
		j.Changes = append(j.Changes, jsonChange{c.Path, text(c.Old), text(c.New)})
	}
	return j
}

// jsonRows prints rows for a program.
type jsonRows struct {
	w         *bufio.Writer
	recording string           // "" where there is one only
	payload   *store.Recording // where to get the bytes of a frame, or nil
}

func (p *jsonRows) row(r *view.Row, deltas []*view.Delta) error {
	j := newJSONRow(r, "row", deltas)
	j.Recording = p.recording
	if p.payload == nil {
		return writeJSON(p.w, j)
	}
	j.Type = "frame"
	b, err := encodeJSON(j)
	if err != nil {
		return err
	}
	f, err := p.payload.Frame(j.Seq)
	if err != nil {
		return err
	}
	return text.WriteRaw(p.w, b, f, p.payload.WriteRaw)
}

func (p *jsonRows) untitled() {}

func (p *jsonRows) end(s *summary) error {
	return writeJSONSummary(p.w, s, p.recording)
}

// jsonSummary is the last line of `show --json`.
type jsonSummary struct {
	V         int         `json:"v"`
	Type      string      `json:"type"` // "summary"
	Frames    uint64      `json:"frames"`
	Bytes     int64       `json:"bytes"`
	Errors    uint64      `json:"errors"`
	Duration  int64       `json:"duration_ns"`
	Status    string      `json:"status"`
	Gaps      []tap.Range `json:"gaps,omitempty"`
	Calls     *uint64     `json:"calls,omitempty"`           // where calls were asked for
	Beyond    uint64      `json:"unanswered_more,omitempty"` // that are not listed
	Shown     *uint64     `json:"shown,omitempty"`           // where not all were
	Recording string      `json:"recording,omitempty"`
}

// writeJSONSummary prints the unanswered requests and the sums.
func writeJSONSummary(w io.Writer, s *summary, recording string) error {
	out := jsonSummary{
		V: jsonVersion, Type: "summary", Frames: s.counts.frames, Bytes: s.counts.bytes, Errors: s.counts.errors,
		Duration: int64(s.info.Duration), Status: s.info.Status.String(), Gaps: s.info.Gaps, Calls: s.calls, Recording: recording,
	}
	if s.selected {
		out.Shown = &s.shown
		return writeJSON(w, out)
	}
	out.Beyond = s.beyond
	for _, q := range s.unanswered {
		line := struct {
			V     int    `json:"v"`
			Type  string `json:"type"`
			Seq   uint64 `json:"seq"`
			Index int    `json:"index,omitempty"`
			Lane  string `json:"lane"`
			At    int64  `json:"at_ns"`
			jsonID
			Method    string `json:"method"`
			About     string `json:"about,omitempty"`
			Status    string `json:"status"`
			Lost      bool   `json:"lost,omitempty"` // its stream is over
			Recording string `json:"recording,omitempty"`
		}{
			jsonVersion, "unanswered", q.Ref.Seq, q.Ref.Index, q.Lane.String(), int64(q.At), newJSONID(q.ID), q.Method, q.Subject,
			q.Status.String(), q.Lost, recording,
		}
		if err := writeJSON(w, line); err != nil {
			return err
		}
	}
	return writeJSON(w, out)
}

func writeJSON(w io.Writer, v any) error {
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// writeJSONFrame prints one frame with its bytes.
func writeJSONFrame(w *bufio.Writer, one *oneFrame, raw func(io.Writer, tap.Frame) error) error {
	j := newJSONRow(&one.row, "frame", nil)
	for i := range j.Parts {
		if a, ok := one.answers[j.Parts[i].Index]; ok {
			ns := int64(a.Latency)
			j.Parts[i].Response, j.Parts[i].Latency = a.Message.Seq, &ns
		}
	}
	b, err := encodeJSON(struct {
		jsonRow
		Time time.Time `json:"time"`
	}{j, one.time})
	if err != nil {
		return err
	}
	return text.WriteRaw(w, b, one.frame, raw)
}
