package listing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// MaxScreen limits the bytes of a frame that are shown on a terminal.
const MaxScreen = 1 << 20

// Print prints the frame, its response or what refused it, and the changes since the previous
// response.
func (one *One) Print(l *term.Printer) error {
	err := one.head(l)
	if err == nil {
		err = one.body(l)
	}
	response, ok := one.Responses[0]
	switch {
	case err != nil || one.Row.Kind != jsonrpc.Request.String():
	case ok:
		err = one.printBelow(l, response.Message.Seq, func(f *One) string {
			return fmt.Sprintf("%s #%d after %s", paintFailure(l, response.Kind.String(), f.message.IsFailure()), f.Frame.Seq,
				view.Took(response.Latency))
		})
	case len(one.Responses) == 0 && one.refusalBody > 0:
		err = one.printBelow(l, one.refusalBody, func(f *One) string {
			return fmt.Sprintf("%s, its body in #%d", paintFailure(l, one.refusal, true), f.Frame.Seq)
		})
	}
	if err != nil {
		return err
	}
	if d := one.Delta; d != nil && len(d.Params) > 0 {
		l.Printf("compared with #%d, the previous %s; arguments differ: %s\n", d.PreviousCall.Seq,
			safe.String(view.JoinWords(" ", one.Row.Method, one.Row.Subject)), paramsWords(d.Params))
	}
	for _, line := range deltaWords(one.Delta, l.Width) {
		l.Printf("%s\n", line)
	}
	return l.Err
}

// paramsWords describes the first changes of params in one line.
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

