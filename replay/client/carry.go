package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Members of _meta.
const (
	metaVersion = jsonrpc.MetaPrefix + "protocolVersion"
	metaTask    = jsonrpc.MetaPrefix + "related-task"
)

// The kinds of values that a server chooses and the client repeats.
const (
	kindCursor = "cursor "
	kindTask   = "task "
	kindState  = "state "
)

// carried are the members of params that repeat such values.
var carried = []struct {
	kind string
	in   []string
}{
	{kindCursor, []string{"cursor"}},
	{kindTask, []string{"taskId"}},
	{kindTask, []string{"_meta", metaTask, "taskId"}},
	{kindState, []string{"requestState"}},
}

// A word is such a value in a result.
type word struct{ kind, word string }

// words returns those of a result (server/utilities/pagination; 2025-11-25
// basic/utilities/tasks; 2026-07-28 basic/patterns/mrtr).
func words(result []byte) (all []word) {
	add := func(kind string, names ...string) {
		if s, ok := textOf(lookup(result, names...)); ok {
			all = append(all, word{kind, s})
		}
	}
	add(kindCursor, "nextCursor")
	add(kindState, "requestState")
	add(kindTask, "taskId")
	add(kindTask, "task", "taskId")
	return all
}

// liveValues maps recorded values, with their kinds, to live ones.
type liveValues map[string]string

// learn maps the values of a recorded result to those of the live one, nil for none.
func (x liveValues) learn(recorded, live []byte) {
	now := map[string]string{}
	for _, w := range words(live) {
		now[w.kind] = w.word
	}
	for _, w := range words(recorded) {
		value, ok := now[w.kind]
		if _, known := x[w.kind+w.word]; !ok && known {
			continue
		}
		switch {
		case ok:
		case live != nil && w.kind == kindCursor:
			value = ended
		default:
			value = gone
		}
		x[w.kind+w.word] = value
	}
}

// gone stands for a value that the live server did not send, ended for the cursor of a list
// that has fewer pages than the recorded one. They are not valid UTF-8, as all values of a
// server are.
const (
	gone  = "\xff"
	ended = "\xfe"
)

// carry replaces recorded values in params by live ones. Lacks is the kind of a value that
// the live server did not send, "" for none, or ended.
func (x liveValues) carry(params []byte) (out []byte, lacks string) {
	for _, p := range carried {
		was, ok := textOf(lookup(params, p.in...))
		if !ok {
			continue
		}
		now, ok := x[p.kind+was]
		switch {
		case ok && now == gone:
			return params, strings.TrimSpace(p.kind)
		case ok && now == ended:
			return params, ended
		case ok && now != was:
			params = replay.Rewrite(params, quoted(now), p.in...)
		}
	}
	return params, ""
}

// longestPoll is the longest recorded time between two polls of a task that is kept at any
// pace. shortestPoll is the shortest time between two polls that were not recorded.
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

// finishTask polls a task until it has ended, if it had in the recording, since the live one
// may take longer. It asks for the result if that does not come with the poll.
func (p *player) finishTask(n int) {
	a := &p.plan.requests[n]
	if !a.final || p.progress[n] != answered {
		return
	}
	params, err := p.params(a)
	if err != nil {
		return
	}
	id, _ := textOf(lookup(params, "taskId"))
	interval := shortestPoll
	for waited := time.Duration(0); !p.ended[id] && p.gone == nil && p.ctx.Err() == nil; waited += interval {
		if waited > a.took+p.opt.Timeout {
			p.note(NoteTimeout, a, "the task of "+p.name(a)+" did not end in time")
			return
		}
		p.wait(interval)
		interval = min(2*interval, longestPoll)
		result := p.call("tasks/get", params)
		status, ok := textOf(lookup(result, "status"))
		if !ok || terminal(status) {
			p.ended[id] = true
		}
	}
	if p.target.crosses && !p.target.modern() && p.gone == nil { // in 2026-07-28 the poll has the result
		p.call("tasks/result", fmt.Appendf(nil, `{"taskId":%s}`, quoted(id)))
	}
}

// maxPages is the maximum number of pages of a list that are read beyond the recorded ones.
const maxPages = 1000

// finishList reads the rest of a list if the recorded client read it to its end, since the live
// one may have more pages.
func (p *player) finishList(n int) {
	a := &p.plan.requests[n]
	cursor := p.cursors[n]
	delete(p.cursors, n)
	for range maxPages {
		if _, more := textOf(cursor); !more || p.gone != nil || p.ctx.Err() != nil {
			return
		}
		params, err := p.params(a)
		if err != nil {
			return
		}
		cursor = lookup(p.call(a.method, replay.Rewrite(params, cursor, "cursor")), "nextCursor")
	}
}

// withoutTask removes the request for a task, which is specific to 2025-11-25.
func withoutTask(params []byte) []byte {
	if lookup(params, "task") == nil {
		return params
	}
	o, _ := readObject(params)
	return o.without(func(name string) bool { return name == "task" }).bytes()
}

// An object is a JSON object whose members keep their order and their bytes.
type object []member

// A member is a decoded name and a value in JSON.
type member struct {
	name  string
	value []byte
}

// request returns the request that an entry of inputRequests describes.
func (m member) request() *jsonrpc.Message {
	method, _ := textOf(lookup(m.value, "method"))
	return &jsonrpc.Message{Kind: jsonrpc.Request, Method: method, Params: lookup(m.value, "params")}
}

// readObject reads an object; ok is false for any other value.
func readObject(raw []byte) (o object, ok bool) {
	v := jsonrpc.Value(raw)
	if !v.IsObject() {
		return nil, false
	}
	v.Each(func(name []byte, value jsonrpc.Value) bool {
		o = append(o, member{string(name), value})
		return true
	})
	return o, true
}

// set replaces the value of a member, or appends one.
func (o object) set(name string, value []byte) object {
	for i := range slices.Backward(o) {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

// without returns the object without some members.
func (o object) without(drop func(name string) bool) object {
	return slices.DeleteFunc(o, func(m member) bool { return drop(m.name) })
}

// bytes returns the object as JSON.
func (o object) bytes() []byte {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(m.name)...), ':'), m.value...)
	}
	return append(out, '}')
}

// textOf decodes a JSON string.
func textOf(raw []byte) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// quoted encodes a JSON string.
func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// texts returns the strings of an array.
func texts(raw []byte) (all []string) {
	jsonrpc.Value(raw).Each(func(_ []byte, x jsonrpc.Value) bool {
		if s, ok := textOf(x); ok {
			all = append(all, s)
		}
		return true
	})
	return all
}

// lookup returns the value at a path of member names, nil for none.
func lookup(raw []byte, names ...string) []byte { return jsonrpc.Value(raw).Get(names...) }
