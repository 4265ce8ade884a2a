package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// What is not as it was in the recording: requests that have no answer, a server that
// ends, and the requests that are not sent for that.

// refused takes the news that the requests of a message will not be answered.
func (p *player) refused(on *Outgoing, err error) {
	for _, id := range on.ids {
		for _, f := range slices.Clone(p.flights[idKey(id)]) {
			if f.out == on {
				p.unheard(f, err)
			}
		}
	}
}

// unheard takes the news that a request will not be answered.
func (p *player) unheard(f *flight, err error) {
	p.land(f)
	if p.bars(f, err) {
		return
	}
	if f.ask < 0 {
		p.opt.Note(Note{Kind: NoteRefused, Method: f.method, Text: fmt.Sprintf("%s was not answered: %v", f.method, err)})
		return
	}
	a := &p.plan.asks[f.ask]
	if p.asks[f.ask] != waiting {
		return
	}
	p.set(f.ask, failed)
	if a.answer != (session.Ref{}) { // else it had none in the recording either
		p.note(NoteRefused, a, fmt.Sprintf("%s was not answered: %v", p.name(a), err))
		p.unopened(f.method)
	}
}

// bars reports whether the session cannot be opened, since the server refuses the
// message that opens it by a status of HTTP, where it answered the recorded one.
func (p *player) bars(f *flight, err error) bool {
	var no *refused
	if p.spoken || !p.opens(f.method) || !errors.As(err, &no) || f.ask >= 0 && p.plan.asks[f.ask].answer == (session.Ref{}) {
		return false
	}
	p.barred = err
	p.leave(err)
	return true
}

// opens reports whether a request opens the session: the handshake, and where there is
// none whatever is asked first.
func (p *player) opens(method string) bool {
	return method == "initialize" || p.target.modern() && !p.spoken
}

// unopened ends the replay when the session was not opened: nothing else can be asked
// then (2025-11-25 basic/lifecycle#initialization).
func (p *player) unopened(method string) {
	if p.opens(method) {
		p.leave(errors.New("the session was not opened"))
	}
}

