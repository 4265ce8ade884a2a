package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// maxScreen limits how much of a frame is shown on a terminal.
const maxScreen = 1 << 20

// print prints the frame, its response or what refused it, and what changed since the
// previous response.
func (one *oneFrame) print(l *term.Printer) error {
	err := one.head(l)
	if err == nil {
		err = one.body(l)
	}
	response, ok := one.responses[0]
	switch {
	case err != nil || one.row.Kind != jsonrpc.Request.String():
	case ok:
		err = one.printBelow(l, response.Message.Seq, func(f *oneFrame) string {
			return fmt.Sprintf("%s #%d after %s", paintFailure(l, response.Kind.String(), f.message.IsFailure()), f.frame.Seq,
				view.Took(response.Latency))
		})
	case len(one.responses) == 0 && one.refusalBody > 0:
		err = one.printBelow(l, one.refusalBody, func(f *oneFrame) string {
			return fmt.Sprintf("%s, its body in #%d", paintFailure(l, one.refusal, true), f.frame.Seq)
		})
	}
	if err != nil {
		return err
	}
	if d := one.delta; d != nil && len(d.Params) > 0 {
		l.Printf("compared with #%d, the previous %s; arguments differ: %s\n", d.PreviousCall.Seq,
			safe.String(view.JoinWords(" ", one.row.Method, one.row.Subject)), paramsWords(d.Params))
	}
	for _, line := range deltaWords(one.delta, l.Width) {
		l.Printf("%s\n", line)
	}
	return l.Err
}

