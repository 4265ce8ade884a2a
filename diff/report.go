package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A Report is the outcome of a comparison. Its texts come from the wire as they
// are, but for paths and what [jsontree.Path] escapes: code that shows them escapes
// them.
type Report struct {
	A, B Side
	// Calls are the calls of both sides together, one that is on both counted
	// once. Same are those without any difference, Alike those with some, of
	// which none is of [Behaviour] or worse.
	Calls, Same, Alike uint64
	// Counts is how many differences of each class there are, all of them.
	Counts Counts
	// Differences are the first [Options.Most] of each class, in the order of the
	// session. Equal ones are one of them.
	Differences []Difference
	// Left counts those that are not in Differences.
	Left Counts
	// Groups sums up the calls, by method and by tool, prompt or resource.
	Groups []*Group
	// Rows are the calls side by side, in the order of the first session, if
	// [Options.Rows] asks for them; MoreRows is how many calls are beyond.
	Rows     []CallRow
	MoreRows uint64
	// Ignored is how many differences a rule of [Options.Ignore] kept back, Noise
	// how many are no others than among the baselines.
	Ignored, Noise uint64
	// TooLarge is how many messages were too large to be compared.
	TooLarge int
	// Summary says in a sentence what changed.
	Summary string
}

// A Side describes one of the two sessions.
type Side struct {
	// Name is the name that [NewSession] was given.
	Name string `json:"name"`
	// Era and Revision are as in [session.Facts]; in the 002 dialect the revision is
	// [jsonrpc.Dialect].
	Era      jsonrpc.Era      `json:"era,omitempty"`
	Revision jsonrpc.Revision `json:"revision,omitempty"`
	// Client and Server are the names that the two give themselves.
	Client session.Party `json:"client,omitzero"`
	Server session.Party `json:"server,omitzero"`
	// Calls counts the calls that are not nested in another, Frames all frames.
	Calls  uint64 `json:"calls"`
	Frames uint64 `json:"frames"`
	// Lacks describes what is missing in the recording, "" if nothing is.
	Lacks string `json:"lacks,omitempty"`
}

// A Difference is one way in which the two sessions differ.
type Difference struct {
	Class Class `json:"class"`
	Kind  Kind  `json:"kind"`
	In    Place `json:"in"`
	// By is the side that sent the message that differs: "client" or "server".
	By string `json:"by"`
	// Method and Subject are those of the call, "" for the session as a whole.
	// Name is the tool, prompt or resource, as in [Group]. Message is the method of
	// the notification or the nested request, "" where the call's own request or
	// response differs.
	Method  string `json:"method,omitempty"`
	Name    string `json:"-"`
	Subject string `json:"subject,omitempty"`
	Message string `json:"message,omitempty"`
	// CallA and CallB name the first request of the call on each side, A and B
	// the messages that differ. They are zero where there is none.
	CallA session.Ref `json:"call_a,omitzero"`
	CallB session.Ref `json:"call_b,omitzero"`
	A     session.Ref `json:"a,omitzero"`
	B     session.Ref `json:"b,omitzero"`
	// Path leads to the value from the message that it is in, such as
	// $.result.content[0].text, or from the session, such as $.server.info.version. It
	// can be passed to [ParseRule].
	Path string `json:"path,omitempty"`
	// Old and New are the values on each side as JSON, shortened to [MaxExcerpt]
	// bytes; "" where there is none. OldSize and NewSize are their full lengths in
	// bytes.
	Old     string `json:"old,omitempty"`
	OldSize int    `json:"old_size,omitempty"`
	New     string `json:"new,omitempty"`
	NewSize int    `json:"new_size,omitempty"`
	// Rows compare two long texts; MoreRows is the number of rows left out.
	Rows     []jsontree.Row `json:"rows,omitempty"`
	MoreRows int            `json:"more_rows,omitempty"`
	// What describes the change where the path does not.
	What string `json:"what,omitempty"`
	// Reason is why the difference is of its class, Page the page of the specification
	// to that effect, such as 2026-07-28/basic/patterns/mrtr; both may be "".
	Reason string `json:"reason,omitempty"`
	Page   string `json:"page,omitempty"`
	// Times is how often this difference occurs, and Also names the calls where it
	// recurs: the first [MaxAlso].
	Times uint64     `json:"times"`
	Also  []CallPair `json:"also,omitempty"`
	// OldTime and NewTime are the durations of a call that is slower or faster.
	OldTime time.Duration `json:"old_ns,omitempty"`
	NewTime time.Duration `json:"new_ns,omitempty"`

	// names reports that What names its subject.
	names bool
}

