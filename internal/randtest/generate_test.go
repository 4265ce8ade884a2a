package randtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A feature is something that a session may have. Where it is possible, it occurs with a
// probability of weight percent.
type feature struct {
	name   string
	weight int
}

var features = []feature{
	// The messages.
	{"batch", 40},
	{"garbage line", 30},
	{"id twice", 25},
	{"call twice", 40},
	{"ping", 30},
	{"progress", 40},
	{"log", 30},
	{"nested sampling", 30},
	{"elicitation", 30},
	{"refused question", 30},
	{"ping on the POST stream", 25},
	{"input_required chain", 40},
	{"listen", 40},
	{"list_changed", 40},
	{"cancel", 30},
	{"error", 20},
	{"probe", 20},
	{"reordered JSON", 30},
	{"odd values", 30},
	{"string ids", 30},
	{"concurrent calls", 40},
	// How HTTP carries them.
	{"no session ids", 25},
	{"GET stream", 60},
	{"405 to GET", 50},
	{"202 with a body", 50},
	{"empty 202 on HTTP+SSE", 0},
	{"event stream", 50},
	{"event ids", 60},
	{"dataless event", 40},
	{"retry", 40},
	{"comments", 30},
	{"CRLF events", 20},
	{"resume", 40},
	{"hang-up", 30},
	{"refused 4xx", 30},
	{"unauthorized", 20},
	{"mid-session 404", 25},
	{"DELETE", 50},
	{"odd header", 30},
	{"chunked odd", 30},
	{"chunked request", 25},
	{"trailers", 30},
	{"close-delimited", 25},
	{"interim response", 20},
	{"slow body", 10}, // something else happens between the head and the body
	{"abort mid-body", 25},
	// How a line is written.
	{"CRLF lines", 20},
	{"no final newline", 20},
	{"stderr", 30},
	{"exit status", 20},
}

// New returns the plan for a seed.
func New(seed uint64) *Plan { return newPlan(seed, "", nil) }

// newPlan returns the plan for a seed on a transport, "" for any, without some features. The remaining
// parts of two plans with the same seed are similar.
func newPlan(seed uint64, transport string, without []string) *Plan {
	g := &gen{
		rng:     rand.New(rand.NewPCG(seed, 0x6d6370)),
		without: without, used: map[string]bool{},
		p: &Plan{Seed: seed, Vars: Vars{"host": "server.invalid", "path": "/mcp", "sse": "/sse", "endpoint": "/message?sessionId=0a9b8c7d6e5f4a3b"}},
	}
	g.p.Transport = []string{stdio, stdio, streamable, streamable, streamable, streamable, sse, ws}[g.rng.IntN(8)]
	if transport != "" {
		g.p.Transport = transport
	}
	g.revision()
	g.style()
	for g.session(); g.more; g.session() {
		g.more = false
	}
	g.last()
	for _, f := range features {
		if g.used[f.name] {
			g.p.Features = append(g.p.Features, f.name)
		}
	}
	assignConns(g.p)
	return g.p
}

type gen struct {
	rng     *rand.Rand
	p       *Plan
	without []string
	used    map[string]bool

	act       int
	current   *act    // the one being generated
	barrier   []*Step // what every later step needs
	ids       int     // of the client
	questions int     // of the server
	number    int     // for values that must differ
	exchanges int
	sessions  int
	standing  *Exchange // the GET stream of the session, or the stream of HTTP+SSE
	opened    *Step     // its head
	args      []string  // of earlier calls
	making    []string  // of the calls being generated
	more      bool      // another session follows

	stringIDs, reordered, values, crlfEvents, crlfLines, eventIDs, named, authorized bool
}

func (g *gen) modern() bool { return g.p.Revision == "2026-07-28" }
func (g *gen) duplex() bool { return g.p.Transport != streamable }
func (g *gen) lines() bool  { return g.p.Transport == stdio || g.p.Transport == ws }

func (g *gen) revision() {
	all := []string{"2025-11-25", "2026-07-28", "2025-03-26", "2025-06-18", "2024-11-05"}
	n := g.rng.IntN(100)
	switch g.p.Transport {
	case sse:
		all, n = all[4:], 0
	case streamable:
		all, n = all[:4], []int{0, 0, 1, 1, 2, 3}[n%6]
	default:
		n = []int{0, 0, 1, 1, 2, 3, 4}[n%7]
	}
	g.p.Revision = all[n]
}

