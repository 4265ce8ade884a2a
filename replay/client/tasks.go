package client

import (
	"fmt"
	"strings"
	"time"
)

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
	if p.voice.crosses && p.voice.modern() {
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
	if p.voice.crosses && !p.voice.modern() && p.gone == nil {
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
