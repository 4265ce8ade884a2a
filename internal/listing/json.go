package listing

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// jsonRow is a frame in `show --json`. The names are stable.
type jsonRow struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "row", or "frame" if it includes the bytes
	Seq      uint64 `json:"seq"`
	At       int64  `json:"at_ns"`
	Took     int64  `json:"took_ns,omitempty"`
	Lane     string `json:"lane"`
	Exchange uint64 `json:"exchange,omitempty"`
	// Session is the number of the session of the exchange, absent if it has none; with
	// --follow, also if it is not known yet.
	Session int    `json:"session,omitempty"`
	Kind    string `json:"kind"`
	Event   string `json:"event,omitempty"`
	// Resumes is the first frame of the stream that a request resumes.
	Resumes uint64 `json:"resumes,omitempty"`
	// Ended lists the calls that the end of an exchange ended.
	Ended []jsonEnded `json:"ended,omitempty"`
	jsonID
	Method string `json:"method,omitempty"` // for a response, that of its request
	About  string `json:"about,omitempty"`
	// Subject is what the request, or the request of a response, refers to. Preview is a
	// shortened form of the arguments or the result.
	Subject   string     `json:"subject,omitempty"`
	Preview   string     `json:"preview,omitempty"`
	Failed    bool       `json:"failed,omitempty"`
	Fault     string     `json:"fault,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	Size      int64      `json:"size"`
	Parts     []jsonPart `json:"parts,omitempty"`
	// Diff lists, with --diff, the changes since the previous responses to the same requests.
	Diff []*jsonDelta `json:"diff,omitempty"`
	// Recording is the id of the recording, if there are several.
	Recording string `json:"recording,omitempty"`
}

// jsonPart describes the role of a message in a call.
type jsonPart struct {
	Index       int    `json:"index,omitempty"` // in a batch
	Role        string `json:"role"`            // see session.Role
	Call        uint64 `json:"call,omitempty"`
	CallIndex   int    `json:"call_index,omitempty"`
	Parent      uint64 `json:"parent,omitempty"`
	ParentIndex int    `json:"parent_index,omitempty"`
	Guess       bool   `json:"guess,omitempty"`
	Late        bool   `json:"late,omitempty"`
	// Request is the frame of a response's request, and Clash that of the open request with the
	// same id as this request.
	Request      uint64 `json:"request,omitempty"`
	RequestIndex int    `json:"request_index,omitempty"`
	Clash        uint64 `json:"clash,omitempty"`
	ClashIndex   int    `json:"clash_index,omitempty"`
	// Response is the frame of the response to a request, set only for a single frame.
	Response uint64 `json:"response,omitempty"`
	// Latency is the time from the request to the response.
	Latency *int64 `json:"latency_ns,omitempty"`
	// First is the frame that a replay repeats.
	First uint64 `json:"first,omitempty"`
}

// jsonEnded is a call that the end of its exchange ended.
type jsonEnded struct {
	session.Ref
	How string `json:"how"` // cancelled, lost or refused
}

// jsonDelta describes how a response differs from the previous one.
type jsonDelta struct {
	Index   int          `json:"index,omitempty"` // of the response in a batch
	Before  session.Ref  `json:"before"`          // the previous response
	Changes []jsonChange `json:"changes"`
	// Skipped counts further changes.
	Skipped int `json:"changes_skipped,omitempty"`
}

// jsonChange is a difference between two responses. Old and New are shortened JSON, as text, and
// absent if the value is.
type jsonChange struct {
	Path string  `json:"path"`
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// jsonID is the id of a message, in at most one of three forms. Ids are the only recorded JSON that is
// copied to the output, because 1, 1.0 and "1" are different ids. But a string may hold half a
// surrogate pair ("\ud800"), which the JSON grammar allows and strict parsers reject, or invalid
// UTF-8, and a replacement character would make different ids equal.
type jsonID struct {
	// ID is the recorded id, if every parser accepts it. It is absent if the id was too long to be
	// kept.
	ID json.RawMessage `json:"id,omitempty"`
	// Raw is otherwise the recorded token, with quotes and escapes, as text: "\"\\ud800\"".
	Raw string `json:"id_raw,omitempty"`
	// Base64 is the token if it is not valid UTF-8.
	Base64 []byte `json:"id_base64,omitempty"`
}

func newJSONID(id []byte) (j jsonID) {
	switch {
	case !json.Valid(id): // it may have been truncated
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
	_, err := safe.Unquote(token)
	return err == nil
}

func newJSONRow(r *view.Row, kind string, deltas []*view.Delta) jsonRow {
	f := &r.Part
	j := jsonRow{
		V: text.Version, Type: kind, Seq: f.Message.Seq, At: int64(f.At), Took: int64(r.Took), Lane: f.Lane.String(),
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

// JSON prints items as JSON. Calls within another call follow it.
type JSON struct {
	W         *bufio.Writer
	Ended     func() time.Duration // returns the duration of the recording
	Live      bool                 // the recording goes on
	Recording string               // "" if there is only one
	Payload   *store.Recording     // provides the bytes of frames, or nil

	frame tap.Frame // the last frame read from Payload
	next  func() (tap.Frame, error, bool)
	stop  func()
}

// Item implements [Printer]. It omits open calls and their messages, because a call is printed only
// once, when it has ended.
func (p *JSON) Item(i *view.Item) error {
	switch {
	case i.Open:
		return nil
	case i.Row != nil:
		return p.row(i.Row, i.Deltas)
	}
	if err := p.call(i.Node); err != nil {
		return err
	}
	for k := range i.Stderr {
		if err := p.row(&i.Stderr[k], nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *JSON) call(n *view.Node) error {
	j := newJSONCall(n, p.Ended(), !p.Live)
	j.Recording = p.Recording
	if err := term.WriteJSON(p.W, j); err != nil {
		return err
	}
	for _, kid := range n.Kids {
		if err := p.call(kid); err != nil {
			return err
		}
	}
	return nil
}

func (p *JSON) row(r *view.Row, deltas []*view.Delta) error {
	j := newJSONRow(r, "row", deltas)
	j.Recording = p.Recording
	if p.Payload == nil {
		return term.WriteJSON(p.W, j)
	}
	j.Type = "frame"
	b, err := safe.JSON(j)
	if err != nil {
		return err
	}
	f, err := p.read(j.Seq)
	if err != nil {
		return err
	}
	return text.WriteRaw(p.W, b, f, p.Payload.WriteRaw)
}

// maxSkipped limits the frames that are read to reach a later one.
const maxSkipped = 1000

// read returns a frame. It reads frames in sequence, because many small ones are stored together, and
// finding a single one decompresses all of them.
func (p *JSON) read(seq uint64) (tap.Frame, error) {
	if p.next != nil && (seq < p.frame.Seq || seq > p.frame.Seq+maxSkipped) {
		p.stop()
		p.next = nil
	}
	if p.next == nil {
		p.frame = tap.Frame{}
		p.next, p.stop = iter.Pull2(p.Payload.Frames(seq - 1))
	}
	for p.frame.Seq < seq {
		f, err, ok := p.next()
		if err != nil || !ok || f.Seq > seq { // Frame returns the reason
			p.stop()
			p.next = nil
			return p.Payload.Frame(seq)
		}
		p.frame = f
	}
	return p.frame, nil
}

// SkipHeader implements [Printer]. JSON has no header.
func (p *JSON) SkipHeader() {}

// End implements [Printer].
func (p *JSON) End(s *Summary) error {
	if p.next != nil {
		p.stop()
	}
	return writeJSONSummary(p.W, s, p.Recording)
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
	Calls     *uint64     `json:"calls,omitempty"`           // if calls are listed
	Beyond    uint64      `json:"unanswered_more,omitempty"` // number not listed
	Shown     *uint64     `json:"shown,omitempty"`           // if only some frames are selected
	Recording string      `json:"recording,omitempty"`
}

// writeJSONSummary prints the unanswered requests and the totals.
func writeJSONSummary(w io.Writer, s *Summary, recording string) error {
	out := jsonSummary{
		V: text.Version, Type: "summary", Frames: s.Frames, Bytes: s.Bytes, Errors: s.Errors,
		Duration: int64(s.Took), Status: s.Info.Status.String(), Gaps: s.Info.Gaps, Recording: recording,
	}
	if s.ByCall && !s.Partial {
		out.Calls = &s.Calls
	}
	if s.Selected {
		out.Shown = &s.Shown
		return term.WriteJSON(w, out)
	}
	out.Beyond = s.Beyond
	for _, q := range s.Unanswered {
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
			Lost      bool   `json:"lost,omitempty"` // its stream ended
			Recording string `json:"recording,omitempty"`
		}{
			text.Version, "unanswered", q.Ref.Seq, q.Ref.Index, q.Lane.String(), int64(q.At), newJSONID(q.ID), q.Method,
			q.Subject,
			q.Status.String(), q.Lost, recording,
		}
		if err := term.WriteJSON(w, line); err != nil {
			return err
		}
	}
	return term.WriteJSON(w, out)
}

// WriteJSON prints the frame with its bytes.
func (one *One) WriteJSON(w *bufio.Writer) error {
	j := newJSONRow(&one.Row, "frame", nil)
	for i := range j.Parts {
		if r, ok := one.Responses[j.Parts[i].Index]; ok {
			ns := int64(r.Latency)
			j.Parts[i].Response, j.Parts[i].Latency = r.Message.Seq, &ns
		}
	}
	b, err := safe.JSON(struct {
		jsonRow
		Time time.Time `json:"time"`
	}{j, one.time})
	if err != nil {
		return err
	}
	return text.WriteRaw(w, b, one.Frame, one.rec.WriteRaw)
}

// jsonCall is a call in `show --calls --json`. The names are stable.
type jsonCall struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "call"
	Seq      uint64 `json:"seq"`  // frame of its first request
	Index    int    `json:"index,omitempty"`
	Lane     string `json:"lane"`
	Exchange uint64 `json:"exchange,omitempty"`
	// Session is the number of its session in a recording of HTTP traffic.
	Session int   `json:"session,omitempty"`
	At      int64 `json:"at_ns"`
	jsonID
	Method  string `json:"method"`
	Subject string `json:"subject,omitempty"`
	// Arguments and Result are shortened forms of the arguments and the result.
	Arguments string `json:"arguments_preview,omitempty"`
	Result    string `json:"result_preview,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Status    string `json:"status"` // see session.CallStatus
	State     string `json:"state"`  // what lists say about it
	// Answer settled the call after Latency. An unsettled call had waited for Waited by the end of
	// the recording, or when it was lost (the note stream_ended).
	Answer      *session.Ref `json:"response,omitempty"`
	Latency     *int64       `json:"latency_ns,omitempty"`
	Waited      *int64       `json:"waited_ns,omitempty"`
	FirstAnswer int64        `json:"first_response_ns,omitempty"` // from the request

	ErrorCode string       `json:"error_code,omitempty"`
	ErrorText string       `json:"error_text,omitempty"`
	Cancel    *jsonCancel  `json:"cancel,omitempty"`
	Parent    *session.Ref `json:"parent,omitempty"`
	Guess     bool         `json:"guess,omitempty"` // the parent is a guess
	TaskID    string       `json:"task_id,omitempty"`
	TaskState string       `json:"task_status,omitempty"`
	Notes     []string     `json:"notes,omitempty"` // see session.Notes

	Requests []session.Ref `json:"requests"`
	Nested   []session.Ref `json:"nested,omitempty"`
	Asked    []jsonAsked   `json:"asked,omitempty"`
	Messages []jsonMessage `json:"messages"`
	// Skipped counts the messages omitted from the middle of Messages.
	Skipped       uint64            `json:"messages_skipped,omitempty"`
	Counts        map[string]uint64 `json:"counts"` // by role
	BytesToServer int64             `json:"bytes_to_server"`
	BytesToClient int64             `json:"bytes_to_client"`

	Diff      *jsonDelta `json:"diff,omitempty"`
	Recording string     `json:"recording,omitempty"`
}

