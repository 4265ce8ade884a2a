package randtest

import (
	"fmt"
	"slices"
	"strings"
)

// open begins a session.
func (g *gen) open() {
	if g.p.Transport == sse {
		g.settle(g.openEvents().kept())
	}
	if g.modern() {
		if g.rng.IntN(2) == 0 {
			a := g.begin()
			a.post(g.request(g.id(), "server/discover", "{}"), "server/discover", "").
				finish(g.result(g.lastID(), `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"random","version":"1"}}}`))
			g.settle(a)
		}
		return
	}
	g.settle(g.handshake().kept())
	if g.p.Transport != streamable {
		return
	}
	switch {
	case g.on("GET stream"):
		a := g.begin()
		f := &flow{a: a}
		f.ask("GET", g.fields("GET", ""), "")
		f.respond("200 OK", "text/event-stream", true, "Cache-Control: no-cache")
		g.standing, g.opened = f.x, a.steps[len(a.steps)-1]
		g.settle(a)
	case g.on("405 to GET"):
		a := g.begin()
		f := &flow{a: a}
		f.ask("GET", g.fields("GET", ""), "")
		f.x.Refused = true
		f.respond("405 Method Not Allowed", "text/plain", false, "Allow: POST, DELETE")
		f.content("Method Not Allowed\n")
		g.settle(a)
	}
}

// openEvents opens the stream of HTTP+SSE.
func (g *gen) openEvents() *act {
	a := g.begin()
	f := &flow{a: a}
	f.ask("GET", g.fields("GET", ""), "")
	f.respond("200 OK", "text/event-stream", true)
	g.standing = f.x
	f.a.add(f.piece(event, "event: endpoint\ndata: {{endpoint}}\n\n")).Body = "{{endpoint}}"
	g.opened = a.steps[len(a.steps)-1]
	return a
}

func (g *gen) lastID() string { return fmt.Sprintf("{{c%d}}", g.ids) }

// handshake adds initialize and the messages that belong to it.
func (g *gen) handshake() *act {
	a := g.begin()
	probed := g.p.Revision == "2025-11-25" && g.sessions == 1 && g.on("probe")
	if probed {
		f := a.post(g.object(`"jsonrpc":"2.0"`, `"id":"probe-1"`, `"method":"server/discover"`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), "initialize", "")
		g.refuse(f, "400 Bad Request", g.failure(`"probe-1"`, -32601, "Method not found"))
	}
	params := fmt.Sprintf(`{"protocolVersion":"%s","capabilities":{"sampling":{},"elicitation":{},"roots":{}},"clientInfo":{"name":"rand","version":"1"}}`, g.p.Revision)
	message := g.request(g.id(), "initialize", params)
	if g.p.Transport == streamable && g.sessions == 1 && !probed && g.on("unauthorized") {
		f := a.post(message, "initialize", "")
		f.x.Refused = true
		f.respond("401 Unauthorized", "text/plain", false, `WWW-Authenticate: Bearer realm="r"`)
		f.content("no token")
		g.authorized = true
	}
	f := a.post(message, "initialize", "")
	if g.named {
		name := fmt.Sprintf("session%d", g.sessions)
		g.p.Vars[name] = fmt.Sprintf("5e55-%d-%016x", g.sessions, g.rng.Uint64())
		if g.on("event stream") {
			f.respond("200 OK", "text/event-stream", true, "Mcp-Session-Id: {{"+name+"}}")
		} else {
			f.respond("200 OK", "application/json", false, "Mcp-Session-Id: {{"+name+"}}")
		}
	}
	result := g.result(g.lastID(), fmt.Sprintf(`{"protocolVersion":"%s","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"random","version":"1"}}`, g.p.Revision))
	if g.named && !f.stream {
		f.content(result)
	} else {
		f.finish(result)
	}
	a.post(g.notification("notifications/initialized", ""), "notifications/initialized", "").accepted()
	return a
}

// refuse answers with a status, or, if one stream carries everything, with only the message.
func (g *gen) refuse(f *flow, status, message string) {
	if f.x == nil {
		f.say(message)
		return
	}
	f.x.Refused = true
	f.respond(status, "application/json", false)
	f.content(message)
}

