package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/diff/load"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/jsonpath"
	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// An edit is a --set: a value for one place of a request.
type edit struct {
	path  jsonpath.Pattern
	value json.RawMessage
}

// parseEdits reads --set. What is not JSON is a text.
func parseEdits(args []string) (edits []edit, err error) {
	for _, arg := range args {
		path, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, hint.With(fmt.Errorf("--set %s: no value", term.Quote(arg)), `a path and a value, such as --set 'params.arguments.city="Oslo"'`)
		}
		if !strings.HasPrefix(path, "$") {
			path = "$." + path
		}
		e := edit{value: json.RawMessage(value)}
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
			if e.value, err = safe.JSON(value); err != nil {
				return nil, err
			}
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// A resent is a recorded request that was sent changed.
type resent struct {
	call session.Ref
	sent []byte
	// recorded is the frame of the recorded response, now that of the live one, zero where
	// there is none.
	recorded, now session.Part
}

// edited makes of a request of the chosen calls the one to be sent.
func (r *replayer) edited(call session.Ref, request []byte) []byte {
	if r.chosen[call] == nil {
		return request
	}
	for _, e := range r.edits {
		out, err := e.path.Set(request, e.value)
		if err != nil {
			r.a.say(fmt.Sprintf("--set: frame %d: %v", call.Seq, err))
			return request
		}
		request = out
	}
	if x := r.chosen[call]; x.sent == nil {
		x.sent = request
		r.resent = append(r.resent, x)
	}
	return request
}

// choose notes the calls that are to be changed, and their recorded responses.
func (r *replayer) choose(e *session.Entry, marked bool) {
	for _, p := range e.Parts {
		if marked && p.Call != (session.Ref{}) && r.chosen[p.Call] == nil {
			r.chosen[p.Call] = &resent{call: p.Call}
		}
		if x := r.chosen[p.Call]; x != nil && p.Role == session.RoleResponse {
			x.recorded = p
		}
	}
}

// find looks in the new recording for the responses to what was sent.
func (r *replayer) find(made *load.Recording) error {
	var tracker session.Tracker
	at := map[session.Ref]*resent{}
	return made.Each(r.ctx, func(f *tap.Frame) error {
		e := tracker.Add(f)
		for i := range e.Parts {
			p := &e.Parts[i]
			if p.Message == p.Call && p.Lane == tap.ToServer {
				sent := bytes.TrimSpace(jsonrpc.Payload(f))
				for _, x := range r.resent {
					if at[p.Call] == nil && x.now.Call == (session.Ref{}) && bytes.Equal(bytes.TrimSpace(x.sent), sent) {
						at[p.Call], x.now.Call = x, p.Call
					}
				}
			}
			if x := at[p.Call]; x != nil && p.Role == session.RoleResponse {
				x.now = *p
			}
		}
		return nil
	})
}

// writeResent shows each response next to the recorded one.
func (r *replayer) writeResent() error {
	made, err := r.d.Load(r.made)
	if err != nil {
		return err
	}
	if err := r.find(made); err != nil {
		return err
	}
	if head := r.head(); head != nil {
		if err := head(r.a.printer(r.a.stdout)); err != nil {
			return err
		}
	}
	failed := len(r.resent) == 0
	if failed {
		r.a.say("--set: no call selected by --only was sent")
	}
	for _, x := range r.resent {
		ok, err := r.writeOne(x, made)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return exitCode(exitNo)
	}
	return nil
}

// jsonResent is a changed call in `replay --set --json`. The names are stable.
type jsonResent struct {
	V    int    `json:"v"`
	Type string `json:"type"` // "resent"
	Call uint64 `json:"call"` // the frame of the recorded request
	// Request is the request sent, Recorded and Response are the two responses, all as
	// text; a missing response is absent.
	Request  string  `json:"request"`
	Recorded *string `json:"recorded,omitempty"`
	Response *string `json:"response,omitempty"`
}

// writeOne shows one of them, and reports whether the response is a success.
func (r *replayer) writeOne(x *resent, made *load.Recording) (ok bool, err error) {
	then, err := payloadOf(r.from, x.recorded)
	if err != nil {
		return false, err
	}
	now, err := payloadOf(made, x.now)
	if err != nil {
		return false, err
	}
	m := jsonrpc.Peek(now)
	ok = now != nil && !m.IsFailure()
	if r.o.diff.format == "json" {
		line := jsonResent{V: text.Version, Type: "resent", Call: x.call.Seq, Request: string(x.sent)}
		if then != nil {
			line.Recorded = textOf(then)
		}
		if now != nil {
			line.Response = textOf(now)
		}
		return ok, term.WriteJSON(r.a.stdout, line)
	}
	w := r.a.stdout
	fmt.Fprintf(w, "%s\n\n", r.a.palette().Paint(fmt.Sprintf("request #%d, changed", x.call.Seq), term.Bold))
	return ok, errors.Join(
		r.writeJSON(w, x.sent),
		r.writeResponse(w, "recorded response", x.recorded, then),
		r.writeResponse(w, r.nowName(), x.now, now))
}

// nowName is what the live response is called: with the recording that has it, if it is kept.
func (r *replayer) nowName() string {
	if r.o.noSave {
		return "response now"
	}
	return "response now, in " + r.id
}

func textOf(b []byte) *string {
	s := string(b)
	return &s
}

// payloadOf loads a response, nil for none.
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

func (r *replayer) writeResponse(w io.Writer, name string, p session.Part, raw []byte) error {
	if raw == nil {
		_, err := fmt.Fprintf(w, "\n%s: none\n", name)
		return err
	}
	fmt.Fprintf(w, "\n%s: #%d after %s\n\n", name, p.Message.Seq, view.Took(p.Latency.Round(time.Microsecond)))
	return r.writeJSON(w, raw)
}

// writeJSON lays a message out.
func (r *replayer) writeJSON(w io.Writer, raw []byte) error {
	p := &listing.Pretty{W: w, Paint: r.a.palette()}
	_, err := p.Write(raw)
	return errors.Join(err, p.Close())
}

// forget removes the new recording.
func (r *replayer) forget() error {
	if !r.o.noSave {
		return nil
	}
	return store.Remove(r.made)
}
