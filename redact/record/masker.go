package record

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap"
)

// A Masker is a [tap.Recorder] for a tap of HTTP. It replaces credentials with
// pseudonyms in the places that HTTP and OAuth have for them: header fields, URLs,
// bodies of OAuth and the endpoint event of HTTP+SSE. Once masked, a value is masked
// wherever it occurs.
//
// The same value has the same pseudonym throughout a recording, so that sessions can
// still be distinguished. Without the key a guess at a value cannot be checked against its
// pseudonym.
type Masker struct {
	next tap.Recorder
	// redactor is next if it redacts, else nil. It searches for the masked values in other
	// spellings.
	redactor *Recorder
	macs     sync.Pool
	repeats  repeats
	// services finds the keys of services.
	services *redact.Keys
	// values are the masked values. mu is held to add one, and for open.
	values atomic.Pointer[redact.Values]
	mu     sync.Mutex
	open   map[uint64]*masked
}

// NewMasker returns a Masker in front of another recorder. key is the key of the
// pseudonyms. The values of the fields in known are masked wherever they occur.
func NewMasker(key []byte, known [][2]string, next tap.Recorder) *Masker {
	m := &Masker{next: next, services: redact.NewKeys(), open: map[uint64]*masked{}}
	m.redactor, _ = next.(*Recorder)
	m.macs.New = func() any { return &maskMAC{mac: hmac.New(sha256.New, key)} }
	m.repeats.held = map[stream]heldPiece{}
	for _, f := range known {
		if m.field(f[0], f[1]) == f[1] {
			m.secret(f[1])
		}
	}
	// The tap adds these fields after the request was recorded, so they do not occur in it.
	m.values.Store(m.values.Load().Keep())
	return m
}

// A maskMAC makes pseudonyms, with memory for one.
type maskMAC struct {
	mac          hash.Hash
	in, sum, out []byte
}

// maskPrefix begins every pseudonym of a Masker.
const maskPrefix = "masked:"

// pseudonym returns what is recorded in the place of value, which may be an ordinary
// word.
func (m *Masker) pseudonym(value string) string { return m.known(value, false) }

// secret is pseudonym for a value that is only a credential.
func (m *Masker) secret(value string) string { return m.known(value, true) }

func (m *Masker) known(value string, certain bool) string {
	if value == "" {
		return value
	}
	name := m.add(value, certain)
	for _, p := range inside(nil, value, certain, 0) {
		m.add(p.text, p.certain)
	}
	return name
}

