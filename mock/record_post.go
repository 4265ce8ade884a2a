package mock

import (
	"crypto/rand"
	"net/http"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxOpen is how many POSTs may wait for answers.
const maxOpen = 1024

// ServeHTTP implements [http.Handler].
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := headOf(r)
	deadline(w)
	post := r.Method == http.MethodPost && r.URL.Path == f.Path()
	// A message is guarded when it has been read.
	if !post && f.srv.refuses(w, r, f.srv.conditions(&head, &replay.Claim{})&always, nil) {
		return
	}
	switch {
	case post:
		f.post(w, r, &head)
	case r.URL.Path == f.Path() && r.Method == http.MethodGet:
		f.get(w, r, &head)
	case r.URL.Path == f.Path() && r.Method == http.MethodDelete:
		if f.mayEnter(w, r, &head) {
			f.end()
		}
	default:
		f.srv.page(w, r, &head)
	}
}

// A refusal is why a message is not taken: for a circumstance, or by a status and in
// words.
type refusal struct {
	why    replay.Condition
	status int
	text   string
}

// post takes a message.
func (f *Front) post(w http.ResponseWriter, r *http.Request, head *replay.Head) {
	var p posted
	if !p.read(w, r, head) {
		return
	}
	if f.srv.refuses(w, r, f.srv.conditions(head, &p.claim), &p) {
		return
	}
	a, no := f.admit(&p, head)
	switch {
	case no == nil:
	case no.why != 0:
		f.srv.refuse(w, r, no.why, &p)
		return
	default:
		http.Error(w, "mcptap mock: "+no.text, no.status)
		return
	}
	_, err := f.in.Write(appendLine(nil, p.raw))
	switch {
	case a != nil: // if the session is over, that is the answer
		f.run(&reply{w: w, r: r, srv: f.srv, x: a.x, modern: p.modern, method: p.claim.Method}, a, 0)
	case err != nil:
		f.srv.refuse(w, r, replay.OverSession, &p)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// admit takes a message into the session, and returns what its POST waits for, nil for
// nothing; or why it is not taken.
func (f *Front) admit(p *posted, head *replay.Head) (*answers, *refusal) {
	a, no := p.waits(head)
	if no != nil {
		return nil, no
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if no := f.entry(p, head); no != nil {
		return nil, no
	}
	if len(a.owed) == 0 {
		return nil, nil
	}
	if len(f.open) >= maxOpen {
		return nil, &refusal{status: http.StatusServiceUnavailable, text: "too many requests are open"}
	}
	for id := range a.owed {
		if f.owed[id] != nil {
			return nil, &refusal{status: http.StatusConflict, text: "a request with this id is open; one client is recorded at a time"}
		}
	}
	for id := range a.owed {
		f.owed[id] = a
	}
	for _, token := range a.tokens {
		f.tokens[token] = a
	}
	if f.stateless = p.modern; a.opens {
		f.id = rand.Text()
	}
	f.open = append(f.open, a)
	a.x.reading = true
	f.handDown(a)
	return a, nil
}

// handDown gives a POST what waits for a GET that is not there. The caller holds the
// lock.
func (f *Front) handDown(a *answers) {
	from := f.standing.x
	if a.modern || a.listens || from.reading || len(from.pieces) == 0 {
		return
	}
	a.x.form = formEvents
	a.x.pieces, a.x.waiting = from.pieces, from.waiting
	from.drop()
	from.waiting = 0
	a.x.signal()
}

// waits is what the POST of a message waits for.
func (p *posted) waits(head *replay.Head) (*answers, *refusal) {
	all := p.message.Batch
	if p.message.Kind != jsonrpc.Batch {
		all = []jsonrpc.Message{p.message}
	}
	if len(all) == 0 || len(all) >= jsonrpc.MaxBatch {
		return nil, &refusal{status: http.StatusBadRequest, text: "a batch of no message, or of too many"}
	}
	a := newAnswers()
	a.opens, a.modern = p.claim.Method == "initialize" && !p.modern, p.modern
	a.listens = p.claim.Method == "subscriptions/listen"
	for i := range all {
		m := &all[i]
		if m.Kind == jsonrpc.Invalid || m.Kind == jsonrpc.Other || m.Kind == jsonrpc.Request && (len(m.ID) == 0 || a.owed[string(m.ID)]) {
			return nil, &refusal{status: http.StatusBadRequest, text: "this is no JSON-RPC message"}
		}
		if m.Kind != jsonrpc.Request {
			continue
		}
		a.owed[string(m.ID)] = true
		if token := replay.Value(m.Params, "_meta", "progressToken"); token != nil {
			a.tokens = append(a.tokens, string(token))
		}
	}
	if head.Accept == "" || len(a.owed) == 0 {
		return a, nil
	}
	if !head.Accepts("text/event-stream") {
		return nil, &refusal{status: http.StatusNotAcceptable, text: "the client does not take an event stream"}
	}
	if !head.Accepts("application/json") {
		a.x.form = formEvents
	}
	return a, nil
}

// entry says why a message does not belong to the session, nil if it does (2025-11-25
// basic/transports#session-management). The caller holds the lock.
func (f *Front) entry(p *posted, head *replay.Head) *refusal {
	begins := p.claim.Method == "initialize" && !p.modern
	switch {
	case begins && (f.id != "" || f.over):
		return &refusal{status: http.StatusConflict,
			text: "one session is recorded in a run, and there has been an initialize; start mcptap again for another"}
	case f.over, !p.modern && !begins && head.Session != "" && head.Session != f.id:
		return &refusal{why: replay.OverSession}
	case !p.modern && !begins && head.Session == "" && f.id != "":
		return &refusal{why: replay.NoSession}
	}
	return nil
}

// mayEnter reports whether a GET or a DELETE belongs to the session, and answers it
// otherwise.
func (f *Front) mayEnter(w http.ResponseWriter, r *http.Request, head *replay.Head) bool {
	f.mu.Lock()
	id, over := f.id, f.over
	f.mu.Unlock()
	switch {
	case head.Modern(), id == "" && head.Session == "":
		f.srv.page(w, r, head)
	case head.Session == "":
		f.srv.refuse(w, r, replay.NoSession, nil)
	case over, head.Session != id:
		f.srv.refuse(w, r, replay.OverSession, nil)
	default:
		return true
	}
	return false
}

// get opens the stream for what belongs to no request. A second reader takes the place
// of the first.
func (f *Front) get(w http.ResponseWriter, r *http.Request, head *replay.Head) {
	if !f.mayEnter(w, r, head) {
		return
	}
	if head.Accept != "" && !head.Accepts("text/event-stream") {
		http.Error(w, "mcptap mock: the client does not take an event stream", http.StatusNotAcceptable)
		return
	}
	f.mu.Lock()
	x := f.standing.x
	x.turn++
	x.reading = true
	turn := x.turn
	x.signal()
	f.mu.Unlock()
	p := &reply{w: w, r: r, srv: f.srv, x: x}
	p.begin()
	f.run(p, f.standing, turn)
}

// run writes what comes until nothing more does, or the client is gone.
func (f *Front) run(p *reply, a *answers, turn int) {
	defer f.leave(a, turn)
	for {
		events, over := f.take(a, turn)
		deadline(p.w)
		for _, e := range events {
			if id := f.given(a); id != "" && !p.begun {
				p.w.Header().Set("Mcp-Session-Id", id)
			}
			if !p.piece(e) {
				return
			}
		}
		switch {
		case over && len(events) == 0:
			return
		case over:
			continue
		}
		select {
		case <-a.x.wake:
		case <-p.r.Context().Done():
			return
		}
	}
}

// given is the session id that the answer to an initialize gives out.
func (f *Front) given(a *answers) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !a.opens {
		return ""
	}
	return f.id
}
