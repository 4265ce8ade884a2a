package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// lockVersion is the version of the format of a [Lock].
const lockVersion = 1

// A Lock is what a server offers, in a form meant for review: object members are sorted, and
// definitions are sorted by name. A list is nil if it was not requested.
type Lock struct {
	Version      int    `json:"lock_version"`
	Server       string `json:"server,omitempty"` // its name
	Instructions string `json:"instructions,omitempty"`
	// Capabilities are those in the result of initialize, and Discovered those in the result of
	// server/discover: a server may legitimately declare different ones in each era.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Discovered   json.RawMessage `json:"discovered_capabilities,omitempty"`
	// Definitions are keyed by name, resources by URI, and templates by URI template.
	Tools     map[string]json.RawMessage `json:"tools,omitempty"`
	Prompts   map[string]json.RawMessage `json:"prompts,omitempty"`
	Resources map[string]json.RawMessage `json:"resources,omitempty"`
	Templates map[string]json.RawMessage `json:"resource_templates,omitempty"`

	partial map[string]bool // see Checker.partial
}

// pinned describes the lists of a lock: the word for an element, and the method.
var pinned = []struct {
	thing, method string
	of            func(*Lock) *map[string]json.RawMessage
}{
	{"tool", "tools/list", func(l *Lock) *map[string]json.RawMessage { return &l.Tools }},
	{"prompt", "prompts/list", func(l *Lock) *map[string]json.RawMessage { return &l.Prompts }},
	{"resource", "resources/list", func(l *Lock) *map[string]json.RawMessage { return &l.Resources }},
	{"resource template", "resources/templates/list", func(l *Lock) *map[string]json.RawMessage { return &l.Templates }},
}

// handshakes describes the capabilities of a lock: the methods whose results have them.
var handshakes = []struct {
	method string
	of     func(*Lock) *json.RawMessage
}{
	{"initialize", func(l *Lock) *json.RawMessage { return &l.Capabilities }},
	{"server/discover", func(l *Lock) *json.RawMessage { return &l.Discovered }},
}

// ReadLock reads a lock.
func ReadLock(data []byte) (*Lock, error) {
	var l Lock
	if err := readFile(data, &l, "lock", "`mcptap pin`", &l.Version, lockVersion); err != nil {
		return nil, err
	}
	for _, h := range handshakes {
		if declared := *h.of(&l); declared != nil && !jsonrpc.Value(declared).IsObject() {
			return nil, fmt.Errorf("not a lock: the capabilities of %s are not an object", h.method)
		}
	}
	for _, p := range pinned {
		for name, def := range *p.of(&l) {
			if !jsonrpc.Value(def).IsObject() {
				return nil, fmt.Errorf("not a lock: the definition of %s %q is not an object", p.thing, cut(name))
			}
		}
	}
	return &l, nil
}

// Encode returns the lock as indented JSON. Characters that are invisible in a review are
// escaped.
func (l *Lock) Encode() ([]byte, error) {
	line, err := escape.JSON(l)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, line, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}

// Empty reports whether there is nothing to pin.
func (l *Lock) Empty() bool {
	return l.Server == "" && l.Tools == nil && l.Prompts == nil && l.Resources == nil && l.Templates == nil
}

// Limits of the definitions that a [Checker] keeps to compare them with a lock.
const (
	// maxOffers limits the distinct definitions that are kept with the same name.
	maxOffers = 8
	// maxOffered limits the bytes of definitions that are kept.
	maxOffered = 32 << 20
)

// An offer is a definition that a server offered.
type offer struct {
	text   jsonrpc.Value
	digest [32]byte
	frame  uint64 // the last frame that has it
}

// Checker.offered holds the names and instructions of servers as the only definitions of lists
// with these names, and their capabilities as definitions named ofCapabilities in lists named
// by the methods of handshakes.
const (
	ofInstructions = "instructions"
	ofServer       = "server"
	ofCapabilities = "capabilities"
)