type jsonCancel struct {
	session.Ref
	By     string `json:"by"` // client or server
	Reason string `json:"reason,omitempty"`
}

// jsonAsked is a request embedded in a result.
type jsonAsked struct {
	Key      string       `json:"key"`
	Method   string       `json:"method,omitempty"`
	Subject  string       `json:"subject,omitempty"`
	Request  session.Ref  `json:"request"`
	Response *session.Ref `json:"response,omitempty"`
	Answer   string       `json:"outcome,omitempty"`
}

// jsonMessage is a message of a call.
type jsonMessage struct {
	session.Ref
	Lane     string       `json:"lane"`
	At       int64        `json:"at_ns"`
	Exchange uint64       `json:"exchange,omitempty"`
	Role     string       `json:"role"` // see session.Role
	Kind     string       `json:"kind"`
	Method   string       `json:"method,omitempty"`
	Late     bool         `json:"late,omitempty"`
	Guess    bool         `json:"guess,omitempty"`
	Request  *session.Ref `json:"request,omitempty"`
	Latency  *int64       `json:"latency_ns,omitempty"`
	Clash    *session.Ref `json:"clash,omitempty"`
}

// refOrNil returns nil for the zero Ref.
func refOrNil(r session.Ref) *session.Ref {
	if r == (session.Ref{}) {
		return nil
	}
	return &r
}

