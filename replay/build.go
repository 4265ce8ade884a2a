package replay

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Builder makes a [Script] from the frames of one session.
type Builder struct {
	s     *Script
	keyer keyer
	// behind is the trigger that the next server message waits for, beforeEnd its value when
	// the client's lane ended.
	behind, beforeEnd uint32
	seq               uint64 // of the last frame that made a trigger
	// listens are the subscriptions by id. tasks are the server requests for which the client
	// created a task, by task id.
	listens, tasks map[string]uint32
	// waiting are the unanswered requests, other than polls, of calls with several requests,
	// by the first request of the call. gates are the last client answers among their steps.
	waiting, gates map[uint32]uint32
	// signal reports that a signal ended the server, left that its lane ended.
	signal, left bool
	responses    map[string]*Response
}

// NewBuilder returns a Builder for a script whose sessions use the given options.
func NewBuilder(opt Options) *Builder {
	if opt.GateTimeout == 0 {
		opt.GateTimeout = DefaultGateTimeout
	}
	s := &Script{
		opt: opt, triggers: make([]trigger, 1), steps: make([]step, 1), implied: map[string]bool{}, orphans: map[string]bool{},
		index: index{map[Key][]uint32{}, map[string][]uint32{}}, eras: eras{by: map[uint32]string{}},
	}
	return &Builder{
		s: s, keyer: newKeyer(&opt), listens: map[string]uint32{}, tasks: map[string]uint32{},
		waiting: map[uint32]uint32{}, gates: map[uint32]uint32{}, responses: map[string]*Response{},
	}
}

// An Exchange is a recorded exchange of Streamable HTTP. The caller sets the exported fields.
type Exchange struct {
	Number uint64
	// Method, Target and Head are those of the request.
	Method, Target string
	Head           Head
	// Page reports that it belongs to no session, Inbound that the server's messages are sent
	// on another stream, as in HTTP+SSE.
	Page, Inbound bool
	Claim         Claim // of the first message of the request

	carrier  uint32 // the first trigger of the request, 0 for none so far
	response Response
	body     []byte // of the request, if it is not a message
}

const methodListen = "subscriptions/listen"

// maxPageKey is the number of bytes of a body without a message that are used for matching.
const maxPageKey = 4 << 10

// Add adds the next frame of the session, which must be complete. The builder keeps no
// reference to it. x is the exchange of the frame, nil if one stream carries everything or the
// head of the exchange was not recorded.
func (b *Builder) Add(e *session.Entry, x *Exchange) {
	f, m := e.Frame, &e.Message
	switch {
	case f.Lane == tap.Lifecycle && x != nil:
		b.http(f, &e.Event, x)
		return
	case f.Lane == tap.Lifecycle:
		b.event(f, &e.Event)
		return
	case f.Lane == tap.Stderr, x == nil && (m.Kind == jsonrpc.Other && f.Form != tap.FormEvent || e.Replays > 0):
		return
	case e.Facts != nil:
		b.s.facts = *e.Facts
	}
	if x != nil && f.Lane == tap.ToServer && (m.Kind == jsonrpc.Other || m.Kind == jsonrpc.Invalid && x.Page) {
		x.body = append(x.body, f.Raw[:min(len(f.Raw), max(0, maxPageKey-len(x.body)))]...)
		return
	}
	kept := *f
	kept.Raw = bytes.Clone(f.Raw)
	a := arriving{f: &kept, http: x, line: f.Form == tap.FormLine, repeats: e.Replays > 0, raw: kept.Raw, whole: kept.Raw}
	if f.Form == tap.FormEvent {
		a.raw = jsonrpc.Payload(&kept)
	}
	switch {
	case f.Lane == tap.ToClient && (x != nil && f.Truncated || m.Kind == jsonrpc.Other):
		b.data(&a)
	case m.Kind == jsonrpc.Batch && len(m.Batch) > 0:
		b.batch(&a, m, e.Parts)
	default:
		a.m, a.part = m, &e.Parts[0]
		b.message(&a)
	}
}

// An arriving is a message that is being added.
type arriving struct {
	f    *tap.Frame
	http *Exchange
	m    *jsonrpc.Message
	part *session.Part
	// raw is the message, whole the event or the body that contains it.
	raw, whole []byte
	batch      *batch
	line       bool // raw is a line, with its terminator
	repeats    bool // the frame repeats an earlier one
}

