package diff

import (
	"errors"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Loader returns a frame of a session by its number. Frames are requested nearly in
// order.
type Loader func(seq uint64) (tap.Frame, error)

// A Session is one side of a comparison. Create it with [NewSession], add all frames in order
// with [Session.Add] and the outcomes of calls with [Session.Over], then call [Session.End]. It
// is not safe for concurrent use.
type Session struct {
	name  string
	load  Loader
	facts session.Facts

	calls []*call // those that are not nested, in order
	byRef map[session.Ref]*call
	loose []note // messages that belong to no call
	// invalid is the number of invalid frames. rest is the index in loose of the note that
	// represents all frames beyond maxInvalid.
	invalid, rest int
	exchanges     map[uint64]*exchange // the open HTTP exchanges
	traffic       map[string]traffic   // by kind
	headers       headers
	first         map[string]uint64 // the first values of members in usualMeta
	// early are server requests that arrived before their session was known, by id. The tracker
	// cannot pair them with their responses.
	early   map[string]*call
	opening opening
	// exit is the exit status of the server and exited the exit event. Both are zero if a
	// signal may have ended the server. signalled reports that the client sent a signal.
	exit      int
	exited    session.Ref
	signalled bool
	// died describes how the server exited while calls were open, "" if it did not. left
	// reports that the client had closed the server's stdin before.
	died         string
	left         bool
	words        map[string]string // interned methods and names
	asked        uint64            // the frame of the client's latest request
	firstRequest session.Ref       // the client's first request
	open         int               // number of client calls without a response
	large        int               // number of messages that are too large to be parsed
	frames       uint64
	lacking      string
	sse          bool // the transport is HTTP+SSE

	reader jsontree.Reader
	held   tap.Frame // the last frame that was loaded
	msg    jsonrpc.Message
}

// NewSession returns a session with a name for reports. load must be able to return every frame
// that was added. Only [Compare] calls it.
func NewSession(name string, load Loader) *Session {
	return &Session{
		name: name, load: load, byRef: map[session.Ref]*call{}, exchanges: map[uint64]*exchange{}, traffic: map[string]traffic{},
		first: map[string]uint64{}, words: map[string]string{}, headers: headers{},
		opening: opening{levels: map[string]*call{}}, early: map[string]*call{},
	}
}

// Name returns the name of the session.
func (s *Session) Name() string { return s.name }

// Lacks sets the description of what is missing in the recording, for [Side.Lacks].
func (s *Session) Lacks(what string) { s.lacking = what }

// Add adds the next frame of the session. If a frame is too large to be read as a whole, little
// more than its envelope is compared. If [Options.Marked] is set, only calls with a marked
// message are compared.
func (s *Session) Add(e *session.Entry, marked bool) {
	s.frames++
	if e.Facts != nil {
		s.facts = *e.Facts
	}
	if e.Frame.Lane == tap.Lifecycle {
		if marked {
			s.byRef[e.Refuses.Call].mark()
		}
		s.event(e)
		return
	}
	if e.Message.Kind == jsonrpc.Other && e.Frame.Form == tap.FormEvent {
		_, to, _ := tap.EndpointURL(e.Frame.Raw)
		s.sse = s.sse || to > 0
	}
	for i := range e.Parts {
		s.message(&arrived{f: e.Frame, m: e.Of(i), p: &e.Parts[i], marked: marked, early: e.Facts == nil})
	}
}

// Over adds the outcome of a call that ended with the last frame, or that is still open after
// the last frame of the session.
func (s *Session) Over(c *session.Call) { s.settle(c) }

// cut removes the response of a call, which was cut off: see [session.Entry.CutOff].
func (s *Session) cut(c *session.Call) {
	if u := s.byRef[c.Ref]; u != nil {
		u.answer, u.cutOff, u.state = payload{}, true, c.State(true)
	}
}

// End must be called after the last frame.
func (s *Session) End() {
	if s.byRef != nil {
		s.join()
		s.byRef, s.exchanges = nil, nil
	}
}

// An arrived is a message that is being added to a session.
type arrived struct {
	f      *tap.Frame
	m      *jsonrpc.Message
	p      *session.Part
	marked bool
	early  bool // its session is not known yet
}

// intern returns a copy of a text that is shared by all occurrences.
func (s *Session) intern(text string) string {
	w, ok := s.words[text]
	if !ok {
		w = strings.Clone(text)
		if len(s.words) < maxWords {
			s.words[w] = w
		}
	}
	return w
}

// maxWords is the maximum number of interned texts.
const maxWords = 1 << 14

// A part is a member of a message.
type part uint8

const (
	params part = iota
	result
	fault // the error
)

func (p part) String() string { return [...]string{"params", "result", "error"}[p] }

func (p part) of(m *jsonrpc.Message) []byte { return [...][]byte{m.Params, m.Result, m.Error}[p] }

// A payload is a member of a message, or a value inside it. Only its hashes are kept. The value
// can be loaded.
type payload struct {
	of  *Session // the session from which it is loaded
	seq uint64   // of the frame
	// value and spelled are its hashes without the members that are always ignored; see bare.
	value, spelled uint64
	odd            *oddity // usually nil
	index          uint32  // in a batch
	part           part
	// there reports that the message has the member, large that its frame was too large to be
	// parsed.
	there, large bool
}

// An oddity holds rare properties of a payload.
type oddity struct {
	within jsontree.Path // the path from the member to the value
	twice  string        // duplicate members of the message itself
	remark string        // what is wrong with its member jsonrpc
	size   int64         // the size of a large payload
}

// ref returns the message.
func (p *payload) ref() session.Ref { return session.Ref{Seq: p.seq, Index: int(p.index)} }

func (p *payload) oddity() oddity {
	if p.odd == nil {
		return oddity{}
	}
	return *p.odd
}

// at returns a payload without a value.
func (s *Session) at(ref session.Ref, p part) payload {
	return payload{of: s, seq: ref.Seq, index: uint32(ref.Index), part: p}
}

// inside returns the payload for a value inside a message.
func (s *Session) inside(a *arrived, p part, v jsontree.Value, within ...jsontree.Step) payload {
	x := s.at(a.p.Message, p)
	x.there, x.value, x.spelled, x.odd = true, v.Hash(), v.Spelled(), &oddity{within: within}
	return x
}

// outlineDepth is the depth to which messages are parsed when they are added: enough for
// the keys of calls and for _meta.
const outlineDepth = 2

// payload reads a member of the message.
func (s *Session) payload(a *arrived, p part, method string) (payload, jsontree.Value) {
	x := s.at(a.p.Message, p)
	remark := ""
	for _, r := range strings.Split(a.m.Reason, "; ") {
		if a.m.Kind != jsonrpc.Invalid && strings.Contains(r, "jsonrpc") {
			remark = r
		}
	}
	if len(a.m.DuplicateKeys) > 0 || remark != "" {
		x.odd = &oddity{twice: s.intern(bounded(strings.Join(a.m.DuplicateKeys, ", "))), remark: s.intern(remark)}
	}
	raw := p.of(a.m)
	if raw == nil {
		if x.large = !a.f.Whole(); x.large {
			x.odd = &oddity{size: a.f.Size}
			s.large++
		}
		return x, jsontree.Value{}
	}
	x.there = true
	v, err := s.reader.ParseTop(raw, outlineDepth)
	if err != nil { // such as a truncated error object
		x.value = jsontree.HashString(string(raw))
		x.spelled = x.value
		return x, jsontree.Value{}
	}
	x.value, x.spelled = s.bare(p, method, v)
	if x.odd != nil {
		x.spelled = jsontree.Mix(jsontree.Mix(x.spelled, jsontree.HashString(x.odd.twice)), jsontree.HashString(x.odd.remark))
	}
	return x, v
}

// bare hashes a payload without the members that are always ignored, so that most payloads that
// differ only in those need not be loaded.
func (s *Session) bare(p part, method string, v jsontree.Value) (value, spelled uint64) {
	meta, cursor := v.Get("_meta"), v.Get("nextCursor").Kind() == jsontree.String
	opens := meta.Kind() == jsontree.Object && !meta.Opaque()
	value, spelled = v.HashWithout(func(name string) bool {
		return opens && name == "_meta" || cursor && name == "nextCursor" || neverMember(p, method, name)
	})
	if cursor { // whether there are more pages counts
		value, spelled = value+1, spelled+1
	}
	if opens {
		x, y := meta.HashWithout(func(name string) bool {
			return neverMeta[name] || usualMeta[name] && p != fault && s.usual(name, meta.Get(name))
		})
		if x != 0 {
			value, spelled = jsontree.Mix(value, x), jsontree.Mix(spelled, y)
		}
	}
	return value, spelled
}

// usual reports whether a member of _meta has its first value in the session.
func (s *Session) usual(name string, v jsontree.Value) bool {
	if _, ok := s.first[name]; !ok {
		s.first[name] = v.Hash()
	}
	return s.first[name] == v.Hash()
}

// errGone is returned if a loaded frame differs from the one that was added.
var errGone = errors.New("the frame has changed since it was first read")

// load returns the value, which is absent if the message lacks it.
func (p *payload) load() (jsontree.Value, error) {
	if !p.there {
		return jsontree.Value{}, nil
	}
	s := p.of
	if s.held.Seq != p.seq || s.held.Raw == nil {
		f, err := s.load(p.seq)
		if err != nil {
			return jsontree.Value{}, err
		}
		s.held, s.msg = f, jsonrpc.PeekFrame(&f)
	}
	m := &s.msg
	if m.Kind == jsonrpc.Batch {
		if int(p.index) >= len(m.Batch) {
			return jsontree.Value{}, errGone
		}
		m = &m.Batch[int(p.index)]
	}
	v, err := jsontree.Parse(p.part.of(m))
	if err != nil {
		return v, err
	}
	for _, step := range p.oddity().within {
		if v = follow(v, step); !v.Exists() {
			return v, errGone
		}
	}
	return v, nil
}

// follow returns the child of a value that a step leads to.
func follow(v jsontree.Value, step jsontree.Step) jsontree.Value {
	if step.Kind == jsontree.Member {
		return v.Get(step.Name)
	}
	if all := elements(v); step.Index >= 0 && step.Index < len(all) {
		return all[step.Index]
	}
	return jsontree.Value{}
}

// A note is a message that is neither the request nor the response of a call.
type note struct {
	payload
	method string
	lane   tap.Lane
	kind   jsonrpc.Kind
	role   session.Role
	// late reports that it arrived after the end of its call, guess that its call is only the
	// most likely of several.
	late, guess bool
}

// id returns the same value for notes with the same content.
func (n *note) id() uint64 { return jsontree.Mix(n.like(), n.value) }

// same returns the same value for notes with the same content and spelling.
func (n *note) same() uint64 { return jsontree.Mix(n.like(), n.spelled) }

// like returns the same value for notes with the same method, lane, kind and lateness.
func (n *note) like() uint64 {
	h := jsontree.Mix(jsontree.HashString(n.method), uint64(n.lane)<<8|uint64(n.kind))
	if n.late {
		h++
	}
	return h
}

// A call is a request with everything that belongs to it. It may be nested in another call: as
// a server request, or as an entry of an input_required result.
type call struct {
	ref session.Ref
	// method is the method of the request, name the tool, prompt or resource, and subject a
	// short text for people.
	method, name, subject string
	// key is the same for equal requests, weak for calls of the same tool, prompt or resource,
	// args for calls with the same arguments.
	key, weak, args uint64
	request, answer payload
	code            string // the code of an error
	parent          *call
	asked           []*call // the nested calls
	notes           []note
	repeats         []note // late and duplicate responses
	cancel          *note
	exchange        uint64
	http            int           // the status
	media           string        // the media type of the response
	at, end         time.Duration // since the start of the recording
	own, since      time.Duration // see wait
	waits           int
	cursor, next    uint64    // hashes of the cursor in the request and in the result
	pages           []payload // the results of further pages
	retries         []payload // the params of further requests, which carry input
	states          []bool    // whether each result that requests input has a requestState
	broken          *call     // the page after those, if it failed
	task            *payload  // the first state of the task, nil if the call is not a task
	lane            tap.Lane
	answerKind      jsonrpc.Kind
	status          session.CallStatus
	state           session.State
	failed          bool // the result has isError
	otherExchange   bool // the response came on another exchange, so http is meaningless
	refused         bool // the response is only an HTTP status
	stateLost       bool // a retry does not have the requestState of the result
	hungUp          bool // the client closed its stream
	brokenOff       bool // its exchange ended for another reason
	cutOff          bool // within its response
	embedded        bool // the request is embedded in another message
	guess           bool // its parent is only the most likely of several
	alone           bool // no other call was open
	probe           bool // it probes what the server supports
	marked          bool // see [Session.Add]
	joined          bool // it is part of another call
}

// answered reports whether a response ended the call.
func (u *call) answered() bool { return u.answer.there || u.answer.large }

// worked reports whether the response is a result without isError.
func (u *call) worked() bool {
	return u.answered() && u.answerKind == jsonrpc.Response && !u.failed
}

// wait begins or ends a period in which the responding side waits for the other. Such periods
// are subtracted from own, the duration of the call. since is the start of the current period.
func (u *call) wait(at time.Duration, by int) {
	switch u.waits += by; {
	case by > 0 && u.waits == 1:
		u.since = at
	case by < 0 && u.waits == 0:
		u.own -= at - u.since
	}
}

// setKeys sets the keys and the name of a call from its params.
func (s *Session) setKeys(u *call, v jsontree.Value) {
	of := jsontree.Mix(jsontree.HashString(u.method), uint64(u.lane))
	u.weak = of
	about := func(x jsontree.Value, name string) {
		u.name, u.weak = s.intern(bounded(name)), jsontree.Mix(of, x.Hash())
	}
	switch m := u.method; {
	case m == "tools/call" || m == "tools/invoke" || m == "prompts/get":
		about(v.Get("name"), v.Get("name").Text())
		u.args = v.Get("arguments").Hash()
	case m == "resources/read" || m == "resources/subscribe" || m == "resources/unsubscribe":
		about(v.Get("uri"), v.Get("uri").Text())
	case strings.HasSuffix(m, "/list"), m == "initialize", m == "server/discover", m == "ping":
	case m == "completion/complete":
		ref := v.Get("ref")
		about(ref, ref.Get("name").Text()+ref.Get("uri").Text())
		u.args = jsontree.Mix(v.Get("argument").Hash(), v.Get("context").Hash())
	case m == "subscriptions/listen":
		u.args = v.Get("notifications").Hash()
	default:
		for name, c := range v.All() {
			if name != "_meta" && !neverMember(params, m, name) {
				u.args += jsontree.Mix(jsontree.HashString(name), c.Hash())
			}
		}
	}
	u.key = jsontree.Mix(u.weak, u.args)
}

// bounded returns a copy of the beginning of a recorded text.
func bounded(s string) string {
	if len(s) > jsonrpc.MaxSubject {
		s = strings.ToValidUTF8(s[:jsonrpc.MaxSubject], "")
	}
	return strings.Clone(s)
}
