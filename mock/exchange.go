package mock

import (
	"strings"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// An exchange is a recorded one that is not over.
type exchange struct {
	// number is its own, stream that of the exchange whose stream it goes on with,
	// first its first frame.
	number, stream, first uint64
	session               int
	method, target        string
	fields                fields
	headless              bool // its request's head is not there
	status                int
	header                [][2]string
	// request is the frame with its body, claim what the first message in it says,
	// key what it is matched by; asks says that there is a request in it.
	request uint64
	claim   replay.Claim
	key     replay.Key
	asks    bool
	// form is how the answer came, ids that its events had ids, poll the way of the
	// stream that they came on.
	form answerForm
	ids  bool
	poll *polling
	// answers says that a message came back, body is what came that is none.
	answers, settled bool
	// left is the frame with which the server ended it, 0 if it did not.
	left uint64
	body []byte
	why  circumstances // for which it was refused
}

// maxBody is how many bytes are kept of a body that is no message.
const maxBody = 256 << 10

// asked takes what the client sent.
func (x *exchange) asked(r *readFrame) {
	m := r.prepared.Message()
	if x.request != 0 || m == nil {
		return
	}
	x.request = r.frame.Seq
	x.claim, x.key = replay.ReadClaim(m), r.prepared.Key()
	requests := requestsIn(m)
	x.asks = requests > 0
	x.poll.owed += requests
}

// answered takes what the server sent, and reports whether it is no message that a
// session has a part in: a refusal, or a page.
func (l *loader) answered(x *exchange, r *readFrame, replayed bool) bool {
	f, m := &r.frame, r.prepared.Message()
	none := m == nil || m.Kind == jsonrpc.Other
	switch f.Form {
	case tap.FormEvent:
		if x.form == formUnknown {
			x.form = formEvents
		}
		e := tap.ParseServerSentEvent(f.Raw)
		if e.HasID {
			x.ids = true
		} else if e.Name == "endpoint" {
			l.site.endpoint(x, string(e.Data))
		}
		if !replayed {
			x.poll.heard(f.Seq, &e, m)
		}
	case tap.FormBody:
		if x.form == formUnknown {
			x.form = formJSON
		}
	}
	if x.status >= 400 && !x.settled && f.Form == tap.FormBody {
		x.settled, x.why = true, x.blame(&l.site, l.ended(x.session))
		if none || x.why != 0 {
			l.refused(x)
		}
	}
	x.answers = x.answers || !none
	if none && f.Form == tap.FormBody {
		x.body = append(x.body, r.payload[:min(len(r.payload), maxBody-len(x.body))]...)
	}
	if x.status >= 400 && !none && x.refused() {
		x.body = append(x.body, r.payload[:min(len(r.payload), maxBody-len(x.body))]...)
		return true
	}
	return false
}

// refused reports whether the answer to its request was taken out of the script.
func (x *exchange) refused() bool { return x.form == formRefused }

// refused takes a request out of its session's script, since it was refused.
func (l *loader) refused(x *exchange) {
	x.form = formRefused
	if x.request != 0 && x.session != 0 {
		l.session(x.session).b.Refuse(x.request, x.why != 0)
	}
}

// ended reports whether the client has ended a session.
func (l *loader) ended(number int) bool {
	s := l.building[number]
	return s != nil && s.conduct.deleted != nil
}

// blame is the circumstance for which an exchange was refused, 0 for none that shows:
// then it was the message. Ended says that its session had been ended before, which not
// every server answers with the 404 that it should.
func (x *exchange) blame(s *site, ended bool) circumstances {
	c := s.circumstances(&x.fields, &x.claim)
	switch {
	case x.headless || x.status < 400:
		return 0
	case (x.status == 404 || ended && x.status == 400) && x.fields.session != "" && !x.claim.Modern && !x.fields.modern():
		return overSession
	case x.status == 400 && x.fields.session == "" && !x.claim.Modern && x.claim.Method != "initialize" && !x.fields.modern():
		return noSession
	case x.status != 401 && x.status != 403:
		c &^= noCredentials
	}
	for _, one := range blamed {
		if c&one != 0 {
			return one
		}
	}
	return 0
}

// over takes the end of an exchange.
func (l *loader) over(x *exchange) {
	delete(l.open, x.number)
	if !x.ids {
		delete(l.streams, x.first)
	}
	if x.headless || x.status == 0 {
		return
	}
	path, _, _ := strings.Cut(x.target, "?")
	if x.session == 0 {
		l.site.page(x)
		return
	}
	if x.status >= 400 && !x.settled && x.form != formEvents {
		x.why = x.blame(&l.site, l.ended(x.session))
		l.refused(x)
	}
	if kept, _ := l.tracker.Sessions.Session(x.session); kept.Kind != session.SessionEndpoint && x.nothing() {
		l.refused(x)
	}
	switch {
	case x.form == formRefused:
		l.refusal(x)
		return
	case x.status == 101:
		l.site.socket = first(l.site.socket, path)
	case x.method == "POST":
		l.posted(x, path)
	}
	c := &l.session(x.session).conduct
	switch {
	case x.status >= 400:
	case x.method == "DELETE":
		c.deleted = l.site.fixed(x)
	case x.method == "POST" && !x.asks && !x.answers && x.form != formEvents:
		c.accepted = l.site.fixed(x)
	}
	l.polled(x, c)
	if x.form != formUnknown && x.asks {
		l.site.shape(x)
	}
}

// polled takes the end of an exchange for the stream that it carried. Who goes on with
// that stream later finds it by the exchange that began it.
func (l *loader) polled(x *exchange, c *conduct) {
	if !x.poll.ids || x.status != 200 {
		return
	}
	if x.left != 0 {
		x.poll.closed(x.left)
	}
	l.polls[x.stream] = x.poll
	if x.poll.owed <= 0 && !x.poll.standing {
		delete(l.polls, x.stream)
	}
	switch n := l.site.keepAsides(x.poll); {
	case x.poll.standing && (c.standing == 0 || c.standing == x.stream):
		c.standing, c.asides = x.stream, n
	case x.stream != x.number:
		l.site.reshape(x.stream, n)
	}
}

// nothing reports whether the server took a request, and ended the exchange without a
// word, so that nothing could come later: what else answers on the same exchange has
// event ids.
func (x *exchange) nothing() bool {
	return x.left != 0 && x.asks && x.request != 0 && x.status == 200 && !x.answers && !x.ids
}

// posted learns where messages are sent to.
func (l *loader) posted(x *exchange, path string) {
	kept, _ := l.tracker.Sessions.Session(x.session)
	if kept.Kind == session.SessionEndpoint {
		return
	}
	l.site.mcp = first(l.site.mcp, path)
	if x.status < 400 {
		l.site.tolerated |= l.site.circumstances(&x.fields, &x.claim)
	}
}

// refusal keeps what a refused exchange was answered with.
func (l *loader) refusal(x *exchange) {
	fixed := l.site.fixed(x)
	c := &l.session(x.session).conduct
	if x.why != 0 {
		l.site.refuse(x.method, x.why, x.key, fixed)
		return
	}
	switch {
	case x.request != 0:
		l.site.byFrame[x.request] = fixed
	case x.method == "GET":
		c.refusesGET = fixed
	case x.method == "DELETE":
		c.refusesDELETE = fixed
	}
}

// first is the first that is not empty.
func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// A conduct is how a session behaved over HTTP, beside its messages.
type conduct struct {
	kind session.SessionKind
	// path is where its messages were sent to, "" when that is not known. heads
	// says that it was recorded with the heads of its exchanges.
	path  string
	heads bool
	// ids says that its events had ids.
	ids bool
	// standing is the exchange that began the stream for what belongs to no request,
	// the first one, and asides what the server did on it beside its messages.
	standing uint64
	asides   uint32
	// accepted is how messages were taken that nothing answers, deleted how the
	// session was ended; refusesGET and refusesDELETE are how it refused these.
	// nil is not known.
	accepted, deleted, refusesGET, refusesDELETE *fixed
}

// learn takes a message of the session.
func (c *conduct) learn(x *exchange, r *readFrame, kind session.SessionKind) {
	c.kind = kind
	if c.path == "" && r.frame.Lane == tap.ToServer && !x.headless {
		c.path, _, _ = strings.Cut(x.target, "?")
	}
	c.heads = c.heads || !x.headless
	c.ids = c.ids || x.ids
}

// nameless reports whether the server gave out no session id.
func (c *conduct) nameless() bool { return c.heads && c.kind == session.SessionClient }