// declined reports whether an answer refuses to open the session, where the recorded
// one did not: by an error, or since the server does not speak the revision. Nothing
// else is asked then.
func (p *player) declined(f *flight, m *jsonrpc.Message) bool {
	if f.method != "initialize" && (f.method != "server/discover" || !p.target.crosses) {
		return false
	}
	n := Note{Kind: NoteRefused, Method: f.method, Text: f.method}
	if f.ask >= 0 {
		a := &p.plan.asks[f.ask]
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
	if f.ask >= 0 {
		p.set(f.ask, answered)
	}
	p.opt.Note(n)
	p.leave(errors.New("the session was not opened"))
	return true
}

// maxSilence is how many requests in a row are waited for in vain.
const maxSilence = 3

// timedOut takes note that a request was not answered in time. A server that says
// nothing any more is not waited for again and again.
func (p *player) timedOut(a *ask, limit time.Duration) {
	p.note(NoteTimeout, a, fmt.Sprintf("%s was not answered within %v, in the recording it took %v",
		p.name(a), limit.Round(time.Millisecond), a.took.Round(time.Microsecond)))
	p.unopened(a.method)
	if p.silence++; p.silence == maxSilence && p.gone == nil {
		p.lost(errors.New("the server said nothing any more"))
	}
}

// leave ends the replay: the requests that wait will have no answer.
func (p *player) leave(err error) (waited []session.Ref) {
	if p.gone != nil {
		return nil
	}
	p.gone = err
	for i := range p.asks {
		if p.asks[i] == waiting {
			p.set(i, failed)
			if p.plan.asks[i].answer != (session.Ref{}) {
				waited = append(waited, p.plan.asks[i].ref)
			}
		}
	}
	return waited
}

// lost takes the news that the server is gone.
func (p *player) lost(err error) {
	var none *unreachable
	if errors.As(err, &none) && !p.spoken && p.gone == nil {
		p.barred = err
	}
	if p.gone != nil {
		return
	}
	waited := p.leave(err)
	if !p.more() && len(waited) == 0 {
		return // as it may: nothing was to come
	}
	n := Note{Kind: NoteDied, Text: err.Error(), Requests: waited}
	if len(waited) > 0 {
		first := p.first(waited[0])
		n.Frame, n.Method, n.Subject = first.ref, first.method, first.subject
		n.Text += " while " + p.name(first) + " waited for an answer"
		if more := len(waited) - 1; more > 0 {
			n.Text = fmt.Sprintf("%v while %d requests waited for an answer, from %s on", err, len(waited), p.name(first))
		}
	}
	if p.barred == nil {
		p.opt.Note(n)
	}
}

// first is the recorded request of a number.
func (p *player) first(ref session.Ref) *ask {
	i := slices.IndexFunc(p.plan.asks, func(a ask) bool { return a.ref == ref })
	return &p.plan.asks[i]
}

// maxNamed is how many requests that were not sent are named in a note.
const maxNamed = 5

// rest says what could not be done any more.
func (p *player) rest() {
	var left []*ask
	for i := range p.plan.steps {
		if s := &p.plan.steps[i]; s.kind == stepSend && s.ask >= 0 && s.role != session.RoleCancel && p.asks[s.ask] == unsent {
			left = append(left, &p.plan.asks[s.ask])
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
	n.Text = names[0] + " was never played"
	if len(left) > 1 {
		n.Text = fmt.Sprintf("%d requests were never played: %s", len(left), strings.Join(names, ", "))
	}
	p.opt.Note(n)
}

// note tells of a recorded request.
func (p *player) note(kind NoteKind, a *ask, text string) {
	p.opt.Note(Note{Kind: kind, Frame: a.ref, Method: a.method, Subject: a.subject, Text: text})
}

// name names a recorded request in a note.
func (p *player) name(a *ask) string {
	text := a.method
	if a.subject != "" {
		text += " " + a.subject
	}
	return fmt.Sprintf("%s (#%d)", text, a.ref.Seq)
}

// A Note says in what a replay could not do what the recorded client did, or what
// the server did that the recording is no answer to.
type Note struct {
	Kind NoteKind
	// Frame names the recorded message concerned, zero for none.
	Frame session.Ref
	// Method and Subject say what it is about; Subject is at most [jsonrpc.MaxSubject]
	// bytes. Both come from the wire as they are.
	Method, Subject string
	// Requests are the recorded requests that it is about, where those may be several:
	// the ones that waited for an answer when the server died, the ones that were not
	// sent.
	Requests []session.Ref
	// Text is the note in one sentence. It holds what the server sent, as it is.
	Text string
}

// A NoteKind says what a [Note] is about.
type NoteKind uint8

const (
	// NoteTimeout: a request was not answered in time.
	NoteTimeout NoteKind = iota
	// NoteDied: the server ended, cut the connection, could not be reached any more or
	// said nothing any more before it was over.
	NoteDied
	// NoteUnsent: a request was not sent, because the server was gone.
	NoteUnsent
	// NoteRefused: the server refused a message without an answer to it.
	NoteRefused
	// NoteUnknown: the server asked something that was never recorded.
	NoteUnknown
	// NoteRelaxed: the server asked something else than recorded, and got what was
	// answered to the recorded one.
	NoteRelaxed
	// NoteSkipped: a request was not sent, because the server did not give the
	// value that it needs.
	NoteSkipped
	// NoteUntold: something has no counterpart in the revision that is spoken.
	NoteUntold
	// NoteKilled: the server did not end when its stdin did.
	NoteKilled
	// NoteVersion: the server agreed to another revision than was asked for.
	NoteVersion
	noteKinds
)

var noteNames = [noteKinds]string{"timeout", "died", "unsent", "refused", "unknown", "relaxed", "skipped", "untold", "killed", "version"}

// String returns the stable name: timeout, died, unsent, refused, unknown, relaxed,
// skipped, untold, killed or version.
func (k NoteKind) String() string {
	if k < noteKinds {
		return noteNames[k]
	}
	return "note"
}