func newJSONCall(n *view.Node, end time.Duration, over bool) jsonCall {
	c, title := n.Call, n.Title()
	j := jsonCall{
		V: text.Version, Type: "call", Seq: c.Ref.Seq, Index: c.Ref.Index,
		Lane: c.Lane.String(), Exchange: c.Exchange, At: int64(c.At),
		jsonID: newJSONID(c.ID), Method: c.Method, Subject: c.Subject, Arguments: title.Args, Result: title.Result,
		Revision: string(c.Revision), Status: c.Status.String(), State: string(c.State(over)),
		Answer: refOrNil(c.Answer), ErrorCode: c.ErrorCode, ErrorText: c.ErrorText,
		Parent: refOrNil(c.Parent), Guess: c.Guess,
		TaskID: c.TaskID, TaskState: c.TaskStatus, Notes: c.Notes.Names(), Requests: c.Requests, Nested: c.Nested,
		Skipped: c.Skipped, Counts: map[string]uint64{}, BytesToServer: c.BytesToServer, BytesToClient: c.BytesToClient,
	}
	if c.Exchange > 0 {
		j.Session = n.Session()
	}
	if took := int64(c.End - c.At); c.Status.Settled() {
		j.Latency = &took
	} else {
		waited := int64(c.Until(end) - c.At)
		j.Waited = &waited
	}
	if c.FirstAnswer != 0 {
		j.FirstAnswer = int64(c.FirstAnswer - c.At)
	}
	if c.Cancel != (session.Ref{}) {
		by := map[tap.Lane]string{tap.ToServer: "client", tap.ToClient: "server"}[c.CancelledBy]
		j.Cancel = &jsonCancel{c.Cancel, by, c.CancelReason}
	}
	for i := range c.Asked {
		e := &c.Asked[i]
		j.Asked = append(j.Asked, jsonAsked{e.Key, e.Method, e.Subject, e.Request, refOrNil(e.Response), e.Answer})
	}
	for i := range c.Parts {
		j.Messages = append(j.Messages, newJSONMessage(&c.Parts[i]))
	}
	for role, count := range c.Counts {
		if count > 0 {
			j.Counts[session.Role(role).String()] = count
		}
	}
	if n.Delta != nil {
		j.Diff = newJSONDelta(n.Delta)
	}
	return j
}

func newJSONMessage(p *session.Part) jsonMessage {
	m := jsonMessage{
		Ref: p.Message, Lane: p.Lane.String(), At: int64(p.At), Exchange: p.Exchange,
		Role: p.Role.String(), Kind: p.Kind.String(),
		Method: p.Method, Late: p.Late, Guess: p.Guess, Request: refOrNil(p.Request), Clash: refOrNil(p.Clash),
	}
	if m.Request != nil {
		ns := int64(p.Latency)
		m.Latency = &ns
	}
	return m
}
