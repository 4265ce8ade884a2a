package check

import (
	"cmp"
	"encoding/base64"
	"math/big"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// carriesMessage reports whether the request carries a message, carriesRequest whether it
// carries a JSON-RPC request, and carriesOther whether it carries only other messages.
func (x *Exchange) carriesMessage() bool { return x.carriesRequest() || x.carriesOther() }

func (x *Exchange) carriesRequest() bool { return x.Has(tap.ToServer, jsonrpc.Request) }

func (x *Exchange) carriesOther() bool {
	return !x.carriesRequest() && x.Has(tap.ToServer, jsonrpc.Notification, jsonrpc.Response, jsonrpc.ErrorResponse)
}

// carriesInitialize reports whether the request carries an initialize.
func (x *Exchange) carriesInitialize() bool {
	return slices.ContainsFunc(x.Carried, func(c Carried) bool { return c.Lane == tap.ToServer && c.Method == "initialize" })
}

// about returns the method of its first message, or else that of the request.
func (x *Exchange) about() string {
	for _, c := range x.Carried {
		if c.Lane == tap.ToServer && c.Method != "" {
			return c.Method
		}
	}
	if x.Request == nil {
		return ""
	}
	return x.Request.Method
}

// code returns the code of the first error that it carries.
func (x *Exchange) code() string {
	for _, c := range x.Carried {
		if c.Code != "" {
			return c.Code
		}
	}
	return ""
}

// byServer reports whether the server, and not the tap, has responded.
func (x *Exchange) byServer() bool { return x.Response != nil && x.Response.By != "tap" }

// answered reports whether the server has responded with a status in one of these hundreds, such as 2 for 2xx.
func (x *Exchange) answered(hundreds ...int) bool {
	return x.byServer() && slices.Contains(hundreds, x.Response.Status/100)
}

// streams reports whether the response is an event stream.
func (x *Exchange) streams() bool { return x.answered(2) && mediaType(x.Response) == eventStream }

// accepts reports whether the request lists a media type.
func (x *Exchange) accepts(media string) bool {
	for one := range strings.SplitSeq(strings.Join(field(x.Request, "Accept"), ","), ",") {
		name, _, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), media) {
			return true
		}
	}
	return false
}

// fieldMasked reports whether the value of a field of a request was replaced by a pseudonym.
func fieldMasked(e *tap.Event, name string) bool {
	return slices.ContainsFunc(e.Masked, func(m string) bool { return strings.EqualFold(m, name) })
}

// upstream returns the URL of the server, nil if it is not known.
func (s *Session) upstream(v *Verdict) *url.URL {
	u, err := url.Parse(s.checker.start.Upstream)
	if err != nil || u.Host == "" {
		v.Skip("the URL of the server is not in the recording")
		return nil
	}
	return u
}

// origin returns the scheme, host and port of a URL.
func origin(u *url.URL) string {
	host := u.Host
	if u.Port() == "" {
		host = strings.TrimSuffix(host, ":") + ":" + map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme + "://" + host)
}

// isLoopback reports whether a URL refers to this machine.
func isLoopback(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	ip, _ := netip.ParseAddr(host) // the zero Addr is not loopback
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.IsLoopback()
}

// mediaType returns the media type of a head, in lower case and without parameters.
func mediaType(e *tap.Event) string {
	name, _, _ := strings.Cut(strings.Join(field(e, "Content-Type"), ","), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// fieldText returns the value of a field, or a text that it is missing.
func fieldText(e *tap.Event, name string) string {
	if values := field(e, name); len(values) > 0 {
		return strings.Join(values, ", ")
	}
	return "missing"
}

// exchangeOf returns the exchange of a frame, nil on stdio.
func (c *Checker) exchangeOf(e *session.Entry) *Exchange {
	x, _ := c.exchanges.Get(e.Frame.Exchange)
	return x
}

// exchange returns the exchange of a message, nil on stdio.
func (m *Message) exchange() *Exchange { return m.Session.checker.exchangeOf(m.Entry) }

// head returns the head of the request whose body the message is, nil if there is none.
func (m *Message) head() *tap.Event {
	x := m.exchange()
	if x == nil || m.Path != "$" || m.Entry.Frame.Form != tap.FormBody || m.Lane != tap.ToServer {
		return nil
	}
	return x.Request
}

// compareField judges whether a field of the request repeats a text of the body.
func (m *Message) compareField(v *Verdict, name, want string) {
	head := m.head()
	switch {
	case head == nil && (m.Path != "$" || m.Entry.Frame.Form != tap.FormBody):
		return
	case head == nil || head.Method == "":
		v.Skip("the head of the request is not in the recording")
		return
	case fieldMasked(head, name) || len(want) > jsonrpc.MaxSubject:
		v.Skip("the value is masked or long")
		return
	}
	wrong := contradicts(head, name, want)
	v.Check(wrong == "", name, "", wrong)
}

// contradicts returns how a field differs from a text of the body, or "" if it repeats it or
// cannot be decoded: see http-33.
func contradicts(head *tap.Event, name, want string) string {
	values := field(head, name)
	if len(values) == 0 {
		return "missing"
	}
	got, ok := decodeField(values[0])
	if !ok || got == want || fieldMasked(head, name) || len(want) > jsonrpc.MaxSubject {
		return ""
	}
	return got + ", and the body has " + want
}

// isEncodedField reports whether the value of a field may be encoded as base64.
func isEncodedField(name string) bool {
	name = strings.ToLower(name)
	return name == "mcp-name" || strings.HasPrefix(name, "mcp-param-")
}

// decodeField decodes a value of such a field, and reports whether it is well-formed.
func decodeField(value string) (string, bool) {
	const begin, end = "=?base64?", "?="
	switch {
	case len(value) >= len(begin+end) && strings.EqualFold(value[:len(begin)], begin) && strings.HasSuffix(value, end):
		text, err := base64.StdEncoding.DecodeString(value[len(begin) : len(value)-len(end)])
		return string(text), err == nil && utf8.Valid(text) && strings.HasPrefix(value, begin)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }):
		return value, false
	}
	return value, true
}

// compareNumbers returns the order of two JSON numbers. Numbers that differ only beyond the
// precision of a float64 differ, too. ok is false if a text is not a number or is out of range.
func compareNumbers(a, b string) (order int, ok bool) {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil || x != y || x == 0 {
		return cmp.Compare(x, y), errX == nil && errY == nil
	}
	p, okP := new(big.Rat).SetString(a)
	q, okQ := new(big.Rat).SetString(b)
	if !okP || !okQ {
		return 0, false
	}
	return p.Cmp(q), true
}
