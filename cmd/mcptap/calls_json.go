package main

import (
	"bufio"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// jsonCall is a call in `show --calls --json`. The names are stable.
type jsonCall struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "call"
	Seq      uint64 `json:"seq"`  // of its first request
	Index    int    `json:"index,omitempty"`
	Lane     string `json:"lane"`
	Exchange uint64 `json:"exchange,omitempty"`
	// Session is the number of its session in a recording of HTTP traffic.
	Session int   `json:"session,omitempty"`
	At      int64 `json:"at_ns"`
	jsonID
	Method  string `json:"method"`
	Subject string `json:"subject,omitempty"`
	// Arguments are those of the request, and Result is what the response holds, both
	// shortened.
	Arguments string `json:"arguments_preview,omitempty"`
	Result    string `json:"result_preview,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Status    string `json:"status"` // see session.CallStatus
	// Answer settled the call, Latency is how long that took. One that is not
	// settled has waited for Waited at the end of the recording, or when it was
	// lost (the note stream_ended).
	Answer      *session.Ref `json:"answer,omitempty"`
	Latency     *int64       `json:"latency_ns,omitempty"`
	Waited      *int64       `json:"waited_ns,omitempty"`
	FirstAnswer int64        `json:"first_answer_ns,omitempty"` // from the request

	ErrorCode string       `json:"error_code,omitempty"`
	ErrorText string       `json:"error_text,omitempty"`
	Cancel    *jsonCancel  `json:"cancel,omitempty"`
	Parent    *session.Ref `json:"parent,omitempty"`
	Guess     bool         `json:"guess,omitempty"` // the parent is
	TaskID    string       `json:"task_id,omitempty"`
	TaskState string       `json:"task_status,omitempty"`
	Notes     []string     `json:"notes,omitempty"` // see session.Notes

	Requests []session.Ref `json:"requests"`
	Nested   []session.Ref `json:"nested,omitempty"`
	Asked    []jsonAsked   `json:"asked,omitempty"`
	Messages []jsonMessage `json:"messages"`
	// Skipped is how many are left out in the middle of Messages.
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

// jsonAsked is a request that a result carried.
type jsonAsked struct {
	Key      string       `json:"key"`
	Method   string       `json:"method,omitempty"`
	Subject  string       `json:"subject,omitempty"`
	Request  session.Ref  `json:"request"`
	Response *session.Ref `json:"response,omitempty"`
	Answer   string       `json:"answer,omitempty"`
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

// refOrNil is nil for what is not known.
func refOrNil(r session.Ref) *session.Ref {
	if r == (session.Ref{}) {
		return nil
	}
	return &r
}

func newJSONCall(n *view.Node, end time.Duration) jsonCall {
	c, title := n.Call, n.Title()
	j := jsonCall{
		V: jsonVersion, Type: "call", Seq: c.Ref.Seq, Index: c.Ref.Index, Lane: c.Lane.String(), Exchange: c.Exchange, At: int64(c.At),
		jsonID: newJSONID(c.ID), Method: c.Method, Subject: c.Subject, Arguments: title.Args, Result: title.Result, Revision: string(c.Revision), Status: c.Status.String(),
		Answer: refOrNil(c.Answer), ErrorCode: c.ErrorCode, ErrorText: c.ErrorText, Parent: refOrNil(c.Parent), Guess: c.Guess,
		TaskID: c.TaskID, TaskState: c.TaskStatus, Notes: c.Notes.Names(), Requests: c.Requests, Nested: c.Nested,
		Skipped: c.Skipped, Counts: map[string]uint64{}, BytesToServer: c.BytesToServer, BytesToClient: c.BytesToClient,
	}
	if c.Exchange > 0 {
		j.Session = n.Session()
	}
	if took := int64(c.End - c.At); c.Status.Settled() {
		j.Latency = &took
	} else {
		if c.End != 0 { // it was lost then
			end = c.End
		}
		waited := int64(max(end-c.At, 0))
		j.Waited = &waited
	}
	if c.FirstAnswer != 0 {
		j.FirstAnswer = int64(c.FirstAnswer - c.At)
	}
	if c.Cancel != (session.Ref{}) {
		j.Cancel = &jsonCancel{c.Cancel, map[tap.Lane]string{tap.ToServer: "client", tap.ToClient: "server"}[c.CancelledBy], c.CancelReason}
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
		Ref: p.Message, Lane: p.Lane.String(), At: int64(p.At), Exchange: p.Exchange, Role: p.Role.String(), Kind: p.Kind.String(),
		Method: p.Method, Late: p.Late, Guess: p.Guess, Request: refOrNil(p.Request), Clash: refOrNil(p.Clash),
	}
	if m.Request != nil {
		ns := int64(p.Latency)
		m.Latency = &ns
	}
	return m
}

// jsonCalls prints calls for a program: those within another come after it.
// What belongs to no call is a row, as in the list of frames.
type jsonCalls struct {
	w         *bufio.Writer
	ended     func() time.Duration
	recording string // "" where there is one only
}

// node implements [callPrinter].
func (p *jsonCalls) node(n *view.Node, stderr []view.Row) error {
	if n.Call == nil {
		return p.row(&n.Row)
	}
	j := newJSONCall(n, p.ended())
	j.Recording = p.recording
	if err := writeJSON(p.w, j); err != nil {
		return err
	}
	for _, kid := range n.Kids {
		if err := p.node(kid, nil); err != nil {
			return err
		}
	}
	for i := range stderr {
		if err := p.row(&stderr[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *jsonCalls) row(l *view.Row) error {
	j := newJSONRow(l, "row", nil)
	j.Recording = p.recording
	return writeJSON(p.w, j)
}

func (p *jsonCalls) untitled() {}

// begun and part print nothing: a call is printed once, when all is known of it.
func (p *jsonCalls) begun(*view.Node) error { return nil }
func (p *jsonCalls) part(*view.Row) error   { return nil }

// end implements [callPrinter].
func (p *jsonCalls) end(s *summary) error { return writeJSONSummary(p.w, s, p.recording) }
