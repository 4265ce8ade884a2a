package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/diff/load"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/replay/report"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// An Edit is a --set option: a value for one member of a request.
type Edit struct {
	path  jsonpath.Pattern
	value json.RawMessage
}

// ParseEdits parses --set options. A value that is not JSON is a string.
func ParseEdits(args []string) (edits []Edit, err error) {
	for _, arg := range args {
		path, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, hint.With(fmt.Errorf("--set %s: no value", term.Quote(arg)), `a path and a value, such as --set 'params.arguments.city="Oslo"'`)
		}
		if !strings.HasPrefix(path, "$") {
			path = "$." + path
		}
		e := Edit{value: json.RawMessage(value)}
		if e.path, err = jsonpath.Parse(path); err == nil {
			_, err = e.path.Set([]byte("{}"), []byte("0"))
		}
		if err != nil {
			return nil, fmt.Errorf("--set %s: %w", term.Quote(arg), err)
		}
		if path != "$.params" && !strings.HasPrefix(path, "$.params.") && !strings.HasPrefix(path, "$.params[") && !strings.HasPrefix(path, "$.method") {
			err := fmt.Errorf("--set %s: a request has no such member", term.Quote(arg))
			return nil, hint.With(err, "did you mean --set 'params"+strings.TrimPrefix(path, "$")+"=…'?")
		}
		if !json.Valid(e.value) {
			if e.value, err = escape.JSON(value); err != nil {
				return nil, err
			}
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// edited applies the edits to a request of the chosen calls. It does not add a member that only
// another request of the call has.
func (r *Run) edited(call, message session.Ref, request []byte) []byte {
	x := r.chosen[call]
	if x == nil {
		return request
	}
	changed := false
	for i, e := range r.Edits {
		if r.inCall[place{call, i}] && !r.inRequest[place{message, i}] {
			continue
		}
		out, err := e.path.Set(request, e.value)
		if err != nil {
			r.Say(fmt.Sprintf("--set: frame %d: %v", message.Seq, err))
			return request
		}
		request, changed = out, true
	}
	if changed && x.Sent == nil {
		x.Frame = message
		r.resent = append(r.resent, x)
	}
	if x.Frame == message {
		x.Sent = request
	}
	return request
}

// A place is an edit, given by its index, in a call or a request.
type place struct {
	in   session.Ref
	edit int
}

// choose records the calls to change, their recorded responses, and which calls and requests have
// the members that are edited.
func (r *Run) choose(e *session.Entry, marked bool) {
	if marked {
		for call := range e.Calls {
			if r.chosen[call] == nil {
				r.chosen[call] = &report.Resent{Call: call}
			}
		}
	}
	if x := r.chosen[e.Refuses.Call]; x != nil {
		x.RecordedStatus = statusOf(e)
	}
	for i, p := range e.Parts {
		if x := r.chosen[p.Call]; x != nil && responds(&p) {
			x.Recorded = p
		}
		if p.Kind == jsonrpc.Request && len(e.Of(i).Params) > 0 {
			request := fmt.Appendf(nil, `{"params":%s}`, e.Of(i).Params)
			for k := range r.Edits {
				if r.Edits[k].path.In(request) {
					r.inCall[place{p.Call, k}], r.inRequest[place{p.Message, k}] = true, true
				}
			}
		}
	}
}

// responds reports whether a message is a response. The last one is that of the call: earlier ones
// are input_required results and the creation of a task.
func responds(p *session.Part) bool {
	return p.Role == session.RoleResponse || p.Role == session.RoleInterim
}

// statusOf returns the HTTP status of the response head e.
func statusOf(e *session.Entry) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Event.Status, escape.String(e.Event.Reason))) + fmt.Sprintf(" (#%d)", e.Frame.Seq)
}

// find finds the responses to the changed requests in the new recording.
func (r *Run) find(made *load.Recording) error {
	var tracker session.Tracker
	at := map[session.Ref]*report.Resent{}
	return made.Each(r.Differ.Ctx, func(f *tap.Frame) error {
		e := tracker.Add(f)
		if x := at[e.Refuses.Call]; x != nil {
			x.Status = statusOf(e)
		}
		for i := range e.Parts {
			p := &e.Parts[i]
			if p.Kind == jsonrpc.Request && p.Lane == tap.ToServer {
				sent := bytes.TrimSpace(jsonrpc.Payload(f))
				for _, x := range r.resent {
					if at[p.Call] == nil && x.Now.Call == (session.Ref{}) && bytes.Equal(bytes.TrimSpace(x.Sent), sent) {
						at[p.Call], x.Now.Call = x, p.Call
					}
				}
			}
			if x := at[p.Call]; x != nil && responds(p) {
				x.Now = *p
			}
		}
		return nil
	})
}

// writeResent shows each response next to the recorded one.
func (r *Run) writeResent() error {
	made, err := r.Differ.Load(r.made)
	if err != nil {
		return err
	}
	if err := r.find(made); err != nil {
		return err
	}
	if head := r.head(); head != nil {
		if err := head(r.Printer(r.Out)); err != nil {
			return err
		}
	}
	failed := len(r.resent) == 0
	if failed {
		r.Say("--set: no call selected by --only was sent")
	}
	for _, x := range r.resent {
		ok, err := r.writeOne(x, made)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return ErrNo
	}
	return nil
}

// writeOne shows one response, and reports whether it is a success.
func (r *Run) writeOne(x *report.Resent, made *load.Recording) (ok bool, err error) {
	if !r.NoSave {
		x.In = r.id
	}
	if x.Recorded.Message.Compare(x.Frame) < 0 { // it answers an earlier request of the call
		x.Recorded = session.Part{}
	}
	if x.Then, err = payloadOf(r.from, x.Recorded); err != nil {
		return false, err
	}
	if x.Response, err = payloadOf(made, x.Now); err != nil {
		return false, err
	}
	if r.Format == "json" {
		return x.OK(), x.JSON(r.Out)
	}
	return x.OK(), x.Text(r.Printer(r.Out))
}

// payloadOf loads a response. It returns nil if there is none.
func payloadOf(from *load.Recording, p session.Part) ([]byte, error) {
	if p.Message == (session.Ref{}) {
		return nil, nil
	}
	f, err := from.Rec.Frame(p.Message.Seq)
	if err != nil {
		return nil, err
	}
	return bytes.TrimSpace(jsonrpc.Payload(&f)), nil
}

// forget removes the new recording if it is not to be saved.
func (r *Run) forget() error {
	if !r.NoSave {
		return nil
	}
	return store.Remove(r.made)
}
