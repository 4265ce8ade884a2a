package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Fault makes answers go wrong on purpose.
type Fault struct {
	// Kind says what goes wrong.
	Kind FaultKind
	// Delay is how much later the answer comes (FaultDelay).
	Delay time.Duration
	// Code is the error that takes the place of the answer (FaultError), or the
	// status of HTTP (FaultStatus).
	Code int
	// Method and Name choose the requests whose answers are meant: the method,
	// and the tool, prompt, resource or task, each with * for any characters; ""
	// stands for all. A method can also be that of something which the server
	// sends by itself, such as notifications/progress.
	Method, Name string
	// Nth chooses the n-th of these answers in a session, Every each n-th, Chance
	// any with that probability. With none of them it is every one.
	Nth, Every uint64
	Chance     float64
}

// A FaultKind says what goes wrong.
type FaultKind uint8

const (
	FaultDelay      FaultKind = iota // the answer comes later
	FaultDrop                        // it does not come
	FaultDuplicate                   // it comes twice
	FaultReorder                     // it comes after the next message
	FaultTruncate                    // its second half is missing
	FaultMalformed                   // it is no JSON
	FaultError                       // it is an error
	FaultDisconnect                  // the server leaves instead
	FaultStatus                      // HTTP refuses the request; elsewhere it is an error
	faultKinds
)

var faultNames = [faultKinds]string{"delay", "drop", "duplicate", "reorder", "truncate", "malformed", "error", "disconnect", "status"}

// String returns the stable name: delay, drop, duplicate, reorder, truncate,
// malformed, error, disconnect or status.
func (k FaultKind) String() string {
	return nameOfKind(faultNames[:], "fault", uint8(k))
}

// defaultFaultCode is an internal error, in JSON-RPC.
const defaultFaultCode = -32603

// ParseFault reads a fault: its kind, a method and a name behind it, and which of
// the answers it is to befall, with spaces between. Such as
//
//	delay=2s tools/call:forecast
//	error=-32000 tools/call:* n=2
//	drop p=0.1
//	disconnect resources/read every=5
//	status=503 tools/call
func ParseFault(s string) (f Fault, err error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return f, fmt.Errorf("an empty fault (want %s)", strings.Join(faultNames[:], ", "))
	}
	if err := f.kind(words[0]); err != nil {
		return f, err
	}
	for _, w := range words[1:] {
		if err := f.word(w); err != nil {
			return f, fmt.Errorf("%s: %w", words[0], err)
		}
	}
	if (f.Kind == FaultError || f.Kind == FaultStatus) && !asked(f.Method) {
		return f, fmt.Errorf("%s: no client sends %s, so it has no response to be replaced (want drop, delay, malformed or another)", words[0], f.Method)
	}
	return f, nil
}

// asked reports whether a client may ask for a method: it is not known as one that only the
// server sends, or as that of a notification.
func asked(method string) bool {
	m, known := jsonrpc.LookupMethod(method)
	return !strings.HasPrefix(method, "notifications/") && (!known || m.Client != 0 && m.Kind == jsonrpc.Request)
}

// kind reads the first word.
func (f *Fault) kind(w string) (err error) {
	name, value, given := strings.Cut(w, "=")
	kind := slices.Index(faultNames[:], name)
	f.Kind = FaultKind(max(kind, 0))
	switch {
	case kind < 0:
		return fmt.Errorf("unknown fault %q (want %s)", name, strings.Join(faultNames[:], ", "))
	case f.Kind == FaultDelay:
		f.Delay, err = time.ParseDuration(value)
		if err != nil || f.Delay < 0 || f.Delay > longest {
			return fmt.Errorf("delay needs a time, such as delay=500ms")
		}
	case f.Kind == FaultError:
		f.Code = defaultFaultCode
		if given {
			if f.Code, err = strconv.Atoi(value); err != nil {
				return fmt.Errorf("error=%s: the code must be an integer, such as error=-32000", value)
			}
		}
	case f.Kind == FaultStatus:
		if f.Code, err = strconv.Atoi(value); err != nil || f.Code < 400 || f.Code > 599 {
			return errors.New("status needs one of HTTP from 400 to 599, such as status=503")
		}
	case given:
		return fmt.Errorf("%s takes no value", name)
	}
	return nil
}