// paramsWords names the first changes of params in a line.
func paramsWords(changes []view.Change) string {
	const most = 3
	var words []string
	for _, c := range changes[:min(len(changes), most)] {
		words = append(words, fmt.Sprintf("%s %s → %s", safe.String(c.Path), cmp.Or(safe.String(c.Old), "none"), cmp.Or(safe.String(c.New), "none")))
	}
	if n := len(changes) - most; n > 0 {
		words = append(words, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, ", ")
}

// printTwo prints how two frames differ.
func printTwo(l *term.Printer, from, to *tap.Frame, json bool) error {
	d := &view.Delta{Message: session.Ref{Seq: to.Seq}, Previous: session.Ref{Seq: from.Seq}}
	d.Changes, d.More = view.Changes(jsonrpc.Payload(from), jsonrpc.Payload(to), view.MaxChanges)
	if json {
		return term.WriteJSON(l.W, struct {
			V    int    `json:"v"`
			Type string `json:"type"`
			Seq  uint64 `json:"seq"`
			*jsonDelta
		}{text.Version, "diff", to.Seq, newJSONDelta(d)})
	}
	for i, line := range deltaWords(d, l.Width) {
		if i == 0 {
			line = fmt.Sprintf("#%d: %s", to.Seq, line)
		}
		l.Printf("%s\n", line)
	}
	return l.Err
}

// printBelow prints a frame that belongs to the one above it.
func (one *oneFrame) printBelow(l *term.Printer, number uint64, heading func(*oneFrame) string) error {
	f, err := one.rec.Frame(number)
	if err != nil {
		return err
	}
	below := &oneFrame{frame: f, message: jsonrpc.PeekFrame(&f), rec: one.rec, limit: one.limit}
	l.Printf("\n%s, %s\n\n", heading(below), view.Size(f.Size))
	return below.body(l)
}

// paintFailure returns a text, painted if it names a failure.
func paintFailure(l *term.Printer, text string, failed bool) string {
	if failed {
		return l.Paint(text, term.BoldRed)
	}
	return text
}

// head prints the properties of the frame.
func (one *oneFrame) head(l *term.Printer) error {
	r, f := &one.row, &one.frame
	field := func(name, value string) {
		if value != "" {
			l.Printf("%s  %s\n", l.Paint(term.Pad(name, 8, false), term.Dim), value)
		}
	}
	field("frame", fmt.Sprintf("%s of %d", l.Paint(fmt.Sprint(f.Seq), term.Bold), one.info.Frames))
	field("time", fmt.Sprintf("+%s, %s", term.Offset(f.At), one.time.In(one.zone).Format("2006-01-02 15:04:05.000 -0700")))
	field("lane", arrows[f.Lane]+" "+laneWords[f.Lane])
	name := safe.String(r.Kind)
	if r.Sort != "" {
		name = r.Sort
	}
	if f.Lane == tap.Lifecycle && (r.Kind == tap.EventRequest || r.Kind == tap.EventResponse) {
		name = "head of an HTTP " + name
	}
	kind := paintFailure(l, name, r.Failed)
	if r.Kind != "invalid" && f.Lane != tap.Stderr && f.Lane != tap.Lifecycle { // these are printed below
		about := r.About
		if r.Method != "" && r.Part.Kind != jsonrpc.Notification {
			about = r.Subject
		}
		kind = view.JoinWords(" ", kind, safe.String(r.Method), safe.String(about))
	}
	if f.Exchange > 0 {
		exchange := fmt.Sprint(f.Exchange)
		if r.Session > 0 {
			exchange += fmt.Sprintf(", of session %d", r.Session)
		}
		field("exch", exchange)
	}
	field("form", formWords[f.Form])
	field("kind", kind)
	field("fault", l.Paint(fault(r), term.Red))
	field("id", safe.String(string(r.ID)))
	size := view.Size(f.Size)
	if f.Size >= 1024 {
		size += fmt.Sprintf(" (%d B)", f.Size)
	}
	if f.Took > 0 {
		size += ", took " + view.Took(f.Took) + " to receive"
	}
	field("size", size)
	if one.cut != "" {
		field("cut off", l.Paint(safe.String(one.cut), term.Red))
	}
	printed := 0
	for i := range r.Messages {
		name, text := one.pairing(&r.Messages[i])
		if name == "" {
			continue
		}
		if printed++; printed > 20 {
			field("", fmt.Sprintf("and more, of %d messages", len(r.Messages)))
			break
		}
		field(name, text)
	}
	switch {
	case one.cancel > 0:
		field("cancelled", fmt.Sprintf("by #%d", one.cancel))
	case r.Part.Role == session.RoleCancel && r.Part.Call.Seq > 0:
		field("cancels", fmt.Sprintf("#%d", r.Part.Call.Seq))
	}
	if reason := one.message.Reason; reason != "" && reason != r.Fault {
		field("odd", safe.String(reason))
	}
	if keys := one.message.DuplicateKeys; len(keys) > 0 {
		field("odd", "duplicate member "+safe.String(strings.Join(keys[:min(len(keys), 8)], ", ")))
	}
	l.Printf("\n")
	return l.Err
}

var laneWords = [tap.Lanes]string{
	tap.Lifecycle: "event of the run", tap.ToServer: "to the server", tap.ToClient: "to the client",
	tap.Stderr: "the server's stderr",
}

// formWords describes the forms other than stdio.
var formWords = [tap.Forms]string{
	tap.FormBody: "an HTTP body", tap.FormEvent: "a server-sent event", tap.FormText: "a WebSocket message",
	tap.FormBinary: "a binary WebSocket message", tap.FormPing: "a WebSocket ping", tap.FormPong: "a WebSocket pong",
	tap.FormClose: "a WebSocket close", tap.FormBytes: "bytes that are not HTTP",
}

// pairing describes how a request or response in the frame relates to others, "" for
// other messages.
func (one *oneFrame) pairing(p *session.Part) (name, text string) {
	at := ""
	if one.row.Kind == "batch" {
		at = fmt.Sprintf("[%d] ", p.Message.Index)
	}
	response := p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse
	to, ok := one.responses[p.Message.Index]
	switch {
	case p.Role == session.RoleReplay:
		return "", ""
	case p.Kind == jsonrpc.Request && ok:
		return "response", fmt.Sprintf("%s#%d after %s", at, to.Message.Seq, view.Took(to.Latency))
	case p.Kind == jsonrpc.Request && one.refusal != "":
		return "response", at + one.refusal
	case p.Kind == jsonrpc.Request && one.info.Status == store.Live:
		return "response", at + "none yet, after " + view.Took(one.waited(p))
	case p.Kind == jsonrpc.Request:
		text := at + "none, after " + view.Took(one.waited(p))
		if how := exitWords(&one.exit); how != "" {
			text += "; the server " + how
		}
		return "response", text
	case p.Role == session.RoleRepeat:
		return "to", fmt.Sprintf("%s#%d again, after %s", at, p.Request.Seq, view.Took(p.Latency))
	case response && p.Request != (session.Ref{}):
		return "to", fmt.Sprintf("%s#%d after %s", at, p.Request.Seq, view.Took(p.Latency))
	case response:
		return "to", at + "no known request"
	}
	return "", ""
}

// exitWords describes how a server failed, "" if it did not.
func exitWords(e *tap.Event) string {
	switch {
	case e.Signal != "":
		return "was killed by " + safe.String(e.Signal)
	case e.Code != nil && *e.Code != 0:
		return fmt.Sprintf("exited with code %d", *e.Code)
	}
	return ""
}

// waited returns how long a request had waited at the end of the recording.
func (one *oneFrame) waited(p *session.Part) time.Duration {
	return max(one.info.Duration-p.At, 0)
}

// body prints the frame: JSON indented, anything else as text.
func (one *oneFrame) body(l *term.Printer) error {
	f, w := one.frame, l.W
	if head := one.headText(); head != "" {
		l.Printf("%s", head)
		return l.Err
	}
	if one.limit > 0 {
		w = &screenWriter{w: w, left: one.limit}
	}
	var to interface {
		io.Writer
		close() error
	} = &textWriter{w: w}
	if one.isJSON() {
		to = &prettyWriter{w: w, paint: l.Palette}
		if f.Form == tap.FormEvent { // its data is what is JSON
			f.Raw = jsonrpc.Payload(&f)
			f.Size = int64(len(f.Raw))
		}
	}
	err := one.rec.WriteRaw(to, f)
	if err == nil {
		err = to.close()
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// headText returns the head of an HTTP request or response as lines, "" for other
// frames.
func (one *oneFrame) headText() string {
	e, err := tap.ParseEvent(one.frame.Raw)
	var b strings.Builder
	switch {
	case one.frame.Lane != tap.Lifecycle || !one.frame.Whole() || err != nil:
		return ""
	case e.Name == tap.EventRequest:
		b.WriteString(safe.String(view.JoinWords(" ", e.Method, e.Target, e.Proto)) + "\n")
	case e.Name == tap.EventResponse:
		b.WriteString(safe.String(view.JoinWords(" ", e.Proto, strconv.Itoa(e.Status), e.Reason)) + "\n")
	default:
		return ""
	}
	for _, h := range e.Header {
		b.WriteString(safe.String(h[0]) + ": " + safe.String(h[1]) + "\n")
	}
	return b.String()
}

// isJSON reports whether the frame is JSON, as far as its bytes are known.
func (one *oneFrame) isJSON() bool {
	f := &one.frame
	switch one.message.Kind {
	case jsonrpc.Invalid:
		return f.Lane == tap.Lifecycle
	case jsonrpc.Other:
		text := bytes.TrimLeft(f.Raw, " \t\r\n")
		return f.Form == tap.FormBody && len(text) > 0 && (text[0] == '{' || text[0] == '[')
	}
	return f.Form != tap.FormEvent || f.Whole()
}
