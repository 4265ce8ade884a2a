package client

import (
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A news is something that the server says and that is no answer: of which method,
// and of progress, of which call.
type news struct {
	method string
	call   session.Ref
}

const methodProgress = "notifications/progress"

// expect notes that something had been heard by now in the recording. The progress of
// a call that has its answer comes no more.
func (p *player) expect(s *step) {
	n := news{method: s.method}
	if s.method == methodProgress {
		if n.call = s.call; p.closed(s.call) {
			return
		}
	}
	before := p.due[n]
	if p.due[n] += int(s.times); before <= 0 && p.due[n] > 0 {
		p.behind++
	}
}

// heard counts something that came and is no answer.
func (p *player) heard(m *jsonrpc.Message) {
	n := news{method: m.Method}
	if m.Method == methodProgress {
		call, ok := p.tokens[idKey(string(lookup(m.Params, "progressToken")))]
		if !ok || p.waits[call] == 0 {
			return
		}
		n.call = call
	}
	if p.due[n]--; p.due[n] == 0 {
		p.behind--
	}
}

// over forgets what was expected of a call.
func (p *player) over(call session.Ref) {
	n := news{methodProgress, call}
	if p.due[n] > 0 {
		p.behind--
	}
	delete(p.due, n)
}

// catchUp waits until all that had been heard by now in the recording was heard, or
// the patience ends.
func (p *player) catchUp() {
	if p.behind <= 0 {
		return
	}
	if p.until(func() bool { return p.behind <= 0 }, p.patient) {
		p.patient = p.opt.Patience
		return
	}
	p.patient /= 2
	for n, count := range p.due {
		if count > 0 {
			delete(p.due, n)
		}
	}
	p.behind = 0
}