// on reports whether a feature occurs now.
func (g *gen) on(name string) bool {
	i := slices.IndexFunc(features, func(f feature) bool { return f.name == name })
	if g.rng.IntN(100) >= features[i].weight || slices.Contains(g.without, name) {
		return false
	}
	g.note(name)
	return true
}

// note records that the plan has a feature.
func (g *gen) note(name string) {
	g.used[name] = true
	if g.current != nil {
		g.current.features = append(g.current.features, name)
	} else {
		g.p.common = append(g.p.common, name)
	}
}

// style chooses the features of the whole plan.
func (g *gen) style() {
	g.stringIDs, g.reordered = g.on("string ids"), g.on("reordered JSON")
	g.values = g.on("odd values")
	if g.p.Transport == streamable {
		g.crlfEvents = g.on("CRLF events")
		g.eventIDs = !g.modern() && g.on("event ids")
		g.named = !g.modern() && !g.on("no session ids")
	}
	if g.p.Transport == stdio {
		g.crlfLines = g.on("CRLF lines")
		if g.on("exit status") {
			g.p.Exit = 1 + g.rng.IntN(100)
		}
	}
}

// session generates one session.
func (g *gen) session() {
	g.sessions++
	g.standing = nil
	g.open()
	for range 2 + g.rng.IntN(4) {
		acts := [][]*Step{g.any()}
		if g.current = nil; g.on("concurrent calls") {
			acts = append(acts, g.any())
			if g.rng.IntN(2) == 0 {
				acts = append(acts, g.any())
			}
		}
		g.merge(acts)
		g.args, g.making = append(g.args, g.making...), nil
	}
	g.close()
}

// begin begins an act. Of the steps before it, it needs only those of the last barrier.
func (g *gen) begin() *act {
	g.act++
	g.current = &act{g: g, number: g.act, after: g.barrier}
	return g.current
}

// An act is a sequence of steps. Each step needs the previous one.
type act struct {
	g      *gen
	number int
	steps  []*Step
	after  []*Step

	features []string
}

// kept marks an act that is in every part of the plan.
func (a *act) kept() *act {
	for _, s := range a.steps {
		s.Act = 0
	}
	return a
}

func (a *act) add(s *Step) *Step {
	s.Act, s.features = a.number, &a.features
	s.Needs = append(s.Needs, a.after...)
	a.after = []*Step{s}
	a.steps = append(a.steps, s)
	return s
}

// merge adds acts to the plan. The steps of each act stay in order; acts are interleaved at random. A
// body is recorded when it ends, so no step is placed between the two.
func (g *gen) merge(acts [][]*Step) {
	g.current = nil
	for {
		acts = slices.DeleteFunc(acts, func(a []*Step) bool { return len(a) == 0 })
		if len(acts) == 0 {
			return
		}
		i := g.rng.IntN(len(acts))
		n := 1
		first := acts[i][0]
		switch {
		case first.X == nil || first.X == g.standing:
		case first.Kind == body, first.Kind == head && !first.X.Events && !g.on("slow body"),
			g.p.Transport == sse && first.Kind == send: // otherwise two messages may overtake each other
			for acts[i][n-1].Kind != end {
				n++
			}
		}
		g.p.Steps = append(g.p.Steps, acts[i][:n]...)
		acts[i] = acts[i][n:]
	}
}

// settle adds an act that needs all steps before it. All later steps need it.
func (g *gen) settle(a *act) {
	g.current = nil
	if len(a.steps) == 0 {
		return
	}
	a.steps[0].Needs = append(a.steps[0].Needs, g.p.Steps...)
	g.p.Steps = append(g.p.Steps, a.steps...)
	g.barrier = a.steps[len(a.steps)-1:]
}

// A flow is where the server answers one message of the client.
type flow struct {
	a      *act
	x      *Exchange // nil where one stream carries everything
	stream bool      // its head is sent, and it is an event stream
}