// offer records a definition in the result of a method, and drops the oldest if there are too
// many. It returns a copy, or nil if there is no room.
func (c *Checker) offer(frame uint64, method, name string, v jsonrpc.Value) jsonrpc.Value {
	if c.offered[method] == nil {
		c.offered[method] = map[string][]offer{}
	}
	all := c.offered[method][name]
	i := slices.IndexFunc(all, func(o offer) bool { return bytes.Equal(o.text, v) })
	var own [32]byte
	if i < 0 {
		own = digest(v) // the members may be in another order
		i = slices.IndexFunc(all, func(o offer) bool { return o.digest == own })
	}
	switch {
	case i >= 0:
		o := all[i]
		o.frame = frame
		c.offered[method][name] = append(slices.Delete(all, i, i+1), o)
		return o.text
	case len(v) > maxParams || c.offeredBytes+len(v) > maxOffered:
		c.dropped = true
		return nil
	case len(all) == maxOffers:
		c.dropped = true
		c.offeredBytes -= len(all[0].text)
		all = all[1:]
	}
	kept := append(jsonrpc.Value{}, v...)
	c.offeredBytes += len(v)
	c.offered[method][strings.Clone(name)] = append(all, offer{kept, own, frame})
	return kept
}

// Several calls f for each tool, prompt, resource and template, for the instructions, and for
// the capabilities of an era, if servers offered more than one version of it, with the frames
// of the versions. The last version is the one that is pinned.
func (c *Checker) Several(f func(thing string, versions int, frames []uint64)) {
	each := func(method, name, thing string) {
		if all := c.offered[method][name]; len(all) > 1 {
			var frames []uint64
			for _, o := range all {
				frames = append(frames, o.frame)
			}
			f(thing, len(all), slices.Compact(frames))
		}
	}
	for _, p := range pinned {
		for _, name := range slices.Sorted(maps.Keys(c.offered[p.method])) {
			each(p.method, name, fmt.Sprintf("%s %q", p.thing, name))
		}
	}
	each(ofInstructions, ofInstructions, ofInstructions)
	for _, h := range handshakes {
		each(h.method, ofCapabilities, "the capabilities in "+h.method)
	}
}

// Pin returns what the servers of all sessions offered in any list; of several versions of a
// definition, the last. It must be called after [Checker.Report].
func (c *Checker) Pin() *Lock {
	l, _ := c.version(0)
	for _, s := range c.sessions.All {
		if s.Facts != nil {
			l.Server = cmp.Or(s.Facts.Server.Name, l.Server)
		}
	}
	l.partial = c.partial
	return l
}

// version returns, for each name, the version offered turn versions before the last one. some
// reports whether there is any.
func (c *Checker) version(turn int) (l *Lock, some bool) {
	text := func(method, name string) jsonrpc.Value {
		v := c.offeredIn(method, name, turn).text
		some = some || v != nil
		return v
	}
	l = &Lock{Version: lockVersion, Server: whole(text(ofServer, ofServer)), Instructions: whole(text(ofInstructions, ofInstructions))}
	for _, h := range handshakes {
		if v := text(h.method, ofCapabilities); v != nil {
			*h.of(l) = canonical(v)
		}
	}
	for _, p := range pinned {
		if c.listed[p.method] == 0 {
			continue
		}
		*p.of(l) = map[string]json.RawMessage{}
		for name := range c.offered[p.method] {
			if v := text(p.method, name); v != nil {
				(*p.of(l))[name] = canonical(v)
			}
		}
	}
	return l, some
}

// Cut reports whether some definitions were dropped for lack of room.
func (c *Checker) Cut() bool { return c.cut }

// Keep adds the lists and capabilities of an older lock that were not requested this time, and
// the definitions of incomplete lists. It returns the methods of what it added.
func (l *Lock) Keep(old *Lock) (kept []string) {
	for _, h := range handshakes {
		if now, before := h.of(l), *h.of(old); *now == nil && before != nil {
			*now = before
			kept = append(kept, h.method)
		}
	}
	for _, p := range pinned {
		now, before := p.of(l), *p.of(old)
		switch {
		case *now == nil && before != nil:
			*now = before
			kept = append(kept, p.method)
		case l.partial[p.method]:
			for name, def := range before {
				if _, ok := (*now)[name]; !ok {
					(*now)[name] = def
				}
			}
			kept = append(kept, p.method)
		}
	}
	return kept
}