// word reads one of the others.
func (f *Fault) word(w string) (err error) {
	key, value, given := strings.Cut(w, "=")
	switch {
	case key == "n" && f.Nth > 0, key == "every" && f.Every > 0, key == "p" && f.Chance > 0:
		return fmt.Errorf("%q comes after another %s (write one)", w, key)
	case given && key == "n":
		f.Nth, err = strconv.ParseUint(value, 10, 63)
	case given && key == "every":
		f.Every, err = strconv.ParseUint(value, 10, 63)
	case given && key == "p":
		if f.Chance, err = strconv.ParseFloat(value, 64); err == nil && !(f.Chance > 0 && f.Chance <= 1) {
			err = strconv.ErrRange
		}
	case f.Method == "":
		f.Method, f.Name, _ = strings.Cut(w, ":")
		return nil
	default:
		return fmt.Errorf("%q is one word too many (want METHOD:NAME, n=2, every=5 or p=0.1)", w)
	}
	if err != nil || f.Chance == 0 && f.Nth == 0 && f.Every == 0 {
		return fmt.Errorf("%q makes no sense (want a number from 1, such as n=2 or every=5, or a chance, such as p=0.1)", w)
	}
	return nil
}

// String is the inverse of [ParseFault].
func (f Fault) String() string {
	words := []string{f.Kind.String()}
	switch f.Kind {
	case FaultDelay:
		words[0] += "=" + f.Delay.String()
	case FaultError, FaultStatus:
		words[0] += "=" + strconv.Itoa(f.Code)
	}
	if f.Name != "" {
		words = append(words, f.Method+":"+f.Name)
	} else if f.Method != "" {
		words = append(words, f.Method)
	}
	if f.Nth > 0 {
		words = append(words, "n="+strconv.FormatUint(f.Nth, 10))
	}
	if f.Every > 0 {
		words = append(words, "every="+strconv.FormatUint(f.Every, 10))
	}
	if f.Chance > 0 {
		words = append(words, "p="+strconv.FormatFloat(f.Chance, 'g', -1, 64))
	}
	return strings.Join(words, " ")
}

// meant reports whether the fault is about the answer to such a request, or about
// such a message.
func (f *Fault) meant(method, name string, answer bool) bool {
	switch {
	case f.Method == "":
		return answer
	case f.Kind == FaultError && !answer:
		return false
	}
	return glob(f.Method, method) && (f.Name == "" || glob(f.Name, name))
}

// glob matches a text with a pattern in which * stands for any characters. It
// takes the first place for each part, so it never tries twice.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, p := range parts[1:last] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[last])
}

// chances are the faults of one session: how often each has been meant, how often it has
// struck, and dice.
type chances struct {
	faults        []Fault
	meant, struck []uint64
	dice          *rand.Rand
}

func newChances(opt *Options) chances {
	if len(opt.Faults) == 0 {
		return chances{}
	}
	n := len(opt.Faults)
	return chances{opt.Faults, make([]uint64, n), make([]uint64, n), rand.New(rand.NewPCG(opt.Seed, 0x6d6370746170))}
}

// next returns the fault that befalls an answer, or a message that is none, nil for
// no fault.
func (c *chances) next(method, name string, answer bool) *Fault {
	return c.pick(func(f *Fault) bool { return f.Kind != FaultStatus && f.meant(method, name, answer) })
}

// refusal returns the fault that refuses a request before anything is played, nil for none.
func (c *chances) refusal(method, name string) *Fault {
	return c.pick(func(f *Fault) bool { return f.Kind == FaultStatus && f.meant(method, name, true) })
}

// pick returns the first fault that strikes of those that are meant. Each of these counts
// and throws its dice whether another comes first or not, so that one fault more
// does not change when the others strike.
func (c *chances) pick(meant func(*Fault) bool) (found *Fault) {
	for i := range c.faults {
		f := &c.faults[i]
		if !meant(f) {
			continue
		}
		c.meant[i]++
		n := c.meant[i]
		strikes := (f.Nth == 0 || n == f.Nth) && (f.Every == 0 || n%f.Every == 0)
		if f.Chance > 0 {
			strikes = c.dice.Float64() < f.Chance && strikes
		}
		if strikes && found == nil {
			found = f
			c.struck[i]++
		}
	}
	return found
}

