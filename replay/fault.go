package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Fault is an injected failure.
type Fault struct {
	Kind FaultKind
	// Delay is how much later the answer comes (FaultDelay).
	Delay time.Duration
	// Code is the code of the error that replaces the answer (FaultError), or the HTTP
	// status (FaultStatus).
	Code int
	// Method and Name select the requests whose answers are affected: the method, and the
	// tool, prompt, resource or task. In both, * matches any characters, and "" matches all. The
	// method can also be that of a server message, such as notifications/progress.
	Method, Name string
	// Nth selects the n-th of these answers in a session, Every each n-th, and Chance each with
	// that probability. If none is set, all are selected.
	Nth, Every uint64
	Chance     float64
}

// A FaultKind is the kind of a [Fault].
type FaultKind uint8

const (
	FaultDelay      FaultKind = iota // the answer comes later
	FaultDrop                        // it does not come
	FaultDuplicate                   // it comes twice
	FaultReorder                     // it comes after the next message
	FaultTruncate                    // its second half is missing
	FaultMalformed                   // it is not valid JSON
	FaultError                       // it is an error
	FaultDisconnect                  // the server leaves instead
	FaultStatus                      // an HTTP status refuses the request; on other transports it is an error
	faultKinds
)

var faultNames = [faultKinds]string{"delay", "drop", "duplicate", "reorder", "truncate", "malformed", "error", "disconnect", "status"}

// FaultNames returns the names of all kinds.
func FaultNames() []string { return slices.Clone(faultNames[:]) }

// String returns the stable name: delay, drop, duplicate, reorder, truncate,
// malformed, error, disconnect or status.
func (k FaultKind) String() string { return nameOfKind(faultNames[:], "fault", uint8(k)) }

// defaultFaultCode is the JSON-RPC error code for internal errors.
const defaultFaultCode = -32603

// ParseFault parses a fault: its kind, followed in any order by METHOD:NAME and the options that
// select among the answers, such as
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

// asked reports whether a client may send requests with a method: the method is unknown, or
// known to be that of a client request.
func asked(method string) bool {
	m, known := jsonrpc.LookupMethod(method)
	return !strings.HasPrefix(method, "notifications/") && (!known || m.Client != 0 && m.Kind == jsonrpc.Request)
}

// kind parses the first word.
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
			return errors.New("status needs an HTTP status from 400 to 599, such as status=503")
		}
	case given:
		return fmt.Errorf("%s takes no value", name)
	}
	return nil
}