// Changes describes how a lock differs from an older one, as in `tool "add" changed`, in the
// order of lists and names.
func (l *Lock) Changes(old *Lock) (changes []string) {
	for _, p := range pinned {
		before, after := *p.of(old), *p.of(l)
		all := map[string]json.RawMessage{}
		maps.Copy(all, before)
		maps.Copy(all, after)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			was, is := before[name], after[name]
			switch {
			case was == nil:
				changes = append(changes, fmt.Sprintf("%s %q added", p.thing, name))
			case is == nil:
				changes = append(changes, fmt.Sprintf("%s %q removed", p.thing, name))
			case !bytes.Equal(canonical(jsonrpc.Value(was)), canonical(jsonrpc.Value(is))):
				changes = append(changes, fmt.Sprintf("%s %q changed", p.thing, name))
			}
		}
	}
	changed := l.Server != old.Server || l.Instructions != old.Instructions
	for _, h := range handshakes {
		changed = changed || !bytes.Equal(canonical(jsonrpc.Value(*h.of(l))), canonical(jsonrpc.Value(*h.of(old))))
	}
	if changed {
		changes = append(changes, "the name, instructions or capabilities changed")
	}
	return changes
}

// Missing returns the methods of lists that the server declared but that were not requested, or
// not to the end.
func (l *Lock) Missing() (methods []string) {
	for _, p := range pinned {
		capability, _, _ := strings.Cut(p.method, "/")
		declared := jsonrpc.Value(l.Capabilities).Get(capability) != nil || jsonrpc.Value(l.Discovered).Get(capability) != nil
		if l.partial[p.method] || *p.of(l) == nil && p.method != "resources/templates/list" && declared {
			methods = append(methods, p.method)
		}
	}
	return methods
}

// decode reads a value, with its numbers as written.
func decode(v []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	return d.Decode(into)
}

// canonical returns a value with sorted members, without changing a number.
func canonical(v jsonrpc.Value) json.RawMessage {
	var tree any
	if decode(v, &tree) != nil {
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
		Fix:    "Review the new definition and pin it with --update-lock. If a list is missing, record a session that requests it.",
	},
}

