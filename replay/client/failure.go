package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// refused handles an error for the requests in a message.
func (p *player) refused(on *Outgoing, err error) {
	for _, id := range on.ids {
		for _, f := range slices.Clone(p.open[idKey(id)]) {
			if f.out == on {
				p.unanswered(f, err)
			}
		}
	}
}

// unanswered handles a request that will have no response.
func (p *player) unanswered(f *pending, err error) {
	p.untrack(f)
	if p.bars(f, err) {
		return
	}
	if f.request < 0 {
		p.opt.Note(Note{Kind: NoteRefused, Method: f.method, Text: fmt.Sprintf("%s got no response: %v", f.method, err)})
		return
	}
	a := &p.plan.requests[f.request]
	if p.progress[f.request] != waiting {
		return
	}
	p.set(f.request, failed)
	if a.answer != (session.Ref{}) {
		p.note(NoteRefused, a, fmt.Sprintf("%s got no response: %v", p.name(a), err))
		p.unopened(f.method)
	}
}

// bars reports whether an error is an HTTP status with which the server refused to open a session
// that the recorded server opened. If so, it ends the replay.
func (p *player) bars(f *pending, err error) bool {
	var reach *ReachError
	if p.spoken || !p.opens(f.method) || !errors.As(err, &reach) || f.request >= 0 && p.plan.requests[f.request].answer == (session.Ref{}) {
		return false
	}
	p.barred = err
	p.leave(err)
	return true
}

// opens reports whether a request opens the session: it is the handshake, or the first request
// if there is no handshake.
func (p *player) opens(method string) bool {
	return method == "initialize" || p.target.modern() && !p.spoken
}

// unopened ends the replay if the failed request was supposed to open the session: no other
// request is allowed then (2025-11-25 basic/lifecycle#initialization).
func (p *player) unopened(method string) {
	if p.opens(method) {
		p.leave(errors.New("the session was not opened"))
	}
}

// declined reports whether a response refuses to open a session that the recorded server opened,
// with an error or because the server does not support the revision. If so, it ends the replay.
func (p *player) declined(f *pending, m *jsonrpc.Message) bool {
	if f.method != "initialize" && (f.method != "server/discover" || !p.target.crosses) {
		return false
	}
	n := Note{Kind: NoteRefused, Method: f.method, Text: f.method}
	if f.request >= 0 {
		a := &p.plan.requests[f.request]
		if a.fails || a.answer == (session.Ref{}) {
			return false
		}
		n.Frame, n.Subject, n.Text = a.ref, a.subject, p.name(a)
	}
	versions := texts(lookup(m.Result, "supportedVersions"))
	switch {
	case m.Kind == jsonrpc.ErrorResponse:
		n.Text += " was refused: " + strings.TrimSpace(m.ErrorCode+" "+m.ErrorMessage)
	case f.method == "server/discover" && len(versions) > 0 && !slices.Contains(versions, string(p.target.speaks)):
		n.Kind, n.Text = NoteVersion, fmt.Sprintf("the server speaks %s, not %s", strings.Join(versions, ", "), p.target.speaks)
	default:
		return false
	}
	if f.request >= 0 {
		p.set(f.request, answered)
	}
	p.opt.Note(n)
	p.leave(errors.New("the session was not opened"))
	return true
}

// maxSilence is the number of consecutive timeouts after which the replay gives up.
const maxSilence = 3

// timedOut notes that a request timed out. After maxSilence timeouts the replay ends.
func (p *player) timedOut(a *request, limit time.Duration) {
	p.note(NoteTimeout, a, fmt.Sprintf("%s got no response within %v; the recorded one took %v",
		p.name(a), limit.Round(time.Millisecond), a.took.Round(time.Microsecond)))
	p.unopened(a.method)
	if p.silence++; p.silence == maxSilence && p.gone == nil {
		p.lost(errors.New("the server stopped answering"))
	}
}

// leave ends the replay. It returns the open requests that had a response in the recording.
func (p *player) leave(err error) (waited []session.Ref) {
	if p.gone != nil {
		return nil
	}
	p.gone = err
	for i := range p.progress {
		if p.progress[i] == waiting {
			p.set(i, failed)
			if p.plan.requests[i].answer != (session.Ref{}) {
				waited = append(waited, p.plan.requests[i].ref)
			}
		}
	}
	return waited
}

