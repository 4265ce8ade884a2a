package diff

import (
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// headers are the header fields of the protocol that were seen on HTTP, each
// with whose they are before it, such as "request mcp-method".
type headers map[string]bool

// maxHeaders bounds them.
const maxHeaders = 64

// A traffic is what is known of exchanges that bring no request of the client's: those
// of one notification, of answers, of streams, of the end of a session.
type traffic struct {
	first map[int]session.Ref // the first of each status
}

// maxTraffic bounds the kinds of exchanges that are told apart, and their statuses.
const maxTraffic = 64

// An exchange is one that is open.
type exchange struct {
	calls []*unit
	// kind names what it is where it brings no call, "" for what does not count.
	kind string
}

// event takes an event of the run: of those of HTTP, status, fields and the end.
func (s *Session) event(entry *session.Entry) {
	f, e := entry.Frame, &entry.Event
	if f.Exchange == 0 {
		return
	}
	switch e.Name {
	case tap.EventRequest:
		s.headers.add("request", e.Header)
		s.exchange(f.Exchange).kind = streamKind(e)
	case tap.EventResponse:
		if e.Status < 200 && e.Status != 101 {
			return
		}
		s.headers.add("response", e.Header)
		for _, u := range s.exchange(f.Exchange).calls {
			u.http = e.Status
		}
	case tap.EventEnd:
		s.over(f, s.exchange(f.Exchange), entry.Status())
		delete(s.exchanges, f.Exchange)
	}
}

// exchange finds an exchange that is open.
func (s *Session) exchange(number uint64) *exchange {
	x := s.exchanges[number]
	if x == nil {
		x = &exchange{}
		s.exchanges[number] = x
	}
	return x
}

// streamKind names an exchange without a message of the client's by its head.
func streamKind(e *tap.Event) string {
	switch e.Method {
	case "GET":
		for _, field := range e.Header {
			if strings.EqualFold(field[0], "Last-Event-ID") {
				return "the GET that resumes a stream"
			}
		}
		return "the GET of a stream"
	case "DELETE":
		return "the DELETE of the session"
	}
	return ""
}

// over takes the end of an exchange.
func (s *Session) over(f *tap.Frame, x *exchange, status int) {
	if status == 0 || x.kind == "" || len(x.calls) > 0 {
		return
	}
	t := s.traffic[x.kind]
	if t == nil {
		if len(s.traffic) == maxTraffic {
			return
		}
		t = &traffic{first: map[int]session.Ref{}}
		s.traffic[x.kind] = t
	}
	if _, known := t.first[status]; !known && len(t.first) < maxTraffic {
		t.first[status] = session.Ref{Seq: f.Seq}
	}
}

func (h headers) add(whose string, fields [][2]string) {
	for _, f := range fields {
		name := strings.ToLower(f[0])
		if strings.HasPrefix(name, "mcp-") && len(name) < 100 && len(h) < maxHeaders {
			if strings.HasPrefix(name, "mcp-param-") {
				name = "mcp-param-*"
			}
			h[whose+" "+name] = true
		}
	}
}