// Limits of a report.
const (
	// MaxExcerpt is the maximum length of a value in a [Difference], in bytes.
	MaxExcerpt = 400
	// MaxAlso is the maximum number of further calls that a [Difference] names.
	MaxAlso = 8
	// MaxGroups is the maximum number of groups; further calls count in the last.
	MaxGroups = 5000
	// DefaultMost is the default of [Options.Most].
	DefaultMost = 1000
)

// A CallPair names a call on both sides.
type CallPair struct {
	A session.Ref `json:"a,omitzero"`
	B session.Ref `json:"b,omitzero"`
}

// A Group sums up the calls of one method for one tool, prompt or resource.
type Group struct {
	// Method and Name are the method and the tool, prompt or resource. If Others is
	// set, the group holds the calls beyond [MaxGroups], of any method.
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	Others bool   `json:"others,omitempty"`
	// Calls is the number of calls; Same and Alike are as in [Report]. Missing and
	// Extra are the numbers of calls on one side only.
	Calls   uint64 `json:"calls"`
	Same    uint64 `json:"same"`
	Alike   uint64 `json:"alike"`
	Missing uint64 `json:"missing"`
	Extra   uint64 `json:"extra"`
	// Counts is the number of differences in the calls, by class.
	Counts Counts `json:"differences"`
	// MedianA and MedianB are the median durations of the calls that were answered on
	// both sides; Timed is the number of these.
	Timed   int           `json:"timed"`
	MedianA time.Duration `json:"median_a_ns,omitempty"`
	MedianB time.Duration `json:"median_b_ns,omitempty"`
}

// Counts are numbers of differences by class. As JSON it is an object with the names of
// the classes.
type Counts [Classes]uint64

// MarshalJSON implements [json.Marshaler].
func (c Counts) MarshalJSON() ([]byte, error) {
	all := map[Class]uint64{}
	for class, n := range c {
		all[Class(class)] = n
	}
	return json.Marshal(all)
}

// Worst returns the highest class of which there is a difference, and false if
// there is none at all.
func (r *Report) Worst() (Class, bool) {
	for c := int(Classes) - 1; c >= 0; c-- {
		if r.Counts[c] > 0 {
			return Class(c), true
		}
	}
	return 0, false
}

// AtLeast returns how many differences there are of a class or a higher one.
func (r *Report) AtLeast(c Class) (n uint64) {
	for ; c < Classes; c++ {
		n += r.Counts[c]
	}
	return n
}

// Options are what a comparison depends on. The zero value is good.
type Options struct {
	// Baselines are sessions with the same server as the first one: what differs
	// between them and that one is noise.
	Baselines []*Session
	// Ignore is what is not reported.
	Ignore []Rule
	// Marked compares those calls only of which a message was marked, on either
	// side.
	Marked bool
	// Lost are requests of the first session that the second one did not come to, or
	// that its server did not answer, each with the reason in words, "" for none. That is
	// [Breaking], also where the request itself is missing, and where an answer was recorded
	// that the client did not get: a body that broke off.
	Lost map[session.Ref]string
	// Slower and Ratio say from when on a call takes another time: from so much
	// more or less, and from so many times as long. They are [DefaultSlower] and
	// [DefaultRatio] if they are zero.
	Slower time.Duration
	Ratio  float64
	// Most is how many differences of each class are told, [DefaultMost] if it
	// is zero.
	Most int
	// Rows is how many rows of calls side by side are listed, 0 for none. Those
	// that are the same are folded where there are more.
	Rows int
	// Check is called now and then; an error ends the comparison.
	Check func() error
}

