package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// oneFrame describes a frame and the frames it pairs with.
type oneFrame struct {
	frame   tap.Frame
	message jsonrpc.Message
	row     view.Row
	// time is the wall-clock time of the frame.
	time time.Time
	// responses holds the responses to the frame, by index in a batch.
	responses map[int]session.Part
	// cancel is the frame that cancelled the request before its response, 0 for none.
	cancel uint64
	// refusal describes the HTTP response with a failure status, and refusalBody is the
	// frame with its body, 0 for none.
	refusal     string
	refusalBody uint64
	// cut is how the HTTP body with the response was cut off after complete JSON, "" if it
	// was not.
	cut string
	// exit is the exit event of the server, if it came before the response.
	exit tap.Event
	// delta is how the response differs from the previous one to an equal request or, if
	// there is none, from that to another request of the same tool, prompt or resource.
	delta *view.Delta
	info  store.Info
	rec   *store.Recording
	// zone is for the time, limit the number of bytes printed of a frame, 0 for all.
	zone  *time.Location
	limit int
}

// findOne reads a frame and the frames it pairs with. A stdio frame that pairs with none
// is read alone. For others it reads all earlier frames, because a response belongs to
// the oldest open request with its id, and stops after the last response, once the
// session of the frame is known.
func findOne(ctx context.Context, rec *store.Recording, number uint64, diff bool) (*oneFrame, error) {
	f, err := rec.Frame(number)
	if err != nil {
		return nil, err
	}
	info, err := rec.Info()
	if err != nil {
		return nil, err
	}
	one := &oneFrame{time: info.Header.Start.Add(f.At), info: info, rec: rec, zone: time.UTC}
	one.take(new(session.Tracker).Add(&f))
	pairs := func(p session.Part) bool { return p.Kind != jsonrpc.Notification && p.Kind != jsonrpc.Invalid }
	if f.Exchange == 0 && !slices.ContainsFunc(one.row.Messages, pairs) {
		one.row.Messages = nil // their calls are unknown
		return one, nil
	}
	return one, one.pair(ctx, diff)
}

// take records what is known of the frame so far.
func (one *oneFrame) take(e *session.Entry) {
	one.frame, one.message, one.row = *e.Frame, e.Message, view.NewRow(e)
	one.row.Messages = slices.Clone(one.row.Messages) // they are valid until the next frame
}

// pair reads the recording up to the frame, and on until its responses and its session
// are known.
func (one *oneFrame) pair(ctx context.Context, diff bool) error {
	number, exchange, pending := one.frame.Seq, one.frame.Exchange, 0
	body := false // the response is the HTTP body of the exchange, whose end matters
	one.responses = map[int]session.Part{}
	var tracker session.Tracker
	equal, others := view.NewResponses(), view.NewResponses()
	others.AnyParams = true
	for f, err := range one.rec.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		next := tracker.Add(&f)
		if diff {
			for _, d := range append(others.Add(next), equal.Add(next)...) { // equal requests win
				if d.Call.Seq == number || d.Message.Seq == number {
					one.delta = d
				}
			}
		}
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
			case f.Lane == tap.ToClient && one.refusal != "" && one.refusalBody == 0:
				one.refusalBody = f.Seq
			}
		}
		for _, p := range next.Parts {
			if p.Role == session.RoleCancel && p.Call.Seq == number && one.cancel == 0 {
				one.cancel = f.Seq
			}
			if p.Request.Seq == number && p.Role != session.RoleRepeat {
				one.responses[p.Request.Index] = p
				pending--
				body = body || f.Form == tap.FormBody && f.Exchange == exchange
			}
		}
		if next.Event.Name == tap.EventExit && pending > 0 {
			one.exit = next.Event
		}
		if late, session := tracker.Sessions.Late(); late == exchange && exchange != 0 {
			one.row.Session = session
		}
		unknown := exchange != 0 && one.row.Session == 0
		if over := f.Exchange == exchange && next.Event.Name == tap.EventEnd; pending <= 0 && (!unknown && !body || over) {
			if body && over && view.CutsOff(&next.Event) {
				one.cut = next.Event.Error
			}
			return nil
		}
	}
	return nil
}
