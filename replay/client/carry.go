package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/replay"
)

// metaPrefix begins the members of _meta that are the protocol's own.
const (
	metaPrefix  = "io.modelcontextprotocol/"
	metaVersion = metaPrefix + "protocolVersion"
	metaTask    = metaPrefix + "related-task"
)

// The kinds of values that a server makes up and the client repeats.
const (
	kindCursor = "cursor "
	kindTask   = "task "
	kindState  = "state "
)

// A place is where a request repeats such a value, in its params.
type place struct {
	kind string
	in   []string
}

var carried = []place{
	{kindCursor, []string{"cursor"}},
	{kindTask, []string{"taskId"}},
	{kindTask, []string{"_meta", metaTask, "taskId"}},
	{kindState, []string{"requestState"}},
}

// A word is a value that an answer gives out.
type word struct{ kind, word string }

// words are those of a result (server/utilities/pagination; 2025-11-25
// basic/utilities/tasks; 2026-07-28 basic/patterns/mrtr).
func words(result []byte) (all []word) {
	o, ok := readObject(result)
	if !ok {
		return nil
	}
	add := func(kind string, raw []byte) {
		if s, ok := textOf(raw); ok {
			all = append(all, word{kind, strings.Clone(s)})
		}
	}
	add(kindCursor, o.get("nextCursor"))
	add(kindState, o.get("requestState"))
	add(kindTask, o.get("taskId"))
	add(kindTask, lookup(o.get("task"), "taskId"))
	return all
}

// A liveValues is what has become of the values that were recorded, by kind and value.
type liveValues map[string]string

// learn ties the values of a recorded result to those of the live one.
func (x liveValues) learn(recorded, live []byte) {
	was := words(recorded)
	if len(was) == 0 {
		return
	}
	now := map[string]string{}
	for _, w := range words(live) {
		now[w.kind] = w.word
	}
	for _, w := range was {
		if value, ok := now[w.kind]; ok {
			x[w.kind+w.word] = value
		} else if _, known := x[w.kind+w.word]; !known {
			x[w.kind+w.word] = gone
		}
	}
}

// gone stands for a value that the live server did not give out. No value of its own
// can be mistaken for it: those are valid UTF-8.
const gone = "\xff"

// carry puts the live values into the params of a request. Lacks is the kind of a
// value that there is none for.
func (x liveValues) carry(params []byte) (out []byte, lacks string) {
	if len(x) == 0 {
		return params, ""
	}
	for _, p := range carried {
		was, ok := textOf(lookup(params, p.in...))
		if !ok {
			continue
		}
		now, ok := x[p.kind+was]
		switch {
		case ok && now == gone:
			return params, strings.TrimSpace(p.kind)
		case ok && now != was:
			params = replay.Rewrite(params, quoted(now), p.in...)
		}
	}
	return params, ""
}

// longestPoll is the longest time between two polls of a task that is kept at any
// pace, and shortestPoll the shortest between two that were not recorded.
const (
	longestPoll  = time.Second
	shortestPoll = 20 * time.Millisecond
)

// isPoll reports whether a request is about a task.
func isPoll(method string) bool { return strings.HasPrefix(method, "tasks/") }

// terminal reports whether a task with this status has ended.
func terminal(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// seeThrough polls a task until it has ended, if it had in the recording, since the
// live one may take longer; and asks for its result where that does not come with the
// poll.
func (p *player) seeThrough(n int) {
	a := &p.plan.asks[n]
	if !a.final || p.asks[n] != answered {
		return
	}
	m, err := p.load(a.ref)
	if err != nil {
		return
	}
	params, _ := p.values.carry(m.Params)
	if p.target.crosses && p.target.modern() {
		params = p.withMeta(params)
	}
	id, _ := textOf(lookup(params, "taskId"))
	interval := shortestPoll
	for waited := time.Duration(0); !p.ended[id] && p.gone == nil && p.ctx.Err() == nil; waited += interval {
		if waited > a.took+p.opt.Timeout {
			p.note(NoteTimeout, a, "the task of "+p.name(a)+" did not end in time")
			return
		}
		p.until(func() bool { return false }, interval)
		interval = min(2*interval, longestPoll)
		result := p.own("tasks/get", params)
		status, ok := textOf(lookup(result, "status"))
		if !ok || terminal(status) {
			p.ended[id] = true
		}
	}
	if p.target.crosses && !p.target.modern() && p.gone == nil {
		// In 2026-07-28 the poll has brought it.
		p.own("tasks/result", fmt.Appendf(nil, `{"taskId":%s}`, quoted(id)))
	}
}

// withoutTask leaves out that the client wants a task, which is its wish in 2025-11-25
// alone.
func withoutTask(params []byte) []byte {
	o, ok := readObject(params)
	if !ok || o.get("task") == nil {
		return params
	}
	return o.without(func(name string) bool { return name == "task" }).bytes()
}
