package mock

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// A site is what a recording shows of the server's HTTP beside its messages.
type site struct {
	// mcp, sse, post and socket are the paths of Streamable HTTP, of the event
	// stream of HTTP+SSE and what the client sends there, and of WebSocket; "" for
	// what was not recorded. param is how the post path names the session.
	mcp, sse, post, socket, param string
	// hosts are names of the server's, beside those that every machine calls
	// itself; anyAddress says that any address is one. origins are the recorded
	// server's.
	hosts      []string
	anyAddress bool
	origins    []string
	// tolerated are the circumstances in which the server took a message all the
	// same.
	tolerated circumstances
	// refusals are what was refused for its circumstances, byFrame what was refused
	// for itself, by the recorded request.
	refusals map[refusalKey]*fixed
	byFrame  map[uint64]*fixed
	// pages are the other exchanges.
	pages map[string]*fixed
	// shapes are those of answers, by their exchanges; the more distant ones are in
	// strays. headers are the header fields that they name.
	shapes  []shape
	strays  map[uint64]shape
	headers [][][2]string
	known   map[string]uint32
	// asides are what the server did beside its messages, which they name as well.
	asides      [][]aside
	knownAsides map[string]uint32
	kept        int
}

func (s *site) init() {
	s.refusals, s.byFrame, s.pages = map[refusalKey]*fixed{}, map[uint64]*fixed{}, map[string]*fixed{}
	s.strays, s.known, s.headers = map[uint64]shape{}, map[string]uint32{"": 0}, [][][2]string{nil}
	s.knownAsides = map[string]uint32{}
}

// A refusalKey is what was refused, and why. Without a key it is anything, and
// without a method any.
type refusalKey struct {
	method string
	why    circumstances
	key    replay.Key
}

// A fixed is a response that is no message of a session's.
type fixed struct {
	status int
	header [][2]string
	body   []byte
}

// An answerForm is how an answer came.
type answerForm uint8

const (
	formUnknown answerForm = iota
	formJSON
	formEvents
	formText    // a message of a WebSocket
	formRefused // none that a session has
)

// A shape is how the answer to a request came.
type shape struct {
	status uint16
	form   answerForm
	header uint32
	asides uint32
}

// maxStray is how far an exchange's number may be from the others' for its shape to
// be in the list, and maxKept how many bytes of bodies that are no messages are
// kept.
const (
	maxStray = 4096
	maxKept  = 16 << 20
)

// shape keeps how an answer came.
func (s *site) shape(x *exchange) {
	if x.stream != x.number || x.status < 200 {
		return // it goes on with another
	}
	v := shape{status: uint16(x.status), form: x.form, header: s.intern(x.header)}
	if x.ids {
		v.asides = s.keepAsides(x.poll)
	}
	if n := uint64(len(s.shapes)); x.number < n+maxStray {
		for uint64(len(s.shapes)) <= x.number {
			s.shapes = append(s.shapes, shape{})
		}
		s.shapes[x.number] = v
		return
	}
	s.strays[x.number] = v
}

// reshape gives the answer on an exchange other asides: the stream went on.
func (s *site) reshape(exchange uint64, asides uint32) {
	if exchange < uint64(len(s.shapes)) {
		s.shapes[exchange].asides = asides
	} else if v, ok := s.strays[exchange]; ok {
		v.asides = asides
		s.strays[exchange] = v
	}
}

// shapeOf returns how the answer on an exchange came.
func (s *site) shapeOf(exchange uint64) shape {
	if exchange < uint64(len(s.shapes)) {
		return s.shapes[exchange]
	}
	return s.strays[exchange]
}

// maxHeaders is how many different sets of header fields are told apart.
const maxHeaders = 4096

// intern keeps those of the fields that say something about the server, once.
func (s *site) intern(header [][2]string) uint32 {
	said := lasting(header)
	b, err := json.Marshal(said)
	if err != nil || len(said) == 0 { // strings only: cannot happen
		return 0
	}
	n, ok := s.known[string(b)]
	if !ok && len(s.headers) < maxHeaders {
		n = uint32(len(s.headers))
		s.headers, s.known[string(b)] = append(s.headers, said), n
	}
	return n
}

// passing are the fields that say something about one connection, one body or one
// session only.
var passing = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
	"Upgrade": true, "Content-Length": true, "Content-Encoding": true, "Date": true, "Mcp-Session-Id": true,
	"Sec-Websocket-Accept": true,
}

// lasting leaves the passing fields out.
func lasting(header [][2]string) (said [][2]string) {
	for _, h := range header {
		if !passing[http.CanonicalHeaderKey(h[0])] {
			said = append(said, h)
		}
	}
	return said
}

// fixed keeps a response that is no message.
func (s *site) fixed(x *exchange) *fixed {
	f := &fixed{status: x.status, header: s.headers[s.intern(x.header)]}
	if s.kept += len(x.body); s.kept <= maxKept {
		f.body = x.body
	}
	return f
}

// refuse keeps what was refused for its circumstances. The first one stands.
func (s *site) refuse(method string, why circumstances, key replay.Key, f *fixed) {
	for _, k := range []refusalKey{{method, why, key}, {method, why, replay.Key{}}, {"", why, replay.Key{}}} {
		if _, ok := s.refusals[k]; !ok {
			s.refusals[k] = f
		}
	}
}

// refusal finds how something was refused for its circumstances: the same message,
// or where exactly is not asked for, any.
func (s *site) refusal(method string, why circumstances, key replay.Key, exactly bool) *fixed {
	if f := s.refusals[refusalKey{method, why, key}]; f != nil || exactly {
		return f
	}
	if f := s.refusals[refusalKey{method, why, replay.Key{}}]; f != nil {
		return f
	}
	return s.refusals[refusalKey{"", why, replay.Key{}}]
}

// maxPages is how many pages are kept.
const maxPages = 1024

// page keeps an exchange that belongs to no session.
func (s *site) page(x *exchange) {
	name := x.method + " " + x.target
	if _, ok := s.pages[name]; !ok && len(s.pages) < maxPages && x.form != formEvents && x.status != 101 {
		s.pages[name] = s.fixed(x)
	}
}

// names learns what the recorded server was called.
func (s *site) names(e *tap.Event) {
	for _, text := range []string{"http://" + e.Listen, e.Upstream} {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			continue
		}
		s.hosts = append(s.hosts, strings.ToLower(u.Hostname()))
		s.origins = append(s.origins, u.Scheme+"://"+u.Host)
	}
}

// endpoint learns the paths of HTTP+SSE.
func (s *site) endpoint(x *exchange, data string) {
	if s.sse != "" {
		return
	}
	base, err := url.Parse(x.target)
	if err != nil {
		return
	}
	u, err := base.Parse(strings.TrimSpace(data))
	if err != nil {
		return
	}
	s.sse, s.post = base.Path, u.Path
	for name := range u.Query() {
		if strings.Contains(strings.ToLower(strings.ReplaceAll(name, "_", "")), "sessionid") {
			s.param = name
		}
	}
}
