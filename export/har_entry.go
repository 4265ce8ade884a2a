package export

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// entry returns the HAR entry of an exchange.
func (h *harWriter) entry(x *exchange) harEntry {
	if x.request.Method == "" {
		x.request.Method, x.comment = "POST", "the head of the request was not recorded"
	}
	if !x.over {
		x.ended = max(x.ended, h.last)
	}
	e := harEntry{
		Page: pageID, Started: h.stamp(x.began), Request: h.requestOf(x), Response: h.responseOf(x), Timings: timings(x),
		Comment: x.comment, Mcptap: harMcptap{x.first, x.last, x.number}, Sockets: x.sockets,
	}
	e.Time = e.Timings.Send + e.Timings.Wait + e.Timings.Receive
	if x.request.Conn > 0 {
		e.Connection = strconv.FormatUint(x.request.Conn, 10)
	}
	if x.sockets != nil {
		e.Type = "websocket"
		if x.dropped > 0 {
			e.Comment = strings.TrimSpace(fmt.Sprintf("%s messages left out: %d", e.Comment, x.dropped))
		}
		if x.cut > 0 {
			e.Comment = strings.TrimSpace(fmt.Sprintf("%s messages cut at %d bytes: %d", e.Comment, h.maxBody, x.cut))
		}
	}
	if x.response.By == "tap" {
		e.Comment = strings.TrimSpace(e.Comment + " response by mcptap, not by the server")
	}
	return e
}

// timings splits the time of an exchange into sending, waiting and receiving.
func timings(x *exchange) harTimings {
	responded := cmp.Or(x.responded, x.ended)
	sent := min(x.sent, responded)
	return harTimings{
		Blocked: -1, DNS: -1, Connect: -1, SSL: -1,
		Send: millis(sent - x.began), Wait: millis(responded - sent), Receive: millis(x.ended - responded),
	}
}

// millis converts a duration for HAR.
func millis(d time.Duration) float64 { return float64(max(d, 0)) / 1e6 }

func (h *harWriter) requestOf(x *exchange) harRequest {
	r := harRequest{
		Method: x.request.Method, URL: h.url(x.request.Target), Version: x.request.Proto, Headers: pairs(x.request.Header),
		Cookies: cookies(x.request.Header, "cookie"), Query: query(x.request.Target), HeadersSize: -1, BodySize: x.up.size,
	}
	if x.up.size > 0 {
		text, encoding := x.up.text()
		r.Post = &harPost{Type: field(x.request.Header, "content-type"), Text: text, Comment: x.up.comment()}
		if encoding != "" { // HAR has no member for it in a request
			r.Post.Comment = strings.TrimSpace(r.Post.Comment + " the text is " + encoding)
		}
	}
	return r
}

func (h *harWriter) responseOf(x *exchange) harResponse {
	r := harResponse{
		Status: max(x.response.Status, 0), Text: x.response.Reason, Version: x.response.Proto,
		Headers: pairs(x.response.Header), Cookies: cookies(x.response.Header, "set-cookie"),
		Redirect: field(x.response.Header, "location"), HeadersSize: -1, BodySize: -1,
		Content: harContent{Size: x.down.size, Type: field(x.response.Header, "content-type"), Comment: x.down.comment()},
	}
	if x.end.Name != "" && x.end.BytesDown > 0 {
		r.BodySize = int64(x.end.BytesDown)
	}
	if x.sockets == nil {
		r.Content.Text, r.Content.Encoding = x.down.text()
	}
	if r.Status == 0 {
		r.Error = "no response was recorded"
	}
	if x.end.Error != "" {
		r.Error = x.end.Error
	}
	return r
}

// text returns a body as a JSON string, and its encoding if it is not UTF-8.
func (b *body) text() (text, encoding string) {
	if utf8.Valid(b.bytes) {
		return string(b.bytes), ""
	}
	return base64.StdEncoding.EncodeToString(b.bytes), "base64"
}

func (b *body) comment() string {
	if !b.lost {
		return ""
	}
	return fmt.Sprintf("the first %d of %d bytes", len(b.bytes), b.size)
}

// url returns the absolute URL of a request's target.
func (h *harWriter) url(target string) string {
	if strings.Contains(target, "://") {
		return target
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	origin := strings.TrimSuffix(h.about.Header.Upstream, "/")
	if !strings.Contains(origin, "://") {
		origin = "http://unknown.invalid"
	}
	return origin + target
}

func query(target string) []harPair {
	list := []harPair{}
	_, q, _ := strings.Cut(target, "?")
	q, _, _ = strings.Cut(q, "#")
	for part := range strings.SplitSeq(q, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		list = append(list, harPair{unescaped(name), unescaped(value)})
	}
	return list
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

func pairs(fields [][2]string) []harPair {
	list := make([]harPair, len(fields))
	for i, f := range fields {
		list[i] = harPair{f[0], f[1]}
	}
	return list
}

// field returns the value of the first header field with a name.
func field(fields [][2]string, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f[0], name) {
			return f[1]
		}
	}
	return ""
}

// cookies returns the cookies in a head: all of a Cookie field, the first of each Set-Cookie.
func cookies(fields [][2]string, name string) []harPair {
	list := []harPair{}
	for _, f := range fields {
		if !strings.EqualFold(f[0], name) {
			continue
		}
		for part := range strings.SplitSeq(f[1], ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			list = append(list, harPair{key, value})
			if name == "set-cookie" {
				break
			}
		}
	}
	return list
}

// The members of HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/). Names that begin with an
// underscore are extensions of mcptap or of Chrome's DevTools, as the specification allows.
type (
	harNamed struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harPage struct {
		Started string   `json:"startedDateTime"`
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		Timings struct{} `json:"pageTimings"`
	}
	harEntry struct {
		Page       string       `json:"pageref"`
		Started    string       `json:"startedDateTime"`
		Time       float64      `json:"time"`
		Request    harRequest   `json:"request"`
		Response   harResponse  `json:"response"`
		Cache      struct{}     `json:"cache"`
		Timings    harTimings   `json:"timings"`
		Connection string       `json:"connection,omitempty"`
		Comment    string       `json:"comment,omitempty"`
		Type       string       `json:"_resourceType,omitempty"`
		Sockets    []harMessage `json:"_webSocketMessages,omitempty"`
		Mcptap     harMcptap    `json:"_mcptap"`
	}
	// harMcptap is where an entry is in the recording.
	harMcptap struct {
		First    uint64 `json:"first_seq"`
		Last     uint64 `json:"last_seq"`
		Exchange uint64 `json:"exchange,omitempty"`
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		Version     string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		Post        *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int64     `json:"bodySize"`
	}
	harPost struct {
		Type    string `json:"mimeType"`
		Text    string `json:"text"`
		Comment string `json:"comment,omitempty"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		Text        string     `json:"statusText"`
		Version     string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		Redirect    string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int64      `json:"bodySize"`
		Error       string     `json:"_error,omitempty"`
	}
	harContent struct {
		Size     int64  `json:"size"`
		Type     string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
		Comment  string `json:"comment,omitempty"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harTimings struct {
		Blocked float64 `json:"blocked"`
		DNS     float64 `json:"dns"`
		Connect float64 `json:"connect"`
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
		SSL     float64 `json:"ssl"`
	}
	harMessage struct {
		Type   string  `json:"type"` // send or receive
		Time   float64 `json:"time"` // in seconds since 1970
		Opcode int     `json:"opcode"`
		Data   string  `json:"data"`
	}
)
