package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Builder makes a [Script] of the frames of one session.
type Builder struct {
	s     *Script
	keyer keyer
	// off is how much is in the spool, which several may share.
	off *uint64
	// lasts are, for each trigger, the last of its own steps, hangs that of the steps
	// which hang on it.
	lasts, hangs []uint32
	// behind is the last trigger that what the server sends next waits for, beforeEnd that
	// before the client's end.
	behind, beforeEnd uint32
	// seq is the number of the last frame that made a trigger.
	seq uint64
	// listens are the subscriptions by their ids, tasks the steps of requests of
	// which the client made a task, by the task.
	listens, tasks map[string]uint32
	// waiting are, of the calls with several requests, those requests that wait for
	// an answer and are no polls, by the first.
	waiting map[uint32]uint32
	// gates are the last answers of the client's among the steps of such requests.
	gates map[uint32]uint32
	// signal reports that the server was ended from outside, left that its lane is
	// over.
	signal, left bool
	responses    map[string]uint32
}

// ErrTooLarge reports that a recording has more messages, or a larger one, than a
// script can hold.
var ErrTooLarge = errors.New("the recording is too large to be played")

// limits of what a script can count.
const (
	maxMessages = math.MaxUint32 - 1
	maxSize     = math.MaxInt32
)

// NewBuilder begins a script. The options bind its sessions too. The messages go
// into the spool, nil for one in memory.
func NewBuilder(opt Options, spool Spool) *Builder {
	if opt.GateTimeout == 0 {
		opt.GateTimeout = DefaultGateTimeout
	}
	if spool == nil {
		spool = &Memory{}
	}
	return newBuilder(opt, spool, new(uint64))
}

func newBuilder(opt Options, spool Spool, off *uint64) *Builder {
	s := &Script{
		opt: opt, spool: spool, triggers: make([]trigger, 1), steps: make([]step, 1), responses: make([]Response, 1),
		batches: map[uint64]batch{}, asked: map[uint32]answer{}, needed: map[uint32]uint32{}, shows: map[string]bool{},
		index: index{map[key][]uint32{}, map[string][]uint32{}}, eras: eras{by: map[uint32]string{}},
	}
	return &Builder{
		s: s, keyer: newKeyer(&opt), off: off, lasts: make([]uint32, 1), hangs: make([]uint32, 1),
		listens: map[string]uint32{}, tasks: map[string]uint32{}, waiting: map[uint32]uint32{}, gates: map[uint32]uint32{},
		responses: map[string]uint32{},
	}
}

// The methods of HTTP that say what a request is for.
const (
	methodGet    = "GET"
	methodPost   = "POST"
	methodDelete = "DELETE"
)

// Another begins the script of another session of the same recording: with the same
// options, and in the same spool.
func (b *Builder) Another() *Builder { return newBuilder(b.s.opt, b.s.spool, b.off) }

// An Exchange is one of Streamable HTTP on its way into a script. The caller sets the
// exported fields.
type Exchange struct {
	Number uint64
	// Method and Target are those of its request, Head what its fields say. Page reports that
	// it belongs to no session, Inbound that what the server sends comes elsewhere, as in
	// HTTP+SSE.
	Method, Target string
	Head           Head
	Page, Inbound  bool
	// Claim is what the first message of its request claims.
	Claim Claim

	// carrier is the first trigger that its request made, 0 for none so far; response the head
	// of its response; body what its request carries that is no message.
	carrier  uint32
	response Response
	body     []byte
}

