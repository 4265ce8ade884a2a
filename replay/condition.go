package replay

import (
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Condition is a set of reasons in the head of an HTTP request for which a server may
// refuse the request, whatever its message is.
type Condition uint16

// The conditions, in the order in which they are checked.
const (
	ForeignHost   Condition = 1 << iota // Host is not a name of the server
	ForeignOrigin                       // Origin is another website
	NoCredentials                       // there is no Authorization
	OverSession                         // the session has ended or never began
	NoSession                           // there is no Mcp-Session-Id
	WrongVersion                        // MCP-Protocol-Version is unknown or differs from the body
	WrongMethod                         // Mcp-Method is missing or differs from the body
	WrongName                           // Mcp-Name is missing or differs from the body
	WrongParam                          // a Mcp-Param field is missing or differs from the body: see [ParamFields]
	WrongAccept                         // Accept lacks a media type of responses
)

// All yields the conditions of the set, in order.
func (c Condition) All(yield func(Condition) bool) {
	for ; c != 0; c &= c - 1 {
		if !yield(c & -c) {
			return
		}
	}
}

// A Head has the header fields of a request that may affect its response.
type Head struct {
	Host, Origin, Session, Version, Method, Name, LastEventID, Accept, Credentials string
	HasOrigin                                                                      bool
	Length                                                                         int64 // 0 without Content-Length
	Socket                                                                         bool  // a WebSocket is requested
	// Params are the Mcp-Param-* fields (2026-07-28 basic/transports), as "name: value"
	// lines, sorted.
	Params []string
}

// ReadHead reads the header fields of a request, each a name and a value.
func ReadHead(fields [][2]string) (h Head) {
	texts := map[string]*string{
		"host": &h.Host, "origin": &h.Origin, "last-event-id": &h.LastEventID,
		"mcp-session-id": &h.Session, "mcp-protocol-version": &h.Version, "mcp-method": &h.Method, "mcp-name": &h.Name,
	}
	for _, f := range fields {
		name, value := strings.ToLower(f[0]), strings.TrimSpace(f[1])
		if to := texts[name]; to != nil {
			*to = value
		}
		switch {
		case name == "origin":
			h.HasOrigin = true
		case name == "authorization":
			h.Credentials = value
		case name == "mcp-name":
			h.Name = DecodeField(value)
		case name == "accept":
			h.Accept += value + ","
		case name == "upgrade":
			h.Socket = strings.EqualFold(value, "websocket")
		case name == "content-length":
			h.Length, _ = strconv.ParseInt(value, 10, 64)
		case strings.HasPrefix(name, "mcp-param-"):
			h.Params = append(h.Params, name+": "+value)
		}
	}
	slices.Sort(h.Params)
	return h
}

// Modern reports whether the head names 2026-07-28 or a later revision.
func (h *Head) Modern() bool { return jsonrpc.EraOf(jsonrpc.Revision(h.Version)) == jsonrpc.Modern }

// Accepts reports whether the client accepts a media type.
func (h *Head) Accepts(media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for part := range strings.SplitSeq(h.Accept, ",") {
		name, _, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err == nil && (name == media || name == "*/*" || name == kind+"/*") {
			return true
		}
	}
	return false
}

// Conditions returns the conditions that apply to a request with the head and the first message
// c, except WrongParam. host and origin report whether Host and Origin name the server.
func (h *Head) Conditions(c *Claim, host, origin bool) (all Condition) {
	if !host {
		all |= ForeignHost
	}
	if !origin {
		all |= ForeignOrigin
	}
	if h.Credentials == "" {
		all |= NoCredentials
	}
	if c.Kind == jsonrpc.Request && (!h.Accepts("application/json") || !h.Accepts("text/event-stream")) {
		all |= WrongAccept
	}
	if !h.Modern() && !c.Modern {
		if h.Version != "" && !slices.Contains(legacyVersions, jsonrpc.Revision(h.Version)) {
			all |= WrongVersion
		}
		return all
	}
	if c.Kind != jsonrpc.Request {
		return all // nothing is required of notifications
	}
	if h.Version != c.Version {
		all |= WrongVersion
	}
	if h.Method != c.Method {
		all |= WrongMethod
	}
	if c.HasName && h.Name != c.Name {
		all |= WrongName
	}
	return all
}

// legacyVersions are the values of MCP-Protocol-Version before 2026-07-28.
var legacyVersions = []jsonrpc.Revision{jsonrpc.Rev20241105, jsonrpc.Rev20250326, jsonrpc.Rev20250618, jsonrpc.Rev20251125}

// Variant describes what may make a server answer equal messages differently: what the head
// contains in addition to the message, and what the message lacks. It is "" if there is nothing.
func (h *Head) Variant(c *Claim) string {
	if !h.Modern() && !c.Modern {
		return ""
	}
	parts := slices.Clone(h.Params)
	if h.Version != c.Version {
		parts = append(parts, "version "+h.Version)
	}
	if h.Method != c.Method {
		parts = append(parts, "method "+h.Method)
	}
	if c.HasName && h.Name != c.Name {
		parts = append(parts, "name "+h.Name)
	}
	if c.Incomplete {
		parts = append(parts, "incomplete")
	}
	if c.Modern && c.Version != string(jsonrpc.Rev20260728) {
		parts = append(parts, "of "+c.Version)
	}
	return strings.Join(parts, "\n")
}

// Blame returns the condition for which an exchange was refused with a status, 0 if the
// message was the reason. over reports that its session has ended or never began, nameless
// that the session needs no id.
func (x *Exchange) Blame(status int, all Condition, over, nameless bool) Condition {
	legacy := !x.Claim.Modern && !x.Head.Modern()
	switch {
	case status < 400:
		return 0
	case over && (status == 404 || status == 400) && x.Head.Session != "" && legacy:
		return OverSession
	case status == 400 && x.Head.Session == "" && legacy && !nameless && x.Claim.Method != "" && x.Claim.Method != "initialize":
		return NoSession
	case status != 401 && status != 403:
		all &^= NoCredentials
	}
	return all & -all // the first
}

// ReadResponse reads the head of a response.
func ReadResponse(e *tap.Event) Response {
	r := Response{Status: e.Status, Length: -1}
	for _, h := range e.Header {
		name := strings.ToLower(h[0])
		if !passing[name] {
			r.Header = append(r.Header, h)
		}
		switch name {
		case "content-type":
			r.Events = r.Events || strings.HasPrefix(strings.ToLower(strings.TrimSpace(h[1])), "text/event-stream")
		case "content-length":
			if n, err := strconv.ParseInt(strings.TrimSpace(h[1]), 10, 64); err == nil {
				r.Length = n
			}
		case "date":
			r.Date = true
		case "mcp-session-id":
			r.Session = true
		}
	}
	return r
}

// passing are the header fields of a response that are specific to a body, a session or a
// connection.
var passing = map[string]bool{
	"proxy-connection": true, "te": true, "trailer": true, "transfer-encoding": true,
	"upgrade": true, "content-length": true, "content-encoding": true, "date": true, "mcp-session-id": true,
	"sec-websocket-accept": true,
}

// A Claim is what the header of an HTTP request repeats from its message
// (2026-07-28 basic/transports#standard-request-headers), and the client that sent it.
type Claim struct {
	// Kind and Method are those of the message.
	Kind   jsonrpc.Kind
	Method string
	// ID is the id of a request in JSON, nil for none.
	ID []byte
	// Modern reports that the message names its own protocol version. Version is that version,
	// or the one that an initialize requests.
	Modern  bool
	Version string
	// Incomplete reports that the message names its own version but lacks the client's
	// capabilities, which it must have.
	Incomplete bool
	// Client is the client's clientInfo in JSON, nil for none.
	Client []byte
	// Name is the tool, prompt, resource or task that the message refers to. HasName reports
	// that it has one.
	Name    string
	HasName bool
}

// ReadClaim reads the claim of a message.
func ReadClaim(m *jsonrpc.Message) Claim {
	c := Claim{Kind: m.Kind, Method: m.Method, ID: m.ID}
	if m.Kind != jsonrpc.Request && m.Kind != jsonrpc.Notification {
		return c
	}
	params := readTree(m.Params, 2)
	meta := params.Get("_meta")
	if version := meta.Get(jsonrpc.MetaPrefix + "protocolVersion"); version.Exists() {
		c.Modern, c.Version = true, version.Text()
		c.Incomplete = !meta.Get(jsonrpc.MetaPrefix + "clientCapabilities").Exists()
	}
	c.Client = meta.Get(jsonrpc.MetaPrefix + "clientInfo").Raw()
	if m.Method == "initialize" && !c.Modern {
		c.Client = firstMember(m.Params, "clientInfo", "client")
		c.Version = requestedVersion(m)
	}
	if member := nameOf[m.Method]; member != "" {
		name := params.Get(member)
		c.Name, c.HasName = name.Text(), name.Kind() == jsontree.String
	}
	return c
}

// nameOf has the member of params that Mcp-Name repeats, by method.
var nameOf = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}
