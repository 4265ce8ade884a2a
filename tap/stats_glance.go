package tap

// A glance is what Stats need of an ordinary frame, read in one pass, with
// what a [Tracker] would have to read once more of it. It is exact: read says no to whatever it is
// not certain of, down to an escape in a name, and what it takes for a message
// a Peek takes for the same.
type glance struct {
	// kind is Request, Response or Notification.
	kind Kind
	// id and the tokens are as they stand on the wire: an integer, or a string
	// without escapes; empty when absent. A request has its token in _meta, a
	// progress notification in params.
	id, metaToken, token span
	// method is what stands between its quotes, name the same of the member of
	// params; empty when absent.
	method, name span

	reader
	i    int
	seen glanceMember
}

// A span is a part of a frame.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

func (s span) size() int { return s.to - s.from }

// A glanceMember is a member of the envelope, or of params, that counts.
type glanceMember uint16

const (
	glanceID glanceMember = 1 << iota
	glanceMethod
	glanceParams
	glanceResult
	glanceName
	glanceIsError
	glanceType
	glanceMeta
	glanceMetaToken
	glanceToken
)

// once notes a member. One that occurs twice is not ordinary.
func (g *glance) once(m glanceMember) bool {
	again := g.seen&m != 0
	g.seen |= m
	return !again
}

// maxGlance is the size in bytes above which a frame is not glanced at. Lengths
// are then also small enough for [Stats].
const maxGlance = 64 << 10

// readFrame reads the message in a frame.
func (g *glance) readFrame(f *Frame) bool {
	switch f.Form {
	case FormLine, FormText, FormBinary, FormBody:
		return g.read(f.Raw)
	case FormEvent:
		data, ok := messageData(f.Raw)
		return ok && g.read(data)
	}
	return false
}

// read reads a message and reports whether it is a request, a successful
// response, progress or a log message, in plain JSON, with nothing else in it by
// which a message is tied to others: no input or task asked for or given, no
// related task, no elicitation by name, no isError but false, no wish for log
// messages.
func (g *glance) read(raw []byte) bool {
	if len(raw) > maxGlance {
		return false
	}
	*g = glance{reader: reader{b: raw}}
	g.space()
	if !g.each(g.envelopeMember) {
		return false
	}
	g.space()
	if g.i < len(g.b) {
		return false
	}
	switch g.seen & (glanceID | glanceMethod | glanceResult) {
	case glanceID | glanceMethod:
		g.kind = Request
	case glanceID | glanceResult:
		g.kind = Response
	case glanceMethod:
		g.kind = Notification
		method := g.method.of(g.b)
		return string(method) == "notifications/message" || string(method) == "notifications/progress" && g.token.size() > 0
	}
	return g.kind != Invalid
}

func (g *glance) envelopeMember(name []byte) bool {
	switch string(name) {
	case "id":
		return g.once(glanceID) && g.readID(&g.id)
	case "method":
		return g.once(glanceMethod) && g.plainString(&g.method) && g.method.size() <= MaxSubject
	case "params":
		return g.once(glanceParams) && g.each(g.paramsMember)
	case "result":
		return g.once(glanceResult) && g.each(g.resultMember)
	case "error":
		return false
	}
	return g.any(1)
}

func (g *glance) paramsMember(name []byte) bool {
	switch string(name) {
	case "name":
		if g.i < len(g.b) && g.b[g.i] == '"' {
			return g.once(glanceName) && g.plainString(&g.name) && g.name.size() <= MaxSubject
		}
		return false
	case "_meta":
		if g.i < len(g.b) && g.b[g.i] == '{' {
			return g.once(glanceMeta) && g.each(g.metaMember)
		}
		return false
	case "progressToken":
		return g.once(glanceToken) && g.readID(&g.token)
	case "task", "requestState", "inputResponses", "elicitationId":
		return false
	}
	return g.any(2)
}

func (g *glance) metaMember(name []byte) bool {
	switch string(name) {
	case "progressToken":
		return g.once(glanceMetaToken) && g.readID(&g.metaToken)
	case metaPrefix + "related-task", metaPrefix + "logLevel":
		return false
	}
	return g.any(3)
}

func (g *glance) resultMember(name []byte) bool {
	switch string(name) {
	case "isError":
		return g.once(glanceIsError) && g.to(literal(g.b, g.i, "false"))
	case "resultType":
		var text span
		return g.once(glanceType) && g.plainString(&text) && string(text.of(g.b)) == "complete"
	}
	return g.any(2)
}

// readID reads an id or a token that has one spelling only.
func (g *glance) readID(to *span) bool {
	from := g.i
	if g.i < len(g.b) && g.b[g.i] == '"' {
		if !g.plainString(to) {
			return false
		}
	} else if g.i = digits(g.b, from); g.i == from || g.b[from] == '0' && g.i > from+1 {
		return false
	}
	*to = span{from, g.i}
	return to.size() <= len(heldKey{})
}

// each reads an object whose members' names have no escapes. It calls member for
// each of them, which reads its value.
func (g *glance) each(member func(name []byte) bool) bool {
	if !g.take('{') {
		return false
	}
	g.space()
	if g.take('}') {
		return true
	}
	for {
		var name span
		if !g.plainString(&name) || !g.colon() || !member(name.of(g.b)) {
			return false
		}
		g.space()
		if g.take('}') {
			return true
		}
		if !g.take(',') {
			return false
		}
		g.space()
	}
}
