package diff

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A part is a member of a message.
type part uint8

const (
	params part = iota
	result
	fault // the error
)

func (p part) String() string { return [...]string{"params", "result", "error"}[p] }

// A payload is a value in a message: one of its members, or something inside of
// that. Only its hashes are kept; it can be loaded.
type payload struct {
	of  *Session // that it was recorded in, and is loaded from
	seq uint64   // of the frame
	// value and spelled are its hashes, without what never counts: see bare.
	value, spelled uint64
	odd            *oddity // nil for most
	index          uint32  // in a batch
	part           part
	// there reports that the message has it, large that its frame was too large to be
	// read: then its size is all that is known.
	there, large bool
}

// An oddity is what few payloads have.
type oddity struct {
	within jsontree.Path // leads from the member to the value
	twice  string        // the members that the message itself has twice
	size   int64         // of one that is large
}

// ref returns the message.
func (p *payload) ref() session.Ref { return session.Ref{Seq: p.seq, Index: int(p.index)} }

func (p *payload) oddity() oddity {
	if p.odd == nil {
		return oddity{}
	}
	return *p.odd
}

// A note is a message that is neither the request nor the answer of a call.
type note struct {
	payload
	method *string
	lane   tap.Lane
	kind   jsonrpc.Kind
	role   session.Role
	// late reports that its call was over when it came, guess that the call that it
	// belongs to is the likeliest of several.
	late, guess bool
}

// id is what two notes have in common when they say the same.
func (n *note) id() uint64 { return jsontree.Mix(n.like(), n.value) }

// same is what two notes have in common when they are also written in the same way.
func (n *note) same() uint64 { return jsontree.Mix(n.like(), n.spelled) }

// like is what two notes have in common when they are about the same.
func (n *note) like() uint64 {
	h := jsontree.Mix(jsontree.HashString(*n.method), uint64(n.lane)<<8|uint64(n.kind))
	if n.late {
		h++
	}
	return h
}

// A unit is a call with all that belongs to it, also one that the server asked
// within another, by a request or in an input_required result.
type unit struct {
	ref session.Ref
	// method is the request's, name the tool, prompt or resource that it is about,
	// subject what a person sees of it.
	method, name, subject string
	// key is equal for calls that ask for the same, weak for those that ask it of the
	// same tool, prompt or resource, args for those with the same arguments.
	key, weak, args uint64
	request, answer payload
	code            string // of an error
	parent          *unit
	asked           []*unit // within it
	notes           []note
	repeats         []note // answers that came too late or twice
	cancel          *note
	exchange        uint64
	http            int // its status
	// own is how long the side that was asked took, without the time that it waited
	// for the other: since and waits are for counting that.
	at, end, own, since time.Duration
	waits               int
	// cursor and next are hashes of the cursor that it was asked with and of the one
	// that it gave; pages are the results of its further pages.
	cursor, next uint64
	pages        []payload
	// task is what it became at first, nil if it became no task.
	task       *payload
	lane       tap.Lane
	answerKind jsonrpc.Kind
	status     session.CallStatus
	failed     bool // the result has isError
	// elsewhere reports that its answer came on another exchange, as on HTTP+SSE: then
	// the status of its own means nothing.
	elsewhere bool
	// refused reports that the status alone is the answer, hungUp that the client
	// cancelled it by closing its stream, brokenOff that its exchange ended otherwise.
	refused, hungUp, brokenOff bool
	// embedded reports that it was asked in a result, guess that its parent is the
	// likeliest of several, probe that the client tries what the server speaks, marked
	// that it is one of those that are compared.
	embedded, guess, probe, marked bool
	alone                          bool // one call only was open when the server asked it
	joined                         bool // it is a part of another
}

// answered reports whether an answer has come that ended it.
func (u *unit) answered() bool { return u.answer.there || u.answer.large }

// worked reports whether the call ended as the one who asked had hoped.
func (u *unit) worked() bool {
	return u.answered() && u.answerKind == jsonrpc.Response && !u.failed
}

// wait begins or ends a time in which the unit waits for the other side.
func (u *unit) wait(at time.Duration, by int) {
	switch u.waits += by; {
	case by > 0 && u.waits == 1:
		u.since = at
	case by < 0 && u.waits == 0:
		u.own -= at - u.since
	}
}

// maxText is how many bytes of a name from the wire are kept.
const maxText = jsonrpc.MaxSubject

// setKeys says what a call asks for, by its params.
func (s *Session) setKeys(u *unit, v jsontree.Value) {
	of := jsontree.Mix(jsontree.HashString(u.method), uint64(u.lane))
	switch m := u.method; {
	case m == "tools/call" || m == "tools/invoke" || m == "prompts/get":
		u.name = s.word(bounded(v.Get("name").Text()))
		u.weak = jsontree.Mix(of, v.Get("name").Hash())
		u.args = v.Get("arguments").Hash()
	case m == "resources/read" || m == "resources/subscribe" || m == "resources/unsubscribe":
		u.name = s.word(bounded(v.Get("uri").Text()))
		u.weak = jsontree.Mix(of, v.Get("uri").Hash())
	case strings.HasSuffix(m, "/list"), m == "initialize", m == "server/discover", m == "ping":
		u.weak = of
	case m == "completion/complete":
		ref := v.Get("ref")
		u.name = s.word(bounded(ref.Get("name").Text() + ref.Get("uri").Text()))
		u.weak = jsontree.Mix(of, ref.Hash())
		u.args = jsontree.Mix(v.Get("argument").Hash(), v.Get("context").Hash())
	case m == "subscriptions/listen":
		u.weak, u.args = of, v.Get("notifications").Hash()
	default:
		u.weak = of
		for name, c := range v.All() {
			if name := name; name != "_meta" && !neverMember(params, m, name) {
				u.args += jsontree.Mix(jsontree.HashString(name), c.Hash())
			}
		}
	}
	u.key = jsontree.Mix(u.weak, u.args)
}

// bounded is the beginning of a text from the wire, with no hold on the rest.
func bounded(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return strings.Clone(s)
}