// batch adds the messages of a batch one by one.
func (b *Builder) batch(a *arriving, m *jsonrpc.Message, parts []session.Part) {
	all := &batch{raw: a.raw, line: a.line, first: uint32(len(b.s.steps))}
	if a.f.Form == tap.FormEvent {
		all.whole = a.whole
	}
	for i, e := range elements(all.raw, len(parts)) {
		a.m, a.part, a.raw, a.whole, a.line, a.batch = &m.Batch[i], &parts[i], slices.Clip(e.Raw()), nil, false, all
		b.message(a)
	}
	all.last = uint32(len(b.s.steps) - 1)
}

func (b *Builder) message(a *arriving) {
	if a.f.Lane == tap.ToServer {
		b.client(a)
	} else {
		b.server(a)
	}
}

// event adds a lifecycle event of the run.
func (b *Builder) event(f *tap.Frame, e *tap.Event) {
	ref := session.Ref{Seq: f.Seq}
	switch {
	case f.Exchange != 0:
	case e.Name == tap.EventSignal:
		b.signal = true
	case e.Name == tap.EventEOF && e.Lane == tap.ToServer.String():
		if b.s.end == 0 && !b.left {
			b.beforeEnd = b.behind
			b.s.end = b.trigger(trigger{at: f.At, ref: ref, kind: triggerEnd})
		}
	case e.Name == tap.EventEOF && e.Lane == tap.ToClient.String():
		// A server whose lane ends before the client's ended the session, unless a signal
		// killed it. Events without By come from connections, not from processes.
		if b.s.end == 0 && !b.signal && !b.left {
			b.hang(step{at: f.At, ref: ref, kind: stepLeave, abort: e.By == "" || e.Error != ""})
		}
		b.left = true
	}
}

// http adds a lifecycle event of an exchange.
func (b *Builder) http(f *tap.Frame, e *tap.Event, x *Exchange) {
	ref := session.Ref{Seq: f.Seq}
	if e.Name == tap.EventEnd && x.response.Status != 202 {
		for t := x.carrier; t != 0 && int(t) < len(b.s.triggers) && b.s.triggers[t].exchange == x.Number; t++ {
			b.s.triggers[t].over = true
		}
	}
	switch {
	case e.Name == tap.EventRequest:
		// The trigger of a POST is its message. A head that became known late would be out
		// of order among the triggers.
		if x.Method != "POST" && f.Seq > b.seq {
			b.bare(f, x)
		}
	case e.Name == tap.EventResponse && e.Status >= 200 && e.Status < 1000:
		if x.carrier == 0 {
			b.bare(f, x)
		}
		x.response = ReadResponse(e)
		b.respond(x)
		if t := &b.s.triggers[x.carrier]; e.Status >= 400 && x.Head.Length > int64(len(t.raw)) && len(x.body) == 0 &&
			(t.kind == triggerBare || t.kind == triggerInvalid) {
			b.s.index.add(earlyKey(x.Head.Length), x.carrier)
		}
		b.own(x.carrier, step{at: f.At, ref: ref, kind: stepHead})
	case e.Name == tap.EventEnd && x.carrier != 0 && e.By != "client" && !e.HalfClosed:
		if e.Error != "" {
			b.respond(x)
		}
		b.own(x.carrier, step{at: f.At, ref: ref, kind: stepEnd, abort: e.Error != ""})
	}
}

// bare adds the trigger of an HTTP request without a message.
func (b *Builder) bare(f *tap.Frame, x *Exchange) {
	behind := b.behind
	x.carrier = b.trigger(trigger{
		at: f.At, ref: session.Ref{Seq: f.Seq}, kind: triggerBare, exchange: x.Number,
		opens: x.Method == "GET", deletes: x.Method == "DELETE",
	})
	b.s.triggers[x.carrier].carrier = x.carrier
	if x.Method != "DELETE" {
		b.behind = behind // nothing waits for a stream to be opened
	}
	keys := bareKeys(x.Method, x.Target, x.Head.LastEventID, x.body)
	if x.Page {
		keys = keys[:2]
	}
	for i, key := range keys {
		if !slices.Contains(keys[:i], key) {
			b.s.index.add(key, x.carrier)
		}
	}
	if key, ok := invalidKey(x.body); ok && !x.Page && len(x.body) < maxPageKey {
		b.s.index.add(key, x.carrier) // for transports with one stream
	}
}