// any adds a random act.
func (g *gen) any() []*Step {
	a := g.begin()
	switch choice := g.rng.IntN(12); {
	case g.p.Revision == "2025-03-26" && g.on("batch"):
		g.batch(a)
	case choice == 0 && g.on("garbage line"):
		g.garbage(a)
	case choice == 1 && !g.modern() && g.on("ping"):
		a.post(g.request(g.id(), "ping", ""), "ping", "").finish(g.result(g.lastID(), "{}"))
	case choice == 2 && g.modern() && g.on("listen"):
		g.listen(a)
	case choice == 2 && !g.modern() && (g.standing != nil || g.lines()) && g.on("list_changed"):
		g.changed(a)
	case choice == 3 && g.on("id twice"):
		g.twice(a)
	case choice == 4 && !g.duplex() && g.on("refused 4xx"):
		g.refused(a)
	case choice == 5 && g.p.Transport == stdio && g.on("stderr"):
		a.add(&Step{Server: true, Kind: stderr, Text: fmt.Sprintf("log line %d\n", g.rng.IntN(100))})
	default:
		g.call(a)
	}
	return a.steps
}

// call adds a tool call and messages that may belong to it.
func (g *gen) call(a *act) {
	id := g.id()
	args := g.value()
	if len(g.args) > 0 && g.on("call twice") {
		i := g.rng.IntN(len(g.args))
		args = g.args[i]
		g.args = slices.Delete(g.args, i, i+1)  // not twice concurrently
		a.after = append(a.after, g.p.Steps...) // otherwise either of two equal calls could get either answer
	}
	g.making = append(g.making, args)
	meta := ""
	progress := g.on("progress")
	token := ""
	if progress {
		token = g.token()
		meta = `"_meta":{"progressToken":` + token + `},`
	}
	params := fmt.Sprintf(`{%s"name":"tool","arguments":{"n":%s}}`, meta, args)
	if g.modern() && progress {
		params = fmt.Sprintf(`{"name":"tool","arguments":{"n":%s}}`, args)
	}
	message := g.request(id, "tools/call", params)
	if g.modern() && progress {
		message = strings.Replace(message, `"_meta":{`, `"_meta":{"progressToken":`+token+`,`, 1)
	}
	f := a.post(message, "tools/call", "tool")
	said := false
	for range g.rng.IntN(3) {
		switch {
		case progress:
			f.say(g.notification("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%s}`, token, g.step())))
			said = true
		case g.on("log"):
			f.say(g.notification("notifications/message", `{"level":"info","data":`+g.value()+`}`))
			said = true
		}
	}
	if !g.modern() {
		g.questionsOn(f)
	} else if g.on("input_required chain") {
		f = g.chain(f, id, args)
		id, said = g.lastID(), false
	}
	g.conclude(a, f, id, said)
}

func (g *gen) step() string { g.number++; return fmt.Sprint(g.number) }

// conclude ends a call.
func (g *gen) conclude(a *act, f *flow, id string, said bool) {
	onHTTP := f.x != nil
	switch {
	case (said || !onHTTP) && (!g.modern() || !onHTTP) && g.on("cancel"):
		n := a.post(g.notification("notifications/cancelled", `{"requestId":`+id+`,"reason":"no more"}`), "notifications/cancelled", "")
		n.accepted()
		if onHTTP {
			f.end()
		}
	case said && onHTTP && g.on("hang-up"):
		a.add(&Step{Kind: hangUp, X: f.x})
	case onHTTP && g.eventIDs && g.on("resume"):
		g.resume(a, f, id)
	case said && onHTTP && g.on("abort mid-body"):
		f.a.add(&Step{Server: true, Kind: abort, X: f.x})
	case g.on("error"):
		f.finish(g.failure(id, -32000-g.rng.IntN(3), "it failed"))
	default:
		f.finish(g.result(id, `{"content":[{"type":"text","text":"`+g.step()+`"}],"structuredContent":{"v":`+g.value()+`}}`))
	}
}

// questionsOn adds server requests within a call.
func (g *gen) questionsOn(f *flow) {
	for _, q := range []struct{ feature, method, params, result string }{
		{"ping on the POST stream", "ping", "", "{}"},
		{"nested sampling", "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":` + g.step() + `}`, `{"role":"assistant","content":{"type":"text","text":"!"},"model":"m"}`},
		{"elicitation", "elicitation/create", `{"message":"which ` + g.step() + `?","requestedSchema":{"type":"object","properties":{}}}`, `{"action":"accept","content":{"n":` + g.step() + `}}`},
	} {
		if q.feature == "elicitation" && g.p.Revision < "2025-06-18" || !g.on(q.feature) {
			continue
		}
		id := fmt.Sprint(g.questions)
		g.questions++
		f.say(g.request(id, q.method, q.params))
		answer := g.result(id, q.result)
		if q.method != "ping" && g.on("refused question") {
			answer = g.failure(id, -1, "User rejected")
		}
		f.a.post(answer, "", "").accepted()
	}
}

// chain adds a call of 2026-07-28 that is answered after the client gave input.
func (g *gen) chain(f *flow, id, args string) *flow {
	state := "s-" + g.step()
	f.finish(g.result(id, `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"which?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"`+state+`"}`))
	params := fmt.Sprintf(`{"name":"tool","arguments":{"n":%s},"inputResponses":{"k":{"action":"accept","content":{}}},"requestState":"%s"}`, args, state)
	return f.a.post(g.request(g.id(), "tools/call", params), "tools/call", "tool")
}

// resume makes the server end the stream before the answer, and the client resume it.
func (g *gen) resume(a *act, f *flow, id string) {
	f.begin()
	if f.x.ids == 0 {
		f.a.add(f.event("", "")) // an event after which to resume
	}
	if g.on("retry") {
		f.a.add(f.event("", "10"))
	}
	f.end()
	last := fmt.Sprintf("{{event%d.%d}}", f.x.Number, f.x.ids)
	r := &flow{a: a}
	r.ask("GET", append(g.fields("GET", ""), "Last-Event-ID: "+last), "")
	r.x.Last = last
	r.respond("200 OK", "text/event-stream", true, "Cache-Control: no-cache")
	r.say(g.result(id, `{"content":[],"structuredContent":{"v":`+g.value()+`}}`))
	r.end()
}

// batch adds several messages in one batch.
func (g *gen) batch(a *act) {
	var asked, answers []string
	for range 1 + g.rng.IntN(3) {
		id := g.id()
		asked = append(asked, g.request(id, "tools/call", `{"name":"tool","arguments":{"n":`+g.value()+`}}`))
		answers = append(answers, g.result(id, `{"content":[],"structuredContent":{"v":`+g.value()+`}}`))
	}
	if g.rng.IntN(2) == 0 {
		asked = append(asked, g.notification("notifications/roots/list_changed", ""))
	}
	f := a.post("["+strings.Join(asked, ",")+"]", "", "")
	if g.rng.IntN(2) == 0 {
		g.rng.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	}
	if g.rng.IntN(2) == 0 {
		f.finish("[" + strings.Join(answers, ",") + "]")
		return
	}
	for _, m := range answers {
		f.say(m)
	}
	if f.x != nil {
		f.end()
	}
}

// garbage adds something that is not a message.
func (g *gen) garbage(a *act) {
	text := []string{"{not json", `"just a string"`, `{"jsonrpc":"2.0"}`, "\xff\xfe\x01", `[]`, `{"jsonrpc":"2.0","id":`}[g.rng.IntN(6)]
	if g.p.Transport == ws {
		text = strings.ToValidUTF8(text, "?")
	}
	if g.lines() && g.rng.IntN(2) == 0 { // from the server
		a.add(&Step{Server: true, Kind: send, Text: g.line("banner " + text)})
		return
	}
	f := a.post(text, "", "")
	switch {
	case f.x != nil:
		g.refuse(f, "400 Bad Request", g.failure("null", -32700, "Parse error"))
	case g.rng.IntN(2) == 0:
		f.say(g.failure("null", -32700, "Parse error"))
	}
}

// listen adds a subscription of 2026-07-28.
func (g *gen) listen(a *act) {
	id := g.id()
	f := a.post(g.request(id, "subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///`+g.step()+`"]}}`), "subscriptions/listen", "")
	meta := `{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
	f.say(g.notification("notifications/subscriptions/acknowledged", meta+`,"notifications":{"toolsListChanged":true}}`))
	meta += "}"
	for range g.rng.IntN(3) {
		f.say(g.notification("notifications/tools/list_changed", meta))
	}
	switch {
	case f.x != nil && g.on("hang-up"):
		a.add(&Step{Kind: hangUp, X: f.x})
	case f.x == nil && g.on("cancel"):
		a.post(g.notification("notifications/cancelled", `{"requestId":`+id+`}`), "notifications/cancelled", "").accepted()
	default:
		f.finish(g.result(id, meta))
	}
}

// changed adds an unsolicited notification of a change, and the list that the client then requests.
func (g *gen) changed(a *act) {
	news := g.notification("notifications/tools/list_changed", "")
	if g.lines() {
		a.add(&Step{Server: true, Kind: send, Text: g.line(news)})
	} else {
		g.onStanding(a, news)
	}
	if g.rng.IntN(2) == 0 {
		a.after = append(a.after, g.p.Steps...)
		a.post(g.request(g.id(), "tools/list", "{}"), "tools/list", "").
			finish(g.result(g.lastID(), `{"tools":[{"name":"tool","inputSchema":{"type":"object","title":`+fmt.Sprintf("%q", g.step())+`}}]}`))
	}
}

// twice adds two calls that are in flight with the same id.
func (g *gen) twice(a *act) {
	id := g.id()
	var flows []*flow
	for range 2 {
		message := g.request(id, "tools/call", `{"name":"tool","arguments":{"n":`+g.value()+`}}`)
		flows = append(flows, a.post(message, "tools/call", "tool"))
	}
	if g.rng.IntN(2) == 0 && !g.duplex() {
		flows[0], flows[1] = flows[1], flows[0]
	}
	for _, f := range flows {
		f.finish(g.result(id, `{"content":[],"structuredContent":{"v":`+g.value()+`}}`))
	}
}

// refused adds a request that is answered with a failure status.
func (g *gen) refused(a *act) {
	id := g.id()
	f := a.post(g.request(id, "tools/call", `{"name":"tool","arguments":{"n":`+g.value()+`}}`), "tools/call", "tool")
	status := []string{"400 Bad Request", "403 Forbidden", "404 Not Found", "429 Too Many Requests", "500 Internal Server Error"}[g.rng.IntN(5)]
	if strings.HasPrefix(status, "404") && g.named {
		status = "400 Bad Request" // 404 means that the session is over
	}
	if g.rng.IntN(2) == 0 {
		g.refuse(f, status, g.failure(id, -32000, "refused"))
		return
	}
	f.x.Refused = true
	f.respond(status, "text/html", false)
	f.content("<html>refused " + g.step() + "</html>\n")
}

// close ends a session.
func (g *gen) close() {
	if g.standing != nil {
		a := g.begin()
		a.number = g.opened.Act
		a.add(&Step{Kind: hangUp, X: g.standing})
		g.settle(a)
		g.standing = nil
	}
	if !g.named || g.p.Transport != streamable {
		return
	}
	a := g.begin()
	switch {
	case g.sessions < 2 && g.on("mid-session 404"):
		f := a.post(g.request(g.id(), "tools/call", `{"name":"tool","arguments":{"n":`+g.value()+`}}`), "tools/call", "tool")
		g.refuse(f, "404 Not Found", g.failure(g.lastID(), -32001, "Session not found"))
		g.more = true
	case g.on("DELETE"):
		f := &flow{a: a}
		f.ask("DELETE", g.fields("DELETE", ""), "")
		f.x.Refused = true
		if g.rng.IntN(3) == 0 {
			f.respond("405 Method Not Allowed", "", false)
		} else {
			f.respond("200 OK", "", false)
		}
		f.content("")
	}
	g.settle(a)
}

// last ends the plan.
func (g *gen) last() {
	if !g.lines() {
		return
	}
	a := g.begin()
	if g.p.Transport == stdio && g.on("no final newline") {
		a.add(&Step{Server: true, Kind: send, Text: `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"cut of`})
	}
	g.settle(a)
	a = g.begin()
	a.add(&Step{Kind: closeIn})
	g.settle(a.kept())
}