// add adds a value to those that are masked wherever they occur, and returns its pseudonym.
func (m *Masker) add(value string, certain bool) string {
	name := m.sum(value)
	if m.redactor != nil {
		m.redactor.guard.know(value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values.Store(m.values.Load().With(value, name, certain))
	return name
}

// sum makes the pseudonym of a value.
func (m *Masker) sum(value string) string {
	k := m.macs.Get().(*maskMAC)
	defer m.macs.Put(k)
	k.mac.Reset()
	k.in = append(k.in[:0], value...)
	k.mac.Write(k.in)
	k.sum = k.mac.Sum(k.sum[:0])
	k.out = hex.AppendEncode(append(k.out[:0], maskPrefix...), k.sum[:6])
	return string(k.out)
}

// A masked is an exchange that is open. Its lanes may be used by a goroutine each.
type masked struct {
	method string
	secret bool // its bodies may hold tokens
	lanes  [2]maskedLane
}

// A maskedLane is one direction of an exchange.
type maskedLane struct {
	media string // of its body
	coded bool   // its head names a content coding
	begun bool   // the first piece has arrived
	mask  func([]byte) ([]byte, []string)
	// open reports that the body is recorded as it is if it is too large to be masked.
	open bool
	// endpoint reports that the next event may be the endpoint event of HTTP+SSE,
	// which is the first that has anything but comments.
	endpoint bool
	held     []byte // of the current frame
	over     bool   // nothing more is recorded
	names    []string
	notes    []string
}

const (
	// maxSecretBody is the maximum size of a body that is held for masking. Bodies with
	// tokens have a few KiB. A larger one is not recorded.
	maxSecretBody = 64 << 10
	// maxEndpoint is the maximum size of an event that may be the endpoint event.
	maxEndpoint = 8 << 10
)

// find returns an open exchange, or nil.
func (m *Masker) find(exchange uint64) *masked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open[exchange]
}

// Chunk implements [tap.Recorder]. Stdio is not masked.
func (m *Masker) Chunk(lane tap.Lane, p []byte) { m.next.Chunk(lane, p) }

// Event implements [tap.Recorder].
func (m *Masker) Event(exchange uint64, e tap.Event) {
	switch e.Name {
	case tap.EventRequest:
		m.request(exchange, &e)
	case tap.EventResponse:
		if x := m.find(exchange); x != nil {
			x.lanes[1].head(e.Header)
		}
		e.Header, e.Masked = m.fields(e.Header, e.Masked)
	case tap.EventRewrite:
		m.rewrite(&e)
	case tap.EventEnd:
		m.end(exchange, &e)
	}
	if values := m.values.Load(); values != nil {
		m.repeats.event(values, &e)
	}
	m.next.Event(exchange, e)
}

func (m *Masker) request(exchange uint64, e *tap.Event) {
	x := &masked{method: e.Method, secret: hasSecretPath(e.Target)}
	x.lanes[0].head(e.Header)
	if x.lanes[0].media == typeForm {
		x.secret = true // the response to a form may contain a token
	}
	e.Header, e.Masked = m.fields(e.Header, e.Masked)
	target, names := m.url(e.Target)
	e.Target = target
	for _, name := range names {
		e.Masked = appendNew(e.Masked, "target "+name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[exchange] = x
}

// head reads the header fields that describe a body.
func (l *maskedLane) head(header [][2]string) {
	l.media, l.coded = "", false
	for _, f := range header {
		switch strings.ToLower(f[0]) {
		case "content-type":
			media, _, _ := strings.Cut(f[1], ";")
			l.media = strings.ToLower(strings.TrimSpace(media))
		case "content-encoding":
			l.coded = l.coded || !strings.EqualFold(f[1], "identity")
		}
	}
}

// rewrite masks the changes that the tap made.
func (m *Masker) rewrite(e *tap.Event) {
	mask := func(s string) string { s, _ = m.url(s); return s }
	if name, ok := strings.CutPrefix(e.What, "header "); ok {
		mask = func(s string) string { return m.field(name, s) }
	}
	e.Before, e.After = mask(e.Before), mask(e.After)
}

// end masks the end of an exchange and lists in it what was masked in the bodies.
func (m *Masker) end(exchange uint64, e *tap.Event) {
	x := m.find(exchange)
	m.mu.Lock()
	delete(m.open, exchange)
	m.mu.Unlock()
	if x != nil {
		for i := range x.lanes {
			l := &x.lanes[i]
			if l.open && len(l.held) > 0 { // it was truncated
				out, names := l.mask(l.held)
				l.held, l.names = out, append(l.names, names...)
				m.release(exchange, []tap.Lane{tap.ToServer, tap.ToClient}[i], l)
			}
			for _, name := range l.names {
				e.Masked = appendNew(e.Masked, name)
			}
			for _, note := range l.notes {
				if e.Error != "" {
					e.Error += "; "
				}
				e.Error += note
			}
		}
	}
	var names []string
	e.Trailer, names = m.fields(e.Trailer, nil)
	for _, name := range names {
		e.Masked = appendNew(e.Masked, name)
	}
	for _, at := range []tap.Lane{tap.ToServer, tap.ToClient} {
		if h := m.repeats.take(stream{exchange, at}); len(h.Data) > 0 { // the frame was not complete
			m.next.Piece(exchange, at, h.form, h.Data, false)
		}
	}
}

// Piece implements [tap.Recorder].
func (m *Masker) Piece(exchange uint64, at tap.Lane, form tap.Form, p []byte, end bool) {
	x := m.find(exchange)
	if x == nil || at != tap.ToServer && at != tap.ToClient {
		m.pass(exchange, at, form, p, end)
		return
	}
	l := &x.lanes[0]
	if at == tap.ToClient {
		l = &x.lanes[1]
	}
	if !l.begun {
		l.begun = true
		l.endpoint = form == tap.FormEvent && at == tap.ToClient && x.method == "GET"
		if form == tap.FormBody || form == tap.FormBytes {
			l.mask = m.masks(x, l, form, p)
		}
	}
	if l.open && (form != tap.FormBody || len(l.held)+len(p) > maxSecretBody || l.begins(p)) {
		m.release(exchange, at, l)
	}
	switch {
	case l.mask != nil:
		if form != tap.FormBody { // the next piece could not be decoded
			l.withhold("the rest of the body was not recorded, as there may be tokens in it")
		}
		if p, ok := l.body(p, end); ok {
			m.pass(exchange, at, form, p, true)
		}
	case l.endpoint && form == tap.FormEvent:
		if p, ok := l.event(m, p, end); ok {
			m.pass(exchange, at, form, p, end)
		}
	default:
		m.pass(exchange, at, form, p, end)
	}
}

// maxBegin is the number of bytes by which a JSON-RPC message is recognized while it arrives, so that it is
// recorded as it arrives.
const maxBegin = 4 << 10

// begins reports whether a held body is a JSON-RPC message after another piece.
func (l *maskedLane) begins(p []byte) bool {
	n := len(l.held)
	return n > 0 && n < maxBegin && mayBeRPC(append(l.held[:n:n], p[:min(len(p), maxBegin)]...))
}

// release records what is held of an open body, and does not mask the rest.
func (m *Masker) release(exchange uint64, at tap.Lane, l *maskedLane) {
	held := l.held
	l.held, l.mask, l.open = nil, nil, false
	if len(held) > 0 {
		m.pass(exchange, at, tap.FormBody, held, false)
	}
}

// masks returns the function that masks a body, nil if the body is not masked. p is its first piece.
func (m *Masker) masks(x *masked, l *maskedLane, form tap.Form, p []byte) func([]byte) ([]byte, []string) {
	switch {
	case isJSON(l.media) && isRPC(p):
		return nil
	case l.media == typeForm:
		return func(p []byte) ([]byte, []string) {
			out, names := m.form(string(p))
			return []byte(out), names
		}
	case x.secret && isJSON(l.media):
		return m.json
	case x.secret && l.media == typeMultipart:
		return m.multipart
	case x.secret && (l.media == "" || l.media == "text/plain" || l.media == "text/json"):
		return m.unnamed
	case isJSON(l.media) && form == tap.FormBody && !mayBeRPC(p):
		l.open = true
		return m.tokens
	}
	return nil
}

// withhold stops recording a lane, for a reason.
func (l *maskedLane) withhold(why string) {
	if !l.over {
		l.over, l.held = true, nil
		l.notes = append(l.notes, why)
	}
}

// body holds a body until its end and returns it with its secrets masked.
func (l *maskedLane) body(p []byte, end bool) (out []byte, ok bool) {
	if !l.over && len(l.held)+len(p) > maxSecretBody {
		l.withhold(fmt.Sprintf("the body was not recorded, as there may be tokens in it and it has more than %d KiB", maxSecretBody>>10))
	}
	if l.over {
		return nil, false
	}
	if l.held = append(l.held, p...); !end {
		return nil, false
	}
	whole := l.held
	l.held = nil
	if l.coded && !utf8.Valid(whole) { // it could not be decoded
		if l.open {
			return whole, true
		}
		l.withhold("the body was not recorded, as there may be tokens in it")
		return nil, false
	}
	out, names := l.mask(whole)
	for _, name := range names {
		l.names = appendNew(l.names, "body "+name)
	}
	return out, true
}

// event holds an event that may be the endpoint event and returns it with the session id in
// its URL masked.
func (l *maskedLane) event(m *Masker, p []byte, end bool) (out []byte, ok bool) {
	l.held = append(l.held, p...)
	if !end && len(l.held) <= maxEndpoint {
		return nil, false
	}
	out, l.held = l.held, nil
	if len(out) > maxEndpoint { // too long for an endpoint event
		l.endpoint = false
		return out, true
	}
	from, to, speaks := tap.EndpointURL(out)
	l.endpoint = !speaks
	if to == 0 {
		return out, true
	}
	url, names := m.url(string(out[from:to]))
	for _, name := range names {
		l.names = appendNew(l.names, "endpoint "+name)
	}
	return slices.Concat(out[:from], []byte(url), out[to:]), true
}

// pass records bytes without the known values.
func (m *Masker) pass(exchange uint64, at tap.Lane, form tap.Form, p []byte, end bool) {
	values := m.values.Load()
	if values == nil {
		m.next.Piece(exchange, at, form, p, end)
		return
	}
	out := m.repeats.piece(values, stream{exchange, at}, form, p, end)
	if len(out) > 0 || end {
		m.next.Piece(exchange, at, form, out, end)
	}
}