// bareKeys returns the keys of a request without a message, strictest first: two with the
// whole target, two with only its path, two without either.
func bareKeys(method, target, lastEvent string, body []byte) (keys []Key) {
	path, _, _ := strings.Cut(target, "?")
	for _, of := range []string{target, path, ""} {
		for _, text := range []string{string(bytes.TrimSpace(body)), ""} {
			keys = append(keys, newKey('b', strings.Join([]string{method, of, lastEvent, text}, "\x00")))
		}
	}
	return keys
}

// earlyKey returns the key of a message that the server refused before receiving it. Only its
// length is known.
func earlyKey(length int64) Key { return newKey('l', strconv.FormatInt(length, 10)) }

// respond stores the head of a response. Equal heads share one copy. The recorded length of the
// body matters only if the response was cut off.
func (b *Builder) respond(x *Exchange) {
	r, t := x.response, &b.s.triggers[x.carrier]
	if t.response == nil {
		r.Length = min(r.Length, 0)
	}
	name := fmt.Sprintf("%d %d %t %t %q", r.Status, r.Length, r.Date, r.Session, r.Header)
	if b.responses[name] == nil {
		b.responses[name] = &r
	}
	t.response = b.responses[name]
}

// data adds bytes of a response that are not a message: those of a page, of an event without
// data, or of a message that was cut off.
func (b *Builder) data(a *arriving) {
	st := step{at: a.f.At, ref: session.Ref{Seq: a.f.Seq}, kind: stepData, raw: a.whole, form: a.f.Form}
	switch {
	case a.http == nil: // on the one stream of HTTP+SSE
		b.hang(st)
	case a.http.carrier != 0:
		b.own(a.http.carrier, st)
	}
}

// Refuse removes the request of an exchange that the server refused because of its head. Its
// response is available as a [Refusal].
func (b *Builder) Refuse(x *Exchange) {
	for t := x.carrier; t != 0 && int(t) < len(b.s.triggers) && b.s.triggers[t].exchange == x.Number; t++ {
		t := &b.s.triggers[t]
		if t.kind == triggerRequest {
			b.s.requests--
		}
		t.kind = triggerRefused
	}
	if b.s.opening != 0 && b.s.triggers[b.s.opening].kind == triggerRefused {
		b.s.opening = 0
	}
	for b.behind > 0 && b.s.triggers[b.behind].kind == triggerRefused {
		b.behind--
	}
}

// lateIndex is the index of an event that became known late. It sorts after everything known
// earlier, because triggers and steps are found by binary search.
const lateIndex = math.MaxUint16

// trigger adds a trigger.
func (b *Builder) trigger(t trigger) uint32 {
	n := uint32(len(b.s.triggers))
	if t.ref.Seq < b.seq {
		t.ref = session.Ref{Seq: b.seq, Index: lateIndex}
	}
	b.s.triggers = append(b.s.triggers, t)
	b.behind, b.seq = n, t.ref.Seq
	return n
}

// own adds a step to the steps of a trigger.
func (b *Builder) own(n uint32, st step) {
	t := &b.s.triggers[n]
	b.step(n, st, &t.first, &t.lastStep)
}

// hang adds a step that belongs to no call: it hangs off the last trigger.
func (b *Builder) hang(st step) {
	t := &b.s.triggers[b.behind]
	b.step(b.behind, st, &t.hang, &t.lastHang)
}

// step adds a step at the end of a list of trigger t.
func (b *Builder) step(t uint32, st step, first, last *uint32) {
	n := uint32(len(b.s.steps))
	st.trigger, st.after = t, max(b.behind, t)
	if before := b.s.steps[n-1].ref.Seq; st.ref.Seq < before {
		st.ref = session.Ref{Seq: before, Index: lateIndex}
	}
	b.s.steps = append(b.s.steps, st)
	if *last != 0 {
		b.s.steps[*last].next = n
	} else {
		*first = n
	}
	*last = n
}

// current returns the request to which the next message of t's call belongs: the one that
// waits for an answer, or else the last.
func (b *Builder) current(t uint32) uint32 {
	root := b.s.triggers[t].call
	if waiting := b.waiting[root]; waiting != 0 {
		return waiting
	}
	if last := b.s.triggers[root].lastInCall; last != 0 {
		return last
	}
	return root
}

// carrier returns the trigger whose steps include the answer to t.
func (b *Builder) carrier(t uint32) uint32 {
	if carrier := b.s.triggers[t].carrier; carrier != 0 {
		return carrier
	}
	return t
}

// Script returns the script. The Builder must not be used afterwards.
func (b *Builder) Script() *Script {
	s := b.s
	s.eras.finish(&s.facts)
	s.matched = b.keyer.matched
	b.s = nil
	return s
}