// post makes the client send a message. method is what the fields of 2026-07-28 repeat, "" if the
// message is neither a request nor a notification.
func (a *act) post(message, method, name string) *flow {
	g := a.g
	if g.lines() {
		a.add(&Step{Kind: send, Text: g.line(message)})
		return &flow{a: a}
	}
	f := &flow{a: a}
	f.ask("POST", g.fields(method, name), message)
	if g.p.Transport == sse {
		f.accepted()
		f.x = nil
	}
	return f
}

func (g *gen) line(message string) string {
	if g.crlfLines {
		return message + "\r\n"
	}
	return message + "\n"
}

// ask makes the client send an HTTP request.
func (f *flow) ask(method string, fields []string, content string) {
	g := f.a.g
	g.exchanges++
	f.x = &Exchange{Number: g.exchanges, Method: method}
	target := "{{path}}"
	if g.p.Transport == sse {
		if target = "{{sse}}"; method == "POST" {
			target = "{{endpoint}}"
		}
	}
	s := &Step{Kind: send, X: f.x, Body: content}
	fields = append([]string{"Host: {{host}}"}, fields...)
	if g.on("odd header") {
		fields = append(fields, "x-Trace-ID:  a,b", "X-trace-id: \"c\"", "X-Empty:")
		g.rng.Shuffle(len(fields)-1, func(i, j int) { fields[i+1], fields[j+1] = fields[j+1], fields[i+1] })
	}
	if method == "POST" {
		fields = append(fields, "Content-Type: application/json")
		if g.on("chunked request") {
			s.Chunks, s.Odd = 1+g.rng.IntN(3), g.rng.IntN(2) == 0
			fields = append(fields, "Transfer-Encoding: chunked")
		} else {
			fields = append(fields, "Content-Length: {{len}}")
		}
	}
	s.Text = method + " " + target + " HTTP/1.1\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
	f.a.add(s)
}

// fields returns those that a client sends with a message or with a GET.
func (g *gen) fields(method, name string) (all []string) {
	all = []string{"Accept: application/json, text/event-stream"}
	if method == "GET" {
		all[0] = "Accept: text/event-stream"
	}
	if g.authorized {
		all = append(all, "Authorization: Bearer 7f3a9c2e51d84b60")
	}
	if g.p.Transport == sse {
		return all
	}
	if g.named && method != "initialize" {
		all = append(all, fmt.Sprintf("Mcp-Session-Id: {{session%d}}", g.sessions))
	}
	if g.p.Revision >= "2025-06-18" && method != "initialize" {
		all = append(all, "MCP-Protocol-Version: "+g.p.Revision)
	}
	if g.modern() && method != "" {
		all = append(all, "Mcp-Method: "+method)
		if name != "" {
			all = append(all, "Mcp-Name: "+name)
		}
	}
	return all
}

// respond sends the head of a response.
func (f *flow) respond(status, kind string, events bool, fields ...string) {
	g := f.a.g
	x := f.x
	x.Events = events
	x.Framing = "length"
	switch {
	case events:
		x.Framing = "chunked"
	case g.rng.IntN(3) == 0:
		x.Framing = "chunked"
	}
	if kind != "" && g.on("close-delimited") {
		x.Framing = "close"
	}
	if kind != "" {
		fields = append(fields, "Content-Type: "+kind)
	}
	if g.on("odd header") {
		fields = append(fields, "x-Powered-BY: Random/1.0  (any)", "X-powered-by: second", "X-Empty:", "Cache-Control: no-cache, no-transform")
	}
	switch x.Framing {
	case "length":
		fields = append(fields, "Content-Length: {{len}}")
	case "chunked":
		fields = append(fields, "Transfer-Encoding: chunked")
	case "close":
		fields = append(fields, "Connection: close")
	}
	fields = append(fields, "Date: Sat, 28 Nov 2026 01:02:03 GMT")
	g.rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	text := ""
	if g.on("interim response") {
		text = "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
	}
	text += "HTTP/1.1 " + status + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
	if events {
		g.note("event stream")
	}
	f.a.add(&Step{Server: true, Kind: head, X: x, Text: text})
	f.stream = events
}

