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

// A Loader returns a frame of a session again, by its number. Frames are asked
// for nearly in order.
type Loader func(seq uint64) (tap.Frame, error)

// A Session is what is known of one side of a comparison. Make one with
// [NewSession], give it all frames in order as a [session.Tracker] reads them, then call
// [Session.End]. It is for one goroutine at a time.
type Session struct {
	name  string
	load  Loader
	facts session.Facts

	units []*unit // that no call asked, in order
	byRef map[session.Ref]*unit
	loose []note // messages that belong to no call
	// invalid counts the frames that are no message; rest is where among loose
	// the one stands that all beyond maxInvalid count as.
	invalid, rest int
	// exchanges are those of HTTP that are open, traffic what became of those that
	// brought no call, by their kind.
	exchanges map[uint64]*exchange
	traffic   map[string]*traffic
	headers   headers
	first     map[string]uint64
	// early are requests of the server that came before their session was known, by
	// their ids: the tracker cannot pair them with their responses.
	early   map[string]*unit
	opening opening
	words   map[string]*string // methods, names and what is said of calls, each once
	asked   uint64             // the frame of the client's latest request
	open    int                // calls of the client that are not over
	large   int                // messages that are too large to be read
	frames  uint64
	lacking string
	last    time.Duration
	ended   bool

	reader jsontree.Reader
	held   tap.Frame // the frame that was loaded last
	msg    jsonrpc.Message
}

// NewSession makes a session of a name, which reports show. Load must return
// each frame that is added, and is called by [Compare] alone.
func NewSession(name string, load Loader) *Session {
	return &Session{
		name: name, load: load, byRef: map[session.Ref]*unit{}, exchanges: map[uint64]*exchange{}, traffic: map[string]*traffic{},
		first: map[string]uint64{}, words: map[string]*string{}, headers: headers{},
		opening: opening{levels: map[string]*unit{}}, early: map[string]*unit{},
	}
}

// Name returns the name that the session was given.
func (s *Session) Name() string { return s.name }

// Lacks notes in words what is missing in the recording, for reports to say.
func (s *Session) Lacks(what string) { s.lacking = what }

// Add takes the next frame of the session. Of a frame that is not whole, as it is too
// large, little more than the envelope is compared. Marked reports that it is one of those
// that are compared if [Options.Marked] is set: a call is when one of its messages is.
// [Session.Over] takes the outcomes of calls.
func (s *Session) Add(e *session.Entry, marked bool) {
	s.frames++
	s.last = e.Frame.At
	if e.Facts != nil {
		s.facts = *e.Facts
	}
	if e.Frame.Lane == tap.Lifecycle {
		s.event(e)
		return
	}
	for i := range e.Parts {
		a := arrived{f: e.Frame, m: e.Of(i), p: &e.Parts[i], marked: marked, early: e.Facts == nil}
		s.part(&a)
	}
}

// Over takes a call of the session that is over with the frame that was added last, or
// that is still open at the end.
func (s *Session) Over(c *session.Call) { s.settle(c) }

// End must be called after the last frame.
func (s *Session) End() {
	if s.ended {
		return
	}
	s.join()
	s.byRef, s.exchanges, s.ended = nil, nil, true
}

// An arrived message is on its way into a session.
type arrived struct {
	f      *tap.Frame
	m      *jsonrpc.Message
	p      *session.Part
	marked bool
	early  bool // its session was not known yet
}

// word keeps one copy of a text that is likely to come again.
func (s *Session) word(text string) string { return *s.shared(text) }

func (s *Session) shared(text string) *string {
	if w := s.words[text]; w != nil {
		return w
	}
	w := strings.Clone(text)
	if len(s.words) < maxWords {
		s.words[w] = &w
	}
	return &w
}

// maxWords bounds the texts that are looked for.
const maxWords = 1 << 14

// at is a payload whose value is not known yet.
func (s *Session) at(ref session.Ref, p part) payload {
	return payload{of: s, seq: ref.Seq, index: uint32(ref.Index), part: p}
}

// payload reads a member of the message.
func (s *Session) payload(a *arrived, p part, method string) (payload, jsontree.Value) {
	x := s.at(a.p.Message, p)
	if len(a.m.DuplicateKeys) > 0 {
		x.odd = &oddity{twice: s.word(bounded(strings.Join(a.m.DuplicateKeys, ", ")))}
	}
	raw := memberOf(a.m, p)
	if raw == nil {
		if x.large = !a.f.Whole(); x.large {
			x.odd = &oddity{size: a.f.Size}
			s.large++
		}
		return x, jsontree.Value{}
	}
	x.there = true
	v, err := s.reader.ParseTop(raw, outlineDepth)
	if err != nil { // an error object that breaks off, say
		x.value = jsontree.HashString(string(raw))
		x.spelled = x.value
		return x, jsontree.Value{}
	}
	x.value, x.spelled = s.bare(p, method, v)
	if x.odd != nil {
		x.spelled = jsontree.Mix(x.spelled, jsontree.HashString(x.odd.twice))
	}
	return x, v
}

// bare hashes a payload without the members that never count. Most payloads that differ
// only in these need not be loaded.
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

// usual reports whether a member of _meta is what the session said at first,
// or says it first.
func (s *Session) usual(name string, v jsontree.Value) bool {
	first, said := s.first[name]
	if !said {
		s.first[name] = v.Hash()
		return true
	}
	return first == v.Hash()
}

// outlineDepth is down to which depth a message is looked into when it arrives:
// far enough for what it asks for and for _meta.
const outlineDepth = 2

func memberOf(m *jsonrpc.Message, p part) []byte {
	switch p {
	case params:
		return m.Params
	case result:
		return m.Result
	}
	return m.Error
}

// errGone is the error of a loader that does not return what was added.
var errGone = errors.New("it is not what it was when it was read first")

// load returns the value, absent if it is not there.
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
	v, err := jsontree.Parse(memberOf(m, p.part))
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

// follow takes one step into a value.
func follow(v jsontree.Value, step jsontree.Step) jsontree.Value {
	if step.Kind == jsontree.Member {
		return v.Get(step.Name)
	}
	i := 0
	for _, c := range v.All() {
		if i == step.Index {
			return c
		}
		i++
	}
	return jsontree.Value{}
}