// word parses any later word.
func (f *Fault) word(w string) (err error) {
	key, value, given := strings.Cut(w, "=")
	switch {
	case key == "n" && f.Nth > 0, key == "every" && f.Every > 0, key == "p" && f.Chance > 0:
		return fmt.Errorf("%q repeats %s (want only one)", w, key)
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
		return fmt.Errorf("%q is an unexpected word (want METHOD:NAME, n=2, every=5 or p=0.1)", w)
	}
	if err != nil || f.Chance == 0 && f.Nth == 0 && f.Every == 0 {
		return fmt.Errorf("%q is invalid (want a number from 1, such as n=2 or every=5, or a chance, such as p=0.1)", w)
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

// applies reports whether the fault applies to the answer to a request, or to a message that
// is not an answer.
func (f *Fault) applies(method, name string, answer bool) bool {
	switch {
	case f.Method == "":
		return answer
	case f.Kind == FaultError && !answer:
		return false
	}
	return glob(f.Method, method) && (f.Name == "" || glob(f.Name, name))
}

// glob reports whether s matches a pattern in which * stands for any characters.
func glob(pattern, s string) bool {
	pattern = strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	return regexp.MustCompile("(?s)^" + pattern + "$").MatchString(s)
}

// chances are the faults of one session: how many times each applied, whether it struck, and a
// source of random numbers.
type chances struct {
	faults  []Fault
	applied []uint64
	struck  []bool
	rand    *rand.Rand
}

func newChances(opt *Options) chances {
	n := len(opt.Faults)
	return chances{opt.Faults, make([]uint64, n), make([]bool, n), rand.New(rand.NewPCG(opt.Seed, 0x6d6370746170))}
}

// pick returns the first fault that strikes among those that apply to an answer, or to a
// message that is not an answer, nil for none. If refuses is set, it considers only faults that
// refuse the request before anything is played, otherwise only the others. Each fault that
// applies counts and draws a number even if another strikes first, so that adding a fault does
// not change when the others strike.
func (c *chances) pick(method, name string, answer, refuses bool) (found *Fault) {
	for i := range c.faults {
		f := &c.faults[i]
		if (f.Kind == FaultStatus) != refuses || !f.applies(method, name, answer) {
			continue
		}
		c.applied[i]++
		n := c.applied[i]
		strikes := (f.Nth == 0 || n == f.Nth) && (f.Every == 0 || n%f.Every == 0)
		if f.Chance > 0 {
			strikes = c.rand.Float64() < f.Chance && strikes
		}
		if strikes && found == nil {
			found = f
			c.struck[i] = true
		}
	}
	return found
}

// Struck reports which of the faults of the options have struck, by index.
func (s *Session) Struck() []bool { return slices.Clone(s.chances.struck) }

// holdMost is how long FaultReorder holds back an answer until something else is written.
const holdMost = 100 * time.Millisecond

// strikes picks the fault for a step, and applies it if it prevents or delays the step. It
// reports whether the step is to be written now.
func (s *Session) strikes(r *reply, st *step, out *Output) bool {
	if r.delayed {
		return true // the fault has been applied
	}
	method, name := r.method, r.name
	if !st.final {
		name = ""
		method, _ = names(st.raw)
	}
	f := s.chances.pick(method, name, st.final, false)
	if r.fault = f; f == nil {
		return true
	}
	s.noteFault(r, out.Frame, f)
	if st.request && (f.Kind == FaultDrop || f.Kind == FaultTruncate || f.Kind == FaultMalformed) {
		r.waived = max(r.waived, st.answer) // the answer will not come
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

// noteFault notes that a fault struck.
func (s *Session) noteFault(r *reply, frame session.Ref, f *Fault) {
	s.note(Note{Kind: NoteFault, Live: r.live, Method: r.method, Frame: frame, Text: fmt.Sprintf("frame %d: %v", frame.Seq, f)})
}

// spoil applies a fault to a step that is about to be written. It reports whether the step is
// to be written now.
func (s *Session) spoil(r *reply, st *step, out *Output, target *reply) bool {
	switch f := r.fault; f.Kind {
	case FaultReorder:
		if s.held != nil {
			return true // one at a time
		}
		kept := *out
		kept.Last = target != nil && s.streams.answered(target.stream)
		s.held, s.heldTo = &kept, s.now+holdMost
		s.written(r, st, target)
		return false
	case FaultTruncate:
		out.Raw = cut(out.Raw, len(bytes.TrimSpace(out.Raw))/2)
		s.questions.forget(r.step)
	case FaultMalformed:
		out.Raw = cut(out.Raw, len(bytes.TrimSpace(out.Raw))-1)
		s.questions.forget(r.step)
	case FaultError:
		out.Raw, out.Line, out.Whole = ownAnswer(r.id, "error", injectedError(f.Code)), true, nil
	}
	return true
}

// injectedError returns the error that replaces an answer.
func injectedError(code int) []byte {
	return []byte(`{"code":` + strconv.Itoa(code) + `,"message":"mcptap mock: injected error"}`)
}

// refuses refuses a request if FaultStatus strikes, and reports whether it did. If one stream
// carries everything, the answer is an error.
func (s *Session) refuses(r *reply) bool {
	f := s.chances.pick(r.method, r.name, true, true)
	if f == nil {
		return false
	}
	frame := s.script.triggers[r.trigger].ref
	if answer := s.script.triggers[r.trigger].answer; answer != 0 {
		frame = s.script.steps[answer].ref
	}
	s.noteFault(r, frame, f)
	s.respond(r.stream, r.id, "error", injectedError(defaultFaultCode))
	if !s.streams.hasDuplex {
		s.outbox[len(s.outbox)-1].Status = f.Code
	}
	return true
}

// cut truncates a message to n bytes and keeps the line terminator.
func cut(raw []byte, n int) []byte {
	message := bytes.TrimRight(raw, "\r\n")
	end := raw[len(message):]
	return append(bytes.Clone(message[:min(n, len(message))]), end...)
}
