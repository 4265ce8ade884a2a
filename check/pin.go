package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// LockVersion is the version of the format of a [Lock].
const LockVersion = 1

// A Lock is what a server offers, in a form that is made to be reviewed: object members are
// sorted, and definitions are sorted by name. A list is nil if it was not requested.
type Lock struct {
	Version      int             `json:"lock_version"`
	Server       string          `json:"server,omitempty"` // its name
	Instructions string          `json:"instructions,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	// The definitions are by name, those of resources by URI and of templates by URI template.
	Tools     map[string]json.RawMessage `json:"tools,omitempty"`
	Prompts   map[string]json.RawMessage `json:"prompts,omitempty"`
	Resources map[string]json.RawMessage `json:"resources,omitempty"`
	Templates map[string]json.RawMessage `json:"resource_templates,omitempty"`
}

// pinned are the lists of a lock: the word for an element, the method, the member of its
// result and the key of an element.
var pinned = []struct {
	thing, method, member string
	of                    func(*Lock) *map[string]json.RawMessage
	seen                  func(*Session) map[string]jsonrpc.Value
}{
	{"tool", "tools/list", "tools", func(l *Lock) *map[string]json.RawMessage { return &l.Tools }, func(s *Session) map[string]jsonrpc.Value { return s.Tools }},
	{"prompt", "prompts/list", "prompts", func(l *Lock) *map[string]json.RawMessage { return &l.Prompts }, func(s *Session) map[string]jsonrpc.Value { return s.Prompts }},
	{"resource", "resources/list", "resources", func(l *Lock) *map[string]json.RawMessage { return &l.Resources }, func(s *Session) map[string]jsonrpc.Value { return s.Resources }},
	{"resource template", "resources/templates/list", "resourceTemplates", func(l *Lock) *map[string]json.RawMessage { return &l.Templates }, func(s *Session) map[string]jsonrpc.Value { return s.Templates }},
}

// ReadLock reads a lock.
func ReadLock(data []byte) (*Lock, error) {
	var l Lock
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("not a lock, which `mcptap pin` makes: %w", err)
	}
	switch {
	case d.More():
		return nil, errors.New("not a lock: more follows after its end")
	case l.Version == 0:
		return nil, errors.New("no lock_version: not a lock of mcptap")
	case l.Version > LockVersion:
		return nil, fmt.Errorf("lock_version %d is newer than this mcptap", l.Version)
	}
	return &l, nil
}

// Encode returns the lock as indented JSON.
func (l *Lock) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(l)
	return b.Bytes(), err
}

// Empty reports whether there is nothing to pin.
func (l *Lock) Empty() bool {
	return l.Server == "" && l.Tools == nil && l.Prompts == nil && l.Resources == nil && l.Templates == nil
}

// Pin returns what the servers of all sessions offer. Of a list, the last that was requested
// counts. It is called after [Checker.Report].
func (c *Checker) Pin() *Lock {
	l := &Lock{Version: LockVersion}
	for _, s := range c.sessions.All {
		if s.Facts != nil && s.Facts.Server.Name != "" {
			l.Server = s.Facts.Server.Name
		}
		if s.Instructions != "" {
			l.Instructions = s.Instructions
		}
		if s.Server != nil {
			l.Capabilities = canonical(s.Server)
		}
		for _, p := range pinned {
			if seen := p.seen(s); seen != nil {
				defs := map[string]json.RawMessage{}
				for name, v := range seen {
					defs[name] = canonical(v)
				}
				*p.of(l) = defs
			}
		}
	}
	return l
}

// Cut reports whether there was no room for all definitions.
func (c *Checker) Cut() bool { return c.cut }

// Keep adds the lists of an older lock that were not requested now, and returns the methods for
// them.
func (l *Lock) Keep(old *Lock) (kept []string) {
	for _, p := range pinned {
		if *p.of(l) == nil && *p.of(old) != nil {
			*p.of(l) = *p.of(old)
			kept = append(kept, p.method)
		}
	}
	return kept
}

// canonical returns a value with sorted members, without changing a number.
func canonical(v jsonrpc.Value) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return json.RawMessage("null")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(tree) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// rulesPin compare a recording with a lock. They are judged by [Checker.Compare].
var rulesPin = []Rule{
	{
		ID: "pin-01", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text:   "What is pinned is offered, under the same name.",
		Source: "mcptap.lock",
		Fix:    "Restore it, or review the change and pin it with --update-lock.",
	},
	{
		ID: "pin-02", Class: "must", In: "A-E", Side: "server", Transport: "any",
		Text:   "What is pinned has the same definition. A change that only people see is an observation.",
		Source: "mcptap.lock",
		Fix:    "Review the change: what was approved is not what runs. Pin it with --update-lock.",
	},
	{
		ID: "pin-03", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "What is offered is pinned. It must be if --locked is set.",
		Source: "mcptap.lock",
		Fix:    "Review the new definition and pin it with --update-lock.",
	},
}

// Compare compares what the servers offer with a lock, and adds the findings. With locked,
// what is not pinned violates pin-03 as a must. It is called before [Checker.Report].
func (c *Checker) Compare(lock *Lock, locked bool) error {
	now := c.Pin()
	at := func(rule *Rule, frame uint64) *Verdict {
		return &Verdict{rule: rule, results: c.results, frame: frame}
	}
	removed, changed, added := Lookup("pin-01"), Lookup("pin-02"), Lookup("pin-03")
	for _, p := range pinned {
		old, offered, frame := *p.of(lock), *p.of(now), c.listed[p.method]
		if offered == nil {
			switch {
			case old == nil:
			case locked:
				at(added, c.last).violate(Must, p.method, "", "the recording has no result of it")
			default:
				at(removed, 0).Skip("the recording has no " + p.method)
			}
			continue
		}
		renamed := renames(old, offered)
		for _, name := range slices.Sorted(maps.Keys(old)) {
			switch _, ok := offered[name]; {
			case ok:
				at(removed, frame).Hold()
			case renamed[name] != "":
				at(removed, frame).Violate(name, "$.result."+p.member, fmt.Sprintf("the %s is now named %q", p.thing, renamed[name]))
			default:
				at(removed, frame).Violate(name, "$.result."+p.member, "the "+p.thing+" was removed")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(offered)) {
			_, pinned := old[name]
			switch {
			case pinned:
				at(added, frame).Hold()
			case slices.Contains(slices.Collect(maps.Values(renamed)), name):
			case locked:
				at(added, frame).violate(Must, name, "$.result."+p.member, "the "+p.thing+" is not pinned")
			default:
				at(added, frame).Violate(name, "$.result."+p.member, "the "+p.thing+" is not pinned")
			}
		}
	}
	return c.compareDefinitions(lock, now, func(method string) *Verdict { return at(changed, c.listed[method]) })
}

// renames returns the new names of definitions that are equal but for their names.
func renames(old, offered map[string]json.RawMessage) map[string]string {
	renamed, byContent := map[string]string{}, map[string]string{}
	for name, def := range offered {
		if _, ok := old[name]; !ok {
			byContent[withoutName(def)] = name
		}
	}
	for name, def := range old {
		if _, ok := offered[name]; !ok {
			if to := byContent[withoutName(def)]; to != "" {
				renamed[name] = to
			}
		}
	}
	return renamed
}

func withoutName(def json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(def, &members) != nil {
		return string(def)
	}
	for _, name := range []string{"name", "uri", "uriTemplate", "title"} {
		delete(members, name)
	}
	b, _ := json.Marshal(members)
	return string(b)
}

// compareDefinitions compares the definitions that both sides have, with the engine that
// compares sessions, which knows the meaning of a change.
func (c *Checker) compareDefinitions(lock, now *Lock, at func(method string) *Verdict) error {
	old, err := lock.session("lock", now)
	if err != nil {
		return err
	}
	offered, err := now.session("recording", lock)
	if err != nil {
		return err
	}
	report, err := diff.Compare(old, offered, diff.Options{})
	if err != nil {
		return err
	}
	if len(report.Differences) == 0 {
		at("tools/list").Hold()
	}
	for _, d := range report.Differences {
		v, words := at(d.Method), changeWords(&d)
		subject, path := namedElement(d.Path)
		if subject == "" {
			subject = d.Method
		}
		if d.Class <= diff.Expected {
			v.Observe(subject, path, words)
		} else {
			v.violate(Must, subject, path, words)
		}
	}
	return nil
}

// namedElement returns the name in a path such as $.result.tools["a"].description, "" if it has
// none, and the path with * in its place.
func namedElement(path string) (name, generic string) {
	before, after, ok := strings.Cut(path, `["`)
	if !ok {
		return "", path
	}
	d := json.NewDecoder(strings.NewReader(`"` + after))
	if d.Decode(&name) != nil {
		return "", path
	}
	return name, before + "[*" + after[d.InputOffset()-1:]
}

// changeWords describes a change.
func changeWords(d *diff.Difference) string {
	text := d.What
	if text == "" {
		text = d.Old + " → " + d.New
	}
	if d.Reason != "" {
		text = d.Reason + ": " + text
	}
	return text
}

// session returns a session in which a client requests the definitions that both locks have.
func (l *Lock) session(name string, other *Lock) (*diff.Session, error) {
	var frames []tap.Frame
	add := func(lane tap.Lane, m map[string]any) error {
		m["jsonrpc"] = "2.0"
		raw, err := json.Marshal(m)
		frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), Lane: lane, Raw: append(raw, '\n'), Size: int64(len(raw) + 1)})
		return err
	}
	call := func(method string, params, result any) error {
		id := len(frames)
		return errors.Join(add(tap.ToServer, map[string]any{"id": id, "method": method, "params": params}),
			add(tap.ToClient, map[string]any{"id": id, "result": result}))
	}
	capabilities := l.Capabilities
	if capabilities == nil || other.Capabilities == nil {
		capabilities = json.RawMessage("{}")
	}
	hello := map[string]any{
		"protocolVersion": jsonrpc.Rev20251125, "capabilities": capabilities, "serverInfo": map[string]string{"name": l.Server, "version": ""},
	}
	if l.Instructions != "" {
		hello["instructions"] = l.Instructions
	}
	err := call("initialize", map[string]any{
		"protocolVersion": jsonrpc.Rev20251125, "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "mcptap", "version": "1"},
	}, hello)
	for _, p := range pinned {
		mine, theirs := *p.of(l), *p.of(other)
		if mine == nil || theirs == nil {
			continue
		}
		list := []json.RawMessage{}
		for _, name := range slices.Sorted(maps.Keys(mine)) {
			if _, ok := theirs[name]; ok {
				list = append(list, mine[name])
			}
		}
		err = errors.Join(err, call(p.method, struct{}{}, map[string]any{p.member: list}))
	}
	var tracker session.Tracker
	s := diff.NewSession(name, func(seq uint64) (tap.Frame, error) { return frames[seq-1], nil })
	for i := range frames {
		e := tracker.Add(&frames[i])
		s.Add(e, false)
		for _, ended := range e.Ended {
			s.Over(ended)
		}
	}
	s.End()
	return s, err
}