// end ends a response.
func (f *flow) end() *Step {
	s := &Step{Server: true, Kind: end, X: f.x}
	if f.x.Framing == "chunked" && f.a.g.on("trailers") {
		s.Text = "X-Checksum: 1234\r\n"
	}
	return f.a.add(s)
}

// content sends a body in one piece and ends it.
func (f *flow) content(text string) {
	if text != "" {
		if s := f.a.add(f.piece(body, text)); strings.ContainsAny(text[:1], "{[") {
			s.Body = text
		}
	}
	f.end()
}

func (f *flow) piece(kind, text string) *Step {
	g := f.a.g
	s := &Step{Server: true, Kind: kind, X: f.x, Text: text, Chunks: 1}
	if f.x.Framing == "chunked" && g.on("chunked odd") {
		s.Chunks, s.Odd = 1+g.rng.IntN(4), true
	}
	return s
}

// accepted responds to a message that needs no answer.
func (f *flow) accepted() {
	if f.x == nil {
		return
	}
	text, kind := "", ""
	switch g := f.a.g; {
	case g.on("202 with a body") || g.p.Transport == sse && slices.Contains(g.without, "empty 202 on HTTP+SSE"):
		text, kind = "Accepted", "text/plain"
	case g.p.Transport == sse:
		g.note("empty 202 on HTTP+SSE")
	}
	f.respond("202 Accepted", kind, false)
	f.content(text)
}

// say sends a message that is not the last one.
func (f *flow) say(message string) {
	g := f.a.g
	switch {
	case g.lines():
		f.a.add(&Step{Server: true, Kind: send, Text: g.line(message)})
	case f.x == nil: // HTTP+SSE
		g.onStanding(f.a, message)
	default:
		f.begin()
		f.a.add(f.event(message, ""))
	}
}

// begin begins an event stream.
func (f *flow) begin() {
	if f.x == nil || f.stream {
		return
	}
	g := f.a.g
	f.respond("200 OK", "text/event-stream", true, "Cache-Control: no-cache")
	if g.on("comments") {
		f.a.add(f.piece(event, ": hello\n\n"))
	}
	if g.eventIDs && g.p.Revision == "2025-11-25" && g.on("dataless event") {
		f.a.add(f.event("", ""))
	}
}

// event adds one block of an event stream.
func (f *flow) event(message, retry string) *Step {
	g := f.a.g
	var lines []string
	if g.on("comments") {
		lines = append(lines, ": keep-alive")
	}
	if message != "" && g.rng.IntN(2) == 0 {
		lines = append(lines, "event: message")
	}
	if g.eventIDs {
		f.x.ids++
		lines = append(lines, "id: "+g.eventID(f.x, f.x.ids))
	}
	if retry != "" {
		lines = append(lines, "retry: "+retry)
	}
	lines = append(lines, "data: "+message)
	if message == "" && g.rng.IntN(2) == 0 {
		lines[len(lines)-1] = "data:"
	}
	s := f.piece(event, strings.Join(lines, "\n")+"\n\n")
	s.Body = message
	if g.crlfEvents {
		s.Text = strings.ReplaceAll(s.Text, "\n", "\r\n")
	}
	return s
}

// eventID returns the name for the id of the nth event with an id.
func (g *gen) eventID(x *Exchange, n int) string {
	name := fmt.Sprintf("event%d.%d", x.Number, n)
	g.p.Vars[name] = fmt.Sprintf("e%d_%d", x.Number, n)
	return "{{" + name + "}}"
}

// finish sends the last message.
func (f *flow) finish(message string) {
	g := f.a.g
	switch {
	case f.x == nil:
		f.say(message)
	case f.stream || g.on("event stream"):
		f.say(message)
		f.end()
	default:
		f.respond("200 OK", "application/json", false)
		f.content(message)
	}
}

// onStanding sends a message on the standing stream.
func (g *gen) onStanding(a *act, message string) {
	f := &flow{a: a, x: g.standing, stream: true}
	s := f.event(message, "")
	s.Needs = append(s.Needs, g.opened)
	a.add(s)
}

// id returns an id for a client request.
func (g *gen) id() string {
	g.ids++
	name := "c" + strconv.Itoa(g.ids)
	g.p.Vars[name] = strconv.Itoa(g.ids - 1)
	if g.stringIDs && g.rng.IntN(2) == 0 {
		g.p.Vars[name] = `"r-` + strconv.Itoa(g.ids) + `"`
	}
	return "{{" + name + "}}"
}

