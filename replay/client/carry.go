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

// A serverValue is such a value in a result.
type serverValue struct{ kind, text string }

// serverValues returns those of a result (server/utilities/pagination; 2025-11-25
// basic/utilities/tasks; 2026-07-28 basic/patterns/mrtr).
func serverValues(result []byte) (all []serverValue) {
	add := func(kind string, names ...string) {
		if s, ok := textOf(lookup(result, names...)); ok {
			all = append(all, serverValue{kind, s})
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

// learn maps the values of a recorded result to those of the live one, which is nil if there is
// none.
func (x liveValues) learn(recorded, live []byte) {
	now := map[string]string{}
	for _, w := range serverValues(live) {
		now[w.kind] = w.text
	}
	for _, w := range serverValues(recorded) {
		value, ok := now[w.kind]
		if _, known := x[w.kind+w.text]; !ok && known {
			continue
		}
		switch {
		case ok:
		case live != nil && w.kind == kindCursor:
			value = ended
		default:
			value = gone
		}
		x[w.kind+w.text] = value
	}
}

// gone stands for a value that the live server did not send, ended for the cursor of a list that
// has fewer pages than the recorded one. They cannot clash with server values, which are valid
// UTF-8.
const (
	gone  = "\xff"
	ended = "\xfe"
)

// carry replaces recorded values in params by live ones. lacks is the kind of a value that the
// live server did not send, or ended, or "" for none.
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

// longestPoll limits the recorded time between two polls of a task that is kept even at a faster
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

// finishTask polls a task until it has ended, if it had ended in the recording, since the live
// task may take longer. It requests the result if the poll does not return it.
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

// maxPages is the maximum number of pages of a list that are read in addition to the recorded
// ones.
const maxPages = 1000

// finishList reads the rest of a list if the recorded client read the list to its end, since the
// live one may have more pages.
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

// withoutTask removes the member task, which requests a task and is specific to 2025-11-25.
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

// without returns the object without the members that drop selects.
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
