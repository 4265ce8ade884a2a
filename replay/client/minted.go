package client

import (
	"strings"

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

// A minted is what has become of the values that were recorded, by kind and value.
type minted map[string]string

// learn ties the values of a recorded result to those of the live one.
func (x minted) learn(recorded, live []byte) {
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
func (x minted) carry(params []byte) (out []byte, lacks string) {
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