// token returns a progress token.
func (g *gen) token() string {
	name := "t" + strconv.Itoa(g.ids)
	g.p.Vars[name] = `"tok-` + strconv.Itoa(g.ids) + `"`
	return "{{" + name + "}}"
}

// request returns a client request.
func (g *gen) request(id, method, params string) string {
	if g.modern() {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{},"elicitation":{}}}`
		params = "{" + meta + strings.Replace(","+params[1:], ",}", "}", 1)
	}
	if params == "" {
		return g.object(`"jsonrpc":"2.0"`, `"id":`+id, `"method":"`+method+`"`)
	}
	return g.object(`"jsonrpc":"2.0"`, `"id":`+id, `"method":"`+method+`"`, `"params":`+params)
}

// result returns a response of either side.
func (g *gen) result(id, result string) string {
	if g.modern() && !strings.Contains(result, `"resultType"`) {
		result = strings.Replace(`{"resultType":"complete",`+result[1:], `",}`, `"}`, 1)
	}
	return g.object(`"jsonrpc":"2.0"`, `"id":`+id, `"result":`+result)
}

func (g *gen) failure(id string, code int, message string) string {
	return g.object(`"jsonrpc":"2.0"`, `"id":`+id, fmt.Sprintf(`"error":{"code":%d,"message":"%s"}`, code, message))
}

func (g *gen) notification(method, params string) string {
	if params == "" {
		return g.object(`"jsonrpc":"2.0"`, `"method":"`+method+`"`)
	}
	return g.object(`"jsonrpc":"2.0"`, `"method":"`+method+`"`, `"params":`+params)
}

// object joins members in the ways in which different programs write them.
func (g *gen) object(members ...string) string {
	if !g.reordered {
		return "{" + strings.Join(members, ",") + "}"
	}
	switch g.rng.IntN(3) {
	case 0:
		slices.Reverse(members)
	case 1:
		return "{ " + strings.Join(members, " ,\t") + " }"
	}
	return "{" + strings.Join(members, ",") + "}"
}

// value returns a JSON value that is easily altered in transit.
func (g *gen) value() string {
	g.number++
	if !g.values {
		return strconv.Itoa(g.number)
	}
	odd := []string{`1.0`, `1e2`, `12345678901234567890`, `"\u00e9\/"`, `"é – 日本"`, `{}`, `[]`, `null`, `{"b":1,"a":2}`, `-0`, `"\ud83d\ude00"`, `0.1000`}
	return fmt.Sprintf(`[%d,%s]`, g.number, odd[g.rng.IntN(len(odd))])
}

// assignConns assigns a connection to each exchange: one whose last response has ended, or a new
// one.
func assignConns(p *Plan) {
	var free []int
	conns := 0
	for _, s := range p.Steps {
		x := s.X
		switch {
		case x == nil:
		case s.Kind == send && len(free) > 0:
			x.Conn, free = free[len(free)-1], free[:len(free)-1]
		case s.Kind == send:
			conns++
			x.Conn = conns
		case s.Kind == end && x.Framing != "close":
			free = append(free, x.Conn)
		}
	}
}

// TestNew generates the plans for many seeds, each twice, and the parts of each plan.
func TestNew(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		p := New(seed)
		if text := p.String(); text != New(seed).String() {
			t.Fatalf("seed %d has two different plans", seed)
		}
		seen[p.Transport], seen[p.Revision] = true, true
		for _, f := range p.Features {
			seen[f] = true
		}
		without := map[int]bool{}
		for _, act := range p.acts() {
			without[act] = true
			if text := p.without(without).String(); strings.Contains(text, fmt.Sprintf(" a%d ", act)) {
				t.Fatalf("seed %d without act %d:\n%s", seed, act, text)
			}
		}
	}
	for _, f := range features {
		if !seen[f.name] {
			t.Errorf("no plan has the feature %s", f.name)
		}
	}
	for _, name := range []string{stdio, streamable, sse, ws, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		if !seen[name] {
			t.Errorf("no plan is of %s", name)
		}
	}
}