// What is a call that takes another time, unless [Options] say otherwise.
const (
	DefaultSlower = 250 * time.Millisecond
	DefaultRatio  = 2.0
)

// A Class says how much a difference matters. The classes are ordered: a higher
// one matters more.
type Class uint8

const (
	// Cosmetic is another way to say the same: a number written as 1.0 for 1,
	// the words of an error, titles and icons, the version of a server.
	Cosmetic Class = iota
	// Timing is a call that takes much longer, or much less.
	Timing
	// Expected is what comes with another revision of the protocol, or with
	// another transport.
	Expected
	// Behaviour is anything that says or does something else.
	Behaviour
	// Breaking is what fails those who relied on it: a tool that is gone, an
	// argument that is required now, a call that fails or is not answered.
	Breaking
	// Classes is the number of classes.
	Classes
)

var classNames = [Classes]string{"cosmetic", "timing", "expected", "behaviour", "breaking"}

// String returns the class's stable name: cosmetic, timing, expected, behaviour
// or breaking.
func (c Class) String() string { return nameOf(classNames[:], uint8(c), "class") }

// MarshalText implements [encoding.TextMarshaler].
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// nameOf is a name of a list, or the number of one that is not in it.
func nameOf(names []string, i uint8, of string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", of, i)
}

// ParseClass is the inverse of [Class.String].
func ParseClass(s string) (Class, error) {
	for c, name := range classNames {
		if name == s {
			return Class(c), nil
		}
	}
	return 0, fmt.Errorf("unknown class %q (want %s)", s, strings.Join(ClassNames(), ", "))
}

// ClassNames lists the names of the classes, what matters most first.
func ClassNames() []string {
	var names []string
	for c := int(Classes) - 1; c >= 0; c-- {
		names = append(names, classNames[c])
	}
	return names
}

// A Kind says in which way two sessions differ at one place.
type Kind uint8

const (
	// Changed has something else in its place.
	Changed Kind = iota
	// Removed is only in the first session, Added only in the second.
	Removed
	Added
	// Moved stands elsewhere in its array, Reordered are several that come in
	// another order.
	Moved
	Reordered
	// Respelled is the same value, written in another way.
	Respelled
	// Slower and Faster are calls that take another time.
	Slower
	Faster
	kinds
)

var kindNames = [kinds]string{"changed", "removed", "added", "moved", "reordered", "respelled", "slower", "faster"}

// String returns the kind's stable name: changed, removed, added, moved,
// reordered, respelled, slower or faster.
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k), "kind") }

// MarshalText implements [encoding.TextMarshaler].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// A Place says which part of a session a difference is in.
type Place uint8

const (
	// InSession is what client and server agreed on at the beginning.
	InSession Place = iota
	// InCall is the call as a whole: that it was asked, how it ended.
	InCall
	// InRequest is what was asked for, in the params of a request.
	InRequest
	// InAnswer is the result or the error.
	InAnswer
	// InNotification is a notification, that of a call or one of none.
	InNotification
	// InQuestion is what the server asked for within a call, by a request of
	// its own or by an input_required result, and InReply the client's answer.
	InQuestion
	InReply
	// InStray is a message that belongs nowhere.
	InStray
	placeCount
)

var placeNames = [placeCount]string{"session", "call", "request", "answer", "notification", "question", "reply", "stray"}

// String returns the place's stable name: session, call, request, answer,
// notification, question, reply or stray.
func (p Place) String() string { return nameOf(placeNames[:], uint8(p), "place") }

// MarshalText implements [encoding.TextMarshaler].
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