// PrintTwo prints how two frames differ.
func PrintTwo(l *term.Printer, from, to *tap.Frame, json bool) error {
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

// printBelow prints a frame that belongs to the one printed above.
func (one *One) printBelow(l *term.Printer, number uint64, heading func(*One) string) error {
	f, err := one.rec.Frame(number)
	if err != nil {
		return err
	}
	below := &One{Frame: f, message: jsonrpc.PeekFrame(&f), rec: one.rec, Limit: one.Limit}
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
func (one *One) head(l *term.Printer) error {
	r, f := &one.Row, &one.Frame
	field := func(name, value string) {
		if value != "" {
			l.Printf("%s  %s\n", l.Paint(term.Pad(name, 8, false), term.Dim), value)
		}
	}
	field("frame", fmt.Sprintf("%s of %d", l.Paint(fmt.Sprint(f.Seq), term.Bold), one.Info.Frames))
	field("time", fmt.Sprintf("+%s, %s", term.Offset(f.At), one.time.In(one.Zone).Format("2006-01-02 15:04:05.000 -0700")))
	field("lane", Arrows[f.Lane]+" "+laneWords[f.Lane])
	name := safe.String(r.Kind)
	if r.Sort != "" {
		name = r.Sort
	}
	if f.Lane == tap.Lifecycle && (r.Kind == tap.EventRequest || r.Kind == tap.EventResponse) {
		name = "head of an HTTP " + name
	}
	kind := paintFailure(l, name, r.Failed)
	if r.Kind != "invalid" && f.Lane != tap.Stderr && f.Lane != tap.Lifecycle { // those are printed below
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
	case one.cancel > 0 && !one.cancelled():
		field("cancel", fmt.Sprintf("by #%d", one.cancel))
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

// pairing describes how a request or response in the frame relates to other messages, or returns "".
func (one *One) pairing(p *session.Part) (name, text string) {
	at := ""
	if one.Row.Kind == "batch" {
		at = fmt.Sprintf("[%d] ", p.Message.Index)
	}
	response := p.Kind == jsonrpc.Response || p.Kind == jsonrpc.ErrorResponse
	to, ok := one.Responses[p.Message.Index]
	switch {
	case p.Role == session.RoleReplay:
		return "", ""
	case p.Kind == jsonrpc.Request && ok:
		return "response", fmt.Sprintf("%s#%d after %s", at, to.Message.Seq, view.Took(to.Latency))
	case p.Kind == jsonrpc.Request && one.cancelled():
		return "response", fmt.Sprintf("none until it was cancelled after %s, by #%d", view.Took(one.cancelAfter), one.cancel)
	case p.Kind == jsonrpc.Request && one.refusal != "":
		return "response", at + one.refusal
	case p.Kind == jsonrpc.Request && one.lost != nil:
		return "response", at + "none: " + safe.String(view.StreamEndWords(one.lost, p.At))
	case p.Kind == jsonrpc.Request && one.misdirected != "":
		return "response", at + one.misdirected
	case p.Kind == jsonrpc.Request && one.Info.Status == store.Live:
		return "response", at + view.JoinWords("; ", "none yet, after "+view.Took(one.waited(p)), one.noResponse)
	case p.Kind == jsonrpc.Request:
		return "response", at + view.JoinWords("; ", "none, after "+view.Took(one.waited(p)), one.noResponse, safe.String(one.exit.Words()))
	case p.Role == session.RoleRepeat:
		return "to", fmt.Sprintf("%s#%d again, after %s", at, p.Request.Seq, view.Took(p.Latency))
	case response && p.Request != (session.Ref{}):
		return "to", fmt.Sprintf("%s#%d after %s", at, p.Request.Seq, view.Took(p.Latency))
	case response:
		return "to", at + safe.String(view.NoRequestWords(one.Row.ID, one.alike))
	}
	return "", ""
}

// cancelled reports whether the frame is a request that was cancelled and has no response.
func (one *One) cancelled() bool {
	return one.cancel > 0 && len(one.Responses) == 0 && one.Row.Kind != "batch"
}

// waited returns how long a request had waited by the end of the recording.
func (one *One) waited(p *session.Part) time.Duration {
	return max(one.Info.Duration-p.At, 0)
}

// body prints the frame: JSON indented, anything else as text.
func (one *One) body(l *term.Printer) error {
	f, w := one.Frame, l.W
	if head := one.headText(); head != "" {
		l.Printf("%s", head)
		return l.Err
	}
	if one.Limit > 0 {
		w = &screenWriter{w: w, left: one.Limit}
	}
	var to io.WriteCloser = &textWriter{w: w}
	if one.isJSON() {
		to = &Pretty{W: w, Paint: l.Palette}
		if f.Form == tap.FormEvent { // the data may be JSON
			f.Raw = jsonrpc.Payload(&f)
			f.Size = int64(len(f.Raw))
		}
	}
	err := one.rec.WriteRaw(to, f)
	if err == nil {
		err = to.Close()
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// headText returns the head of an HTTP request or response as text, "" for other frames.
func (one *One) headText() string {
	e, err := tap.ParseEvent(one.Frame.Raw)
	var b strings.Builder
	switch {
	case one.Frame.Lane != tap.Lifecycle || !one.Frame.Whole() || err != nil:
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

// isJSON reports whether the frame is JSON, judging by the bytes that are known.
func (one *One) isJSON() bool {
	f := &one.Frame
	switch one.message.Kind {
	case jsonrpc.Invalid:
		return f.Lane == tap.Lifecycle
	case jsonrpc.Other:
		text := bytes.TrimLeft(f.Raw, " \t\r\n")
		return f.Form == tap.FormBody && len(text) > 0 && (text[0] == '{' || text[0] == '[')
	}
	return f.Form != tap.FormEvent || f.Whole()
}

// One describes a frame and the frames paired with it.
type One struct {
	Frame   tap.Frame
	message jsonrpc.Message
	Row     view.Row
	// time is the wall-clock time of the frame.
	time time.Time
	// Responses holds the responses to the frame, by index in a batch.
	Responses map[int]session.Part
	// cancel is the frame that cancelled the request before its response, 0 for none, and
	// cancelAfter how long the request had waited.
	cancel      uint64
	cancelAfter time.Duration
	// refusal describes an HTTP response with a failure status, and refusalBody is the frame with
	// its body, 0 for none.
	refusal     string
	refusalBody uint64
	// noResponse is what HTTP sent in place of the response to an open request, or "".
	noResponse string
	// lost is how the stream for the response ended without it, or nil.
	lost *session.StreamEnd
	// cut describes how the HTTP body with the response was cut off after complete JSON, or is "".
	cut string
	// alike is the request for which a response without a request is meant, or nil, and misdirected
	// describes a frame that is meant as the response but is none.
	alike       *session.Call
	misdirected string
	// exit is how the server ended, if it did before the response.
	exit session.Exit
	// Delta is how the response differs from the previous response to an equal request or, if there
	// is none, to another request for the same tool, prompt or resource.
	Delta *view.Delta
	Info  store.Info
	rec   *store.Recording
	// Zone is the time zone, Limit the number of bytes printed of a frame, 0 for all.
	Zone  *time.Location
	Limit int
}

// FindOne reads a frame and the frames paired with it. A stdio frame without any is read alone. For
// others it reads all earlier frames, because a response belongs to the oldest open request with its
// id. It stops after the last response, once the session of the frame is known.
func FindOne(ctx context.Context, rec *store.Recording, number uint64, diff bool) (*One, error) {
	f, err := rec.Frame(number)
	if err != nil {
		return nil, err
	}
	info, err := rec.Info()
	if err != nil {
		return nil, err
	}
	one := &One{time: info.Header.Start.Add(f.At), Info: info, rec: rec, Zone: time.UTC}
	one.take(new(session.Tracker).Add(&f))
	pairs := func(p session.Part) bool { return p.Kind != jsonrpc.Notification && p.Kind != jsonrpc.Invalid }
	if f.Exchange == 0 && !slices.ContainsFunc(one.Row.Messages, pairs) {
		one.Row.Messages = nil // their calls are unknown
		return one, nil
	}
	return one, one.pair(ctx, diff)
}

// take records what is known about the frame so far.
func (one *One) take(e *session.Entry) {
	one.Frame, one.message, one.Row = *e.Frame, e.Message, view.NewRow(e)
	one.Row.Messages = slices.Clone(one.Row.Messages) // they are valid until the next frame
}

// pair reads the recording up to the frame, and further until its responses and its session are known.
func (one *One) pair(ctx context.Context, diff bool) error {
	number, exchange, pending := one.Frame.Seq, one.Frame.Exchange, 0
	body := false // the response is the HTTP body of the exchange, so its end matters
	one.Responses = map[int]session.Part{}
	var tracker session.Tracker
	var finder view.AlikeFinder
	equal, others := view.NewResponses(), view.NewResponses()
	others.AnyParams = true
	for f, err := range recording.Read(ctx, one.rec, 0, false) {
		if err != nil {
			return err
		}
		next := tracker.Add(&f)
		if diff {
			for _, d := range append(others.Add(next), equal.Add(next)...) { // equal requests take precedence
				if d.Call.Seq == number || d.Message.Seq == number {
					one.Delta = d
				}
			}
		}
		one.exit.Add(&next.Event)
		if f.Seq < number {
			continue
		}
		if f.Seq == number {
			one.take(next)
			body = f.Lane == tap.ToClient && f.Form == tap.FormBody
			for _, p := range next.Parts {
				if p.Kind == jsonrpc.Request && p.Role != session.RoleReplay {
					pending++
				}
			}
		}
		if exchange != 0 && f.Exchange == exchange {
			switch {
			case next.Event.Name == tap.EventResponse && next.Event.Status >= 400:
				status := view.JoinWords(" ", fmt.Sprintf("HTTP %d", next.Event.Status), next.Event.Reason)
				one.refusal = fmt.Sprintf("%s in #%d", safe.String(status), f.Seq)
			case next.NoMessage() && one.refusalBody == 0, f.Lane == tap.ToClient && one.refusal != "" && one.refusalBody == 0:
				one.refusalBody = f.Seq
			}
			for _, c := range next.Ended {
				switch {
				case !slices.ContainsFunc(c.Requests, func(r session.Ref) bool { return r.Seq == number }):
				case c.Notes&session.NoteNoMessage != 0:
					one.refusal = safe.String(c.ErrorText)
				case c.Lost():
					one.lost = &c.StreamEnd
				}
			}
			for _, c := range next.Waiting {
				if slices.Contains(c.Requests, session.Ref{Seq: number}) {
					one.noResponse = safe.String(c.ErrorText)
				}
			}
		}
		for _, p := range next.Parts {
			if p.Role == session.RoleCancel && p.Call.Seq == number && one.cancel == 0 {
				one.cancel, one.cancelAfter = f.Seq, f.At-one.Frame.At
			}
			switch alike := finder.Find(next, p.Message.Index, tracker.Open); {
			case alike == nil:
			case f.Seq == number:
				one.alike = alike
			case alike.Ref != (session.Ref{Seq: number}) || one.misdirected != "":
			case p.Role == session.RoleInvalid:
				one.misdirected = fmt.Sprintf("none; it is inside #%d, which is not a message", f.Seq)
			default:
				one.misdirected = safe.String(fmt.Sprintf("none with id %s; #%d has id %s", view.BriefID(alike.ID), f.Seq, view.BriefID(next.Of(p.Message.Index).ID)))
			}
			if p.Request.Seq == number && p.Role != session.RoleRepeat {
				one.Responses[p.Request.Index] = p
				pending--
				body = body || session.MayBeCut(&f) && f.Exchange == exchange
			}
		}
		if late, session := tracker.Sessions.Late(); late == exchange && exchange != 0 {
			one.Row.Session = session
		}
		unknown := exchange != 0 && one.Row.Session == 0
		if over := f.Exchange == exchange && next.Event.Name == tap.EventEnd; pending <= 0 && (!unknown && !body || over) {
			if body && over && session.CutsOff(&next.Event) {
				one.cut = next.Event.Error
			}
			return nil
		}
	}
	return nil
}