// Struck reports which of the faults of the options have befallen something, by their
// places there.
func (s *Session) Struck() []bool {
	all := make([]bool, len(s.chances.faults))
	for i, n := range s.chances.struck {
		all[i] = n > 0
	}
	return all
}

// holdMost is how long an answer is held back at most until something else has
// been written.
const holdMost = 100 * time.Millisecond

// strikes lets something go wrong with a step before it is made. It reports whether the
// step is to be written at all now.
func (s *Session) strikes(r *reply, st *step, out *Output) bool {
	if r.delayed {
		return true // this was its fault
	}
	method, name := r.method, r.name
	if !st.final {
		name = ""
		method, _ = names(st.raw)
	}
	f := s.chances.next(method, name, st.final)
	if r.fault = f; f == nil {
		return true
	}
	s.befalls(r, out.Frame, f)
	if st.request && (f.Kind == FaultDrop || f.Kind == FaultTruncate || f.Kind == FaultMalformed) {
		r.waived = max(r.waived, st.answer) // which will not come
	}
	switch f.Kind {
	case FaultDelay:
		r.delayed = true
		r.due = s.now + f.Delay
		return false
	case FaultDrop:
		s.questions.forget(r.step)
		if target := s.answers(r, st); target != nil {
			s.forgo(target)
		}
		s.pass(r)
		return false
	case FaultDisconnect:
		s.outbox = append(s.outbox, Output{Stream: out.Stream, Leave: true, Abort: true})
		s.over(r)
		return false
	}
	return true
}

// befalls notes that a fault strikes.
func (s *Session) befalls(r *reply, frame session.Ref, f *Fault) {
	s.note(Note{Kind: NoteFault, Live: r.live, Method: r.method, Frame: frame, Text: fmt.Sprintf("frame %d: %v", frame.Seq, f)})
}

// spoil lets something go wrong with a step that is about to be written. It reports
// whether it is to be written at all now.
func (s *Session) spoil(r *reply, st *step, out *Output, target *reply) bool {
	switch f := r.fault; f.Kind {
	case FaultReorder:
		return s.hold(r, st, out, target)
	case FaultTruncate:
		out.Raw = cut(out.Raw, len(bytes.TrimSpace(out.Raw))/2)
		s.questions.forget(r.step)
	case FaultMalformed:
		out.Raw = cut(out.Raw, len(bytes.TrimSpace(out.Raw))-1)
		s.questions.forget(r.step)
	case FaultError:
		out.Raw, out.Line, out.Whole = ownAnswer(r.id, "error", onPurpose(f.Code)), true, nil
	}
	return true
}

// onPurpose is the error in the place of an answer.
func onPurpose(code int) []byte {
	return []byte(`{"code":` + strconv.Itoa(code) + `,"message":"mcptap mock: an error on purpose"}`)
}

// refuses refuses a request on purpose, and reports whether it does. Where one stream carries
// everything that is an error.
func (s *Session) refuses(r *reply) bool {
	f := s.chances.refusal(r.method, r.name)
	if f == nil {
		return false
	}
	frame := s.script.triggers[r.trigger].ref
	if answer := s.script.triggers[r.trigger].answer; answer != 0 {
		frame = s.script.steps[answer].ref
	}
	s.befalls(r, frame, f)
	s.say(r.stream, r.id, "error", onPurpose(defaultFaultCode))
	if !s.streams.hasDuplex {
		s.outbox[len(s.outbox)-1].Status = f.Code
	}
	return true
}

// hold keeps a step back until another has been written.
func (s *Session) hold(r *reply, st *step, out *Output, target *reply) bool {
	if s.held != nil {
		return true // one at a time
	}
	kept := out.keep()
	kept.Last = target != nil && s.streams.answered(target.stream)
	s.held, s.heldTo = &kept, s.now+holdMost
	s.written(r, st, target)
	return false
}

// cut keeps the first bytes of a message, and what ends the line.
func cut(raw []byte, n int) []byte {
	message := bytes.TrimRight(raw, "\r\n")
	end := raw[len(message):]
	return append(bytes.Clone(message[:min(n, len(message))]), end...)
}