// Compare compares everything that the servers offered with a lock, and adds the findings. If
// locked is set, what is not pinned or could not be compared violates pin-03 with class Must.
// It must be called before [Checker.Report].
func (c *Checker) Compare(lock *Lock, locked bool) error {
	now := c.Pin()
	method := "" // of the list that is compared
	at := func(rule *Rule, frame uint64) *Verdict {
		return &Verdict{Judgement: c.results.of(rule), results: c.results, frame: frame, method: method}
	}
	removed, changed, added := Lookup("pin-01"), Lookup("pin-02"), Lookup("pin-03")
	unpinned := Observation
	if locked {
		unpinned = Must
	}
	uncompared := func(v *Verdict, subject, why string) {
		if locked {
			v.violate(Must, subject, "", why)
		} else {
			v.Skip(why)
		}
	}
	for _, p := range pinned {
		method = p.method
		path := "$.result." + lists[p.method].member
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
		newNames := map[string]bool{}
		for _, name := range renamed {
			newNames[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(old)) {
			switch _, ok := offered[name]; {
			case ok:
				at(removed, frame).Hold()
			case c.partial[p.method]:
				uncompared(at(removed, frame), p.method, "the list is not complete")
			case renamed[name] != "":
				at(removed, frame).Violate(name, path, fmt.Sprintf("the %s seems to be named %q now: the definitions differ only in the name", p.thing, renamed[name]))
			default:
				at(removed, frame).Violate(name, path, "the "+p.thing+" was removed")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(offered)) {
			_, pinned := old[name]
			frame := c.frameOf(p.method, name, 0)
			switch {
			case pinned:
				at(added, frame).Hold()
			case !newNames[name]:
				at(added, frame).violate(unpinned, name, path, "the "+p.thing+" is not pinned")
			}
		}
	}
	method = ""
	if c.cut || c.dropped {
		uncompared(at(changed, c.last), "", notCompared)
	}
	if now.Server == "" && now.Capabilities == nil && now.Discovered == nil {
		now.Instructions = lock.Instructions
		if locked {
			at(added, c.last).violate(Must, "initialize", "", "the recording has no result of it")
		}
	}
	now.Server = cmp.Or(now.Server, lock.Server) // 2026-07-28 does not require a name
	for _, h := range handshakes {
		switch now, pinned := h.of(now), *h.of(lock); {
		case *now == nil:
			*now = pinned // the recording does not show this era
		case pinned == nil:
			at(added, c.frameOf(h.method, ofCapabilities, 0)).violate(unpinned, h.method, "$.result.capabilities", "the capabilities are not pinned")
		}
	}
	differ := false
	for turn, some := 0, true; some; {
		found, err := compareDefinitions(lock, now, func(list, name string) *Verdict {
			method = list
			return at(changed, c.frameOf(list, name, turn))
		})
		if err != nil {
			return err
		}
		differ = differ || found
		turn++
		now, some = c.version(turn)
		now.Server, now.Instructions = cmp.Or(now.Server, lock.Server), cmp.Or(now.Instructions, lock.Instructions)
	}
	if !differ {
		at(changed, c.listed["tools/list"]).Hold()
	}
	return nil
}

const notCompared = "too many or too large definitions to compare all of them"

// offeredIn returns the definition with a name that was offered turn versions before the last,
// zero if there is none.
func (c *Checker) offeredIn(method, name string, turn int) offer {
	all := c.offered[method][name]
	if turn >= len(all) {
		return offer{}
	}
	return all[len(all)-1-turn]
}

// frameOf returns the frame of a definition: see offeredIn.
func (c *Checker) frameOf(method, name string, turn int) uint64 {
	if o := c.offeredIn(method, name, turn); o.frame != 0 {
		return o.frame
	}
	return c.listed[method]
}

// renames returns the new names of definitions that differ only in their names.
func renames(old, offered map[string]json.RawMessage) map[string]string {
	renamed, byContent := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if _, ok := old[name]; !ok {
			byContent[withoutName(offered[name])] = name
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
	var members map[string]any
	if decode(def, &members) != nil {
		return string(def)
	}
	for _, name := range []string{"name", "uri", "uriTemplate", "title"} {
		delete(members, name)
	}
	b, _ := json.Marshal(members)
	return string(b)
}

// compareDefinitions compares the definitions and capabilities that both locks have. It reports
// whether any differ.
func compareDefinitions(lock, now *Lock, at func(method, name string) *Verdict) (differ bool, err error) {
	differ, err = compareSessions(lock, now, "initialize", at)
	if err != nil || lock.Discovered == nil || now.Discovered == nil {
		return differ, err
	}
	more, err := compareSessions(&Lock{Capabilities: lock.Discovered}, &Lock{Capabilities: now.Discovered}, "server/discover", at)
	return differ || more, err
}

// compareSessions compares what both locks have using package diff, which knows the meaning of
// a change. handshake is the method whose result has the capabilities.
func compareSessions(lock, now *Lock, handshake string, at func(method, name string) *Verdict) (differ bool, err error) {
	old, err := lock.session("lock", now)
	if err != nil {
		return false, err
	}
	offered, err := now.session("recording", lock)
	if err != nil {
		return false, err
	}
	report, err := diff.Compare(old, offered, diff.Options{})
	if err != nil {
		return false, err
	}
	for _, d := range report.Differences {
		method := d.Method
		subject, path := namedElement(d.Path)
		name := subject
		switch {
		case path == "$.server.info.name":
			method, subject, name = ofServer, ofServer, ofServer
		case path == "$.server.instructions":
			method, subject, name = ofInstructions, ofInstructions, ofInstructions
		case strings.HasPrefix(path, "$.server.capabilities"):
			method, subject, name = handshake, handshake, ofCapabilities
		}
		v, words := at(method, name), changeWords(&d)
		if subject == "" {
			subject = d.Method
		}
		if d.Class <= diff.Expected {
			v.Observe(subject, path, words)
		} else {
			v.violate(Must, subject, path, words)
		}
	}
	return len(report.Differences) > 0, nil
}

// namedElement returns the name in a path such as $.result.tools["a"].description, or "", and
// the path with * in place of the name.
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
		text = change(changedText(d))
	}
	if d.Reason != "" {
		text = d.Reason + ": " + text
	}
	return text
}

// changedText returns the texts that differ: the values, or the first differing lines of long
// texts.
func changedText(d *diff.Difference) (old, now string) {
	join := func(pieces []jsontree.Piece) string {
		var b strings.Builder
		for _, p := range pieces {
			if b.WriteString(p.Text); p.LeftOut > 0 {
				b.WriteString("…")
			}
		}
		return b.String()
	}
	for _, r := range d.Rows {
		if !r.Same {
			return join(r.Old), join(r.New)
		}
	}
	return d.Old, d.New
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
		err = errors.Join(err, call(p.method, struct{}{}, map[string]any{lists[p.method].member: list}))
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