// Add takes the next frame of the session, which must be whole. It keeps nothing of it. X
// is the frame's exchange, nil where one stream carries everything, and where an
// exchange has no head.
//
// The error is [ErrTooLarge], or that of the spool.
func (b *Builder) Add(e *session.Entry, x *Exchange) error {
	f, m := e.Frame, &e.Message
	switch {
	case f.Lane == tap.Lifecycle && x != nil:
		b.http(f, &e.Event, x)
		return nil
	case f.Lane == tap.Lifecycle:
		b.event(f, &e.Event)
		return nil
	case f.Lane == tap.Stderr, x == nil && (m.Kind == jsonrpc.Other && f.Form != tap.FormEvent || e.Replays > 0):
		return nil
	case len(f.Raw) > maxSize || len(b.s.steps)+len(m.Batch)+2 > maxMessages || len(b.s.triggers)+len(m.Batch)+2 > maxMessages:
		return fmt.Errorf("frame %d: %w", f.Seq, ErrTooLarge)
	case e.Facts != nil:
		b.s.facts = *e.Facts
	}
	a := arriving{f: f, http: x, line: f.Form == tap.FormLine, repeats: e.Replays > 0}
	if x != nil && f.Lane == tap.ToServer && (m.Kind == jsonrpc.Other || m.Kind == jsonrpc.Invalid && x.Page) {
		x.body = append(x.body, f.Raw[:min(len(f.Raw), max(0, maxPageKey-len(x.body)))]...)
		return nil
	}
	if err := b.keep(&a); err != nil {
		return err
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
	return nil
}

// maxPageKey is how much of a body that is no message counts when its request is matched.
const maxPageKey = 4 << 10

// An arriving is a message on its way into the script.
type arriving struct {
	f    *tap.Frame
	http *Exchange
	m    *jsonrpc.Message
	part *session.Part
	// raw is the message, place where it went, and whole where the event or the body is
	// that it came in.
	raw          []byte
	place, whole place
	// line reports that raw is a line of stdio, repeats that the frame was sent once before.
	line, repeats bool
}

// keep puts the bytes of a frame into the spool. Where the data of an event is in several
// lines, the message that they make is put behind it.
func (b *Builder) keep(a *arriving) (err error) {
	f := a.f
	a.raw = jsonrpc.Payload(f)
	if a.whole, err = b.put(f, f.Raw); err != nil {
		return err
	}
	a.place = a.whole
	if f.Form != tap.FormEvent {
		return nil
	}
	if at := bytes.Index(f.Raw, a.raw); at >= 0 {
		a.place = a.whole.part(span{at, at + len(a.raw)})
		return nil
	}
	a.place, err = b.put(f, a.raw)
	return err
}

func (b *Builder) put(f *tap.Frame, raw []byte) (place, error) {
	p := place{off: *b.off, size: uint32(len(raw))}
	n, err := b.s.spool.Write(raw)
	if *b.off += uint64(n); err != nil {
		return p, fmt.Errorf("keep frame %d: %w", f.Seq, err)
	}
	return p, nil
}

// batch takes the messages of a batch one by one.
func (b *Builder) batch(a *arriving, m *jsonrpc.Message, parts []session.Part) {
	frame := a.raw
	first := len(b.s.steps)
	all := batch{place: a.place, whole: a.whole, line: a.line}
	if a.f.Form != tap.FormEvent {
		all.whole = place{}
	}
	for i, at := range elements(frame, len(parts)) {
		a.m, a.part, a.raw, a.place, a.whole, a.line = &m.Batch[i], &parts[i], at.of(frame), all.place.part(at), place{}, false
		b.message(a)
	}
	if a.f.Lane != tap.ToClient {
		return
	}
	for i := first; i < len(b.s.steps); i++ {
		b.s.steps[i].flags |= stepBatched
	}
	all.first, all.last = uint32(first), uint32(len(b.s.steps)-1)
	b.s.batches[a.f.Seq] = all
}

func (b *Builder) message(a *arriving) {
	if a.f.Lane == tap.ToServer {
		b.client(a)
	} else {
		b.server(a)
	}
}

// event takes what the tap saw of the run.
func (b *Builder) event(f *tap.Frame, e *tap.Event) {
	switch {
	case f.Exchange != 0:
	case e.Name == tap.EventSignal:
		b.signal = true
	case e.Name == tap.EventEOF && e.Lane == tap.ToServer.String():
		if b.s.end == 0 && !b.left {
			b.beforeEnd = b.behind
			b.s.end = b.trigger(trigger{at: f.At, seq: f.Seq, kind: triggerEnd})
		}
	case e.Name == tap.EventEOF && e.Lane == tap.ToClient.String():
		// A server that ends while the client is still there leaves by itself,
		// unless a signal ended it.
		if b.s.end == 0 && !b.signal && !b.left {
			leave := step{at: f.At, seq: f.Seq, kind: stepLeave}
			if e.By == "" || e.Error != "" { // it is no response that ends
				leave.flags = stepAbort
			}
			b.hang(leave)
		}
		b.left = true
	}
}

// http takes what the tap saw of an exchange.
func (b *Builder) http(f *tap.Frame, e *tap.Event, x *Exchange) {
	switch {
	case e.Name == tap.EventRequest:
		// The request of a POST is what it carries. A head that was known late has no
		// place among the triggers any more.
		if x.Method != methodPost && f.Seq > b.seq {
			b.bare(f, x)
		}
	case e.Name == tap.EventResponse && e.Status >= 200 && e.Status < 1000:
		if x.carrier == 0 {
			b.bare(f, x)
		}
		x.response = ReadResponse(e)
		b.respond(x)
		if t := &b.s.triggers[x.carrier]; e.Status >= 400 && x.Head.Length > int64(t.place.size) && len(x.body) == 0 &&
			(t.kind == triggerBare || t.kind == triggerInvalid) {
			b.s.index.add(earlyKey(x.Head.Length), x.carrier)
		}
		b.own(x.carrier, step{at: f.At, seq: f.Seq, kind: stepHead})
	case e.Name == tap.EventEnd && x.carrier != 0 && e.By != "client" && !e.HalfClosed:
		st := step{at: f.At, seq: f.Seq, kind: stepEnd}
		if e.Error != "" {
			st.flags |= stepAbort
			b.respond(x)
		}
		b.own(x.carrier, st)
	}
}

// bare adds the trigger of a request that carries no message.
func (b *Builder) bare(f *tap.Frame, x *Exchange) {
	behind := b.behind
	x.carrier = b.trigger(trigger{at: f.At, seq: f.Seq, kind: triggerBare, exchange: x.Number, opens: x.Method == methodGet, deletes: x.Method == methodDelete})
	b.s.triggers[x.carrier].carrier = x.carrier
	if x.Method != methodDelete {
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
		b.s.index.add(key, x.carrier) // where one stream carries everything
	}
}

// bare are the keys of a request without a message, the strictest first: those of a page,
// and then those of what belongs to a session, wherever that is.
func bareKeys(method, target, lastEvent string, body []byte) []key {
	path, _, _ := strings.Cut(target, "?")
	text := string(bytes.TrimSpace(body))
	of := func(target, body string) key {
		return newKey('b', strings.Join([]string{method, target, lastEvent, body}, "\x00"))
	}
	return []key{of(target, text), of(target, ""), of(path, text), of(path, ""), of("", text), of("", "")}
}

// earlyKey is the key of a message that the server refused before all of it had come: its
// length is all that is known of it.
func earlyKey(length int64) key { return newKey('l', strconv.FormatInt(length, 10)) }

// respond keeps the head of an exchange's response, once for all that are the same. How
// long the body was to be matters only where it was broken off.
func (b *Builder) respond(x *Exchange) {
	r := x.response
	if t := &b.s.triggers[x.carrier]; t.response == 0 {
		r.Length = min(r.Length, 0)
	}
	name := fmt.Sprintf("%d %d %t %t %q", r.Status, r.Length, r.Date, r.Session, r.Header)
	n, ok := b.responses[name]
	if !ok {
		n = uint32(len(b.s.responses))
		b.s.responses, b.responses[name] = append(b.s.responses, r), n
	}
	b.s.triggers[x.carrier].response = n
}

// data adds bytes of a response that are no message: those of a page, an event without
// data, or what came of a message before the stream broke.
func (b *Builder) data(a *arriving) {
	if a.http == nil { // on the stream for everything of HTTP+SSE
		b.hang(step{at: a.f.At, seq: a.f.Seq, kind: stepData, place: a.whole, form: a.f.Form})
		return
	}
	if a.http.carrier == 0 {
		return // nothing was asked for
	}
	b.own(a.http.carrier, step{at: a.f.At, seq: a.f.Seq, kind: stepData, place: a.whole, form: a.f.Form})
}

// Refuse takes the request of an exchange back: the server refused it for something that
// is not in the message. What it answered is in [Script.Static].
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

// lateIndex is the index of what carries no message and was known late: it comes behind
// what was known before, as triggers and steps are found by their order.
const lateIndex = math.MaxUint16

// trigger adds a trigger.
func (b *Builder) trigger(t trigger) uint32 {
	n := uint32(len(b.s.triggers))
	if t.seq < b.seq {
		t.seq, t.index = b.seq, lateIndex
	}
	b.s.triggers = append(b.s.triggers, t)
	b.lasts, b.hangs = append(b.lasts, 0), append(b.hangs, 0)
	b.behind, b.seq = n, t.seq
	return n
}

// own adds a step to those of a trigger.
func (b *Builder) own(t uint32, st step) uint32 {
	n := b.step(t, st)
	b.link(n, &b.s.triggers[t].first, &b.lasts[t])
	return n
}

// link puts a step at the end of a list.
func (b *Builder) link(n uint32, first, last *uint32) {
	if *last != 0 {
		b.s.steps[*last].next = n
	} else {
		*first = n
	}
	*last = n
}

// hang adds a step that hangs on the last trigger.
func (b *Builder) hang(st step) uint32 {
	st.flags |= stepHangs
	t := b.behind
	n := b.step(t, st)
	b.link(n, &b.s.triggers[t].hang, &b.hangs[t])
	return n
}

func (b *Builder) step(t uint32, st step) uint32 {
	st.trigger, st.after = t, max(b.behind, t)
	if last := &b.s.steps[len(b.s.steps)-1]; st.seq < last.seq {
		st.seq, st.index = last.seq, lateIndex
	}
	b.s.steps = append(b.s.steps, st)
	return uint32(len(b.s.steps) - 1)
}

// current is the request that something belongs to which belongs to the call of a
// request: the one that waits for an answer, or the last one so far.
func (b *Builder) current(t uint32) uint32 {
	root := b.s.triggers[t].call
	if waiting := b.waiting[root]; waiting != 0 {
		return waiting
	}
	if again := b.s.triggers[root].again; again != 0 {
		return again
	}
	return root
}

// carrier is the trigger among whose steps the answer to a request is.
func (b *Builder) carrier(t uint32) uint32 {
	if carrier := b.s.triggers[t].carrier; carrier != 0 {
		return carrier
	}
	return t
}

// answered notes that a request of a call has its answer, which is a step.
func (b *Builder) answered(t, step uint32) {
	b.s.triggers[t].answer = step
	if root := b.s.triggers[t].call; b.waiting[root] == t {
		delete(b.waiting, root)
	}
}

// Script returns what was made. The Builder must not be used any more.
func (b *Builder) Script() *Script {
	s := b.s
	s.eras.finish(&s.facts)
	s.led = b.keyer.led
	b.s = nil
	return s
}