// lost handles the end of the server.
func (p *player) lost(err error) {
	if p.gone != nil {
		return
	}
	if isUnreachable(err) && !p.spoken {
		p.barred = err
	}
	waited := p.leave(err)
	if p.barred != nil || !p.unsent() && len(waited) == 0 {
		return
	}
	n := Note{Kind: NoteDied, Text: err.Error(), Requests: waited}
	if len(waited) > 0 {
		i := slices.IndexFunc(p.plan.requests, func(a request) bool { return a.ref == waited[0] })
		first := &p.plan.requests[i]
		n.Frame, n.Method, n.Subject = first.ref, first.method, first.subject
		n.Text += " while " + p.name(first) + " waited for a response"
		if more := len(waited) - 1; more > 0 {
			n.Text = fmt.Sprintf("%v while %d requests waited for a response, beginning with %s", err, len(waited), p.name(first))
		}
	}
	p.opt.Note(n)
}

// unsent reports whether this step or a later one has something to send. Steps that only wait do
// not count.
func (p *player) unsent() bool {
	for i := p.at; i < len(p.plan.steps); i++ {
		s := &p.plan.steps[i]
		if s.kind == stepSend && (i > p.at || s.request >= 0 && p.progress[s.request] == unsent) {
			return true
		}
	}
	return false
}

// maxNamed is the number of unsent requests that a note names.
const maxNamed = 5

// rest notes the requests that were not sent.
func (p *player) rest() {
	var left []*request
	for i := range p.plan.steps {
		if s := &p.plan.steps[i]; s.kind == stepSend && s.request >= 0 && s.role != session.RoleCancel && p.progress[s.request] == unsent {
			left = append(left, &p.plan.requests[s.request])
		}
	}
	if len(left) == 0 {
		return
	}
	n := Note{Kind: NoteUnsent, Frame: left[0].ref, Method: left[0].method, Subject: left[0].subject}
	var names []string
	for i, a := range left {
		if i < maxNamed {
			names = append(names, p.name(a))
		}
		n.Requests = append(n.Requests, a.ref)
	}
	if more := len(left) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	n.Text = names[0] + " was not sent"
	if len(left) > 1 {
		n.Text = fmt.Sprintf("%d requests were not sent: %s", len(left), strings.Join(names, ", "))
	}
	p.opt.Note(n)
}

// note notes something about a recorded request.
func (p *player) note(kind NoteKind, a *request, text string) {
	p.opt.Note(Note{Kind: kind, Frame: a.ref, Method: a.method, Subject: a.subject, Text: text})
}

// name names a recorded request in a note.
func (p *player) name(a *request) string {
	return fmt.Sprintf("%s (#%d)", replay.RequestName(a.method, a.subject), a.ref.Seq)
}

// A Note reports something that a replay could not do as recorded, or a server request to which
// the recording has no answer.
type Note struct {
	Kind NoteKind
	// Frame is the recorded message concerned, zero for none.
	Frame session.Ref
	// Method and Subject are those of the message, as on the wire. Subject has at most
	// [jsonrpc.MaxSubject] bytes.
	Method, Subject string
	// Requests are the recorded requests concerned, for kinds that may concern several: those that
	// were open when the server died, or those that were not sent.
	Requests []session.Ref
	// Text is the note as a sentence. It may contain unescaped text from the server.
	Text string
}

// A NoteKind is the kind of a [Note].
type NoteKind uint8

const (
	// NoteTimeout: a request was not answered in time.
	NoteTimeout NoteKind = iota
	// NoteDied: the server ended, cut the connection, became unreachable or stopped
	// answering before the end of the session.
	NoteDied
	// NoteUnsent: a request was not sent, because the server was gone.
	NoteUnsent
	// NoteRefused: the server refused a message without a response to it.
	NoteRefused
	// NoteUnknown: the server sent a request that was never recorded.
	NoteUnknown
	// NoteRelaxed: a server request differs from the recorded one whose answer it got.
	NoteRelaxed
	// NoteSkipped: a request was not sent, because the server did not send a value that it
	// needs.
	NoteSkipped
	// NoteUntranslated: a request has no counterpart in the revision used.
	NoteUntranslated
	// NoteKilled: the server did not exit when its stdin ended.
	NoteKilled
	// NoteVersion: the server chose a revision other than the one requested.
	NoteVersion
	noteKinds
)

var noteNames = [noteKinds]string{"timeout", "died", "unsent", "refused", "unknown", "relaxed", "skipped", "untranslated", "killed", "version"}

// String returns the stable name: timeout, died, unsent, refused, unknown, relaxed,
// skipped, untranslated, killed or version.
func (k NoteKind) String() string { return noteNames[k] }
