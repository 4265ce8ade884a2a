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

// A Report is the result of a comparison. Its texts are not escaped, except for paths.
type Report struct {
	A, B Side
	// Calls is the number of calls; a call on both sides counts once. Same is the number of
	// calls without a difference, Alike the number of those whose differences are all below
	// [Behaviour].
	Calls, Same, Alike uint64
	// Counts is the number of differences of each class.
	Counts Counts
	// Differences are the first [Options.Most] differences of each class, in the order of the
	// session. Equal differences are listed once.
	Differences []Difference
	// Left is the number of differences that are not in Differences.
	Left Counts
	// Groups summarizes the calls, by method and by tool, prompt or resource.
	Groups []*Group
	// Rows are the calls side by side, in the order of the first session, if [Options.Rows] is
	// set. MoreRows is the number of further calls.
	Rows     []CallRow
	MoreRows uint64
	// Ignored is the number of differences excluded by [Options.Ignore], Noise the number of
	// those excluded by the baselines.
	Ignored, Noise uint64
	// TooLarge is the number of messages that were too large to be compared.
	TooLarge int
	// Summary describes the changes in a sentence.
	Summary string
}

// A Side describes one of the two sessions.
type Side struct {
	// Name is the name passed to [NewSession].
	Name string `json:"name"`
	// Era and Revision are as in [session.Facts]; in the 002 dialect the revision is
	// [jsonrpc.Dialect].
	Era      jsonrpc.Era      `json:"era,omitempty"`
	Revision jsonrpc.Revision `json:"revision,omitempty"`
	// Client and Server are the names that the client and the server declare.
	Client session.Party `json:"client,omitzero"`
	Server session.Party `json:"server,omitzero"`
	// Calls is the number of calls that are not nested in another, Frames the number of frames.
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
	// CallA and CallB are the first requests of the call on each side, A and B the messages
	// that differ. They are zero if there is none.
	CallA session.Ref `json:"call_a,omitzero"`
	CallB session.Ref `json:"call_b,omitzero"`
	A     session.Ref `json:"a,omitzero"`
	B     session.Ref `json:"b,omitzero"`
	// Path is the path of the value in its message, such as $.result.content[0].text, or in the
	// session, such as $.server.info.version. It can be passed to [ParseRule].
	Path string `json:"path,omitempty"`
	// Old and New are the values on each side as JSON, shortened to [MaxExcerpt] bytes; "" if
	// there is none. OldSize and NewSize are their full lengths in bytes.
	Old     string `json:"old,omitempty"`
	OldSize int    `json:"old_size,omitempty"`
	New     string `json:"new,omitempty"`
	NewSize int    `json:"new_size,omitempty"`
	// Rows compare two long texts; MoreRows is the number of rows left out.
	Rows     []jsontree.Row `json:"rows,omitempty"`
	MoreRows int            `json:"more_rows,omitempty"`
	// What describes the change if the path does not.
	What string `json:"what,omitempty"`
	// Reason is why the difference has its class. Page is the page of the specification that
	// supports this, such as 2026-07-28/basic/patterns/mrtr. Both may be "".
	Reason string `json:"reason,omitempty"`
	Page   string `json:"page,omitempty"`
	// Times is the number of occurrences of this difference. Also are the first [MaxAlso]
	// further calls in which it occurs.
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
	// MaxAlso is the maximum length of [Difference.Also].
	MaxAlso = 8
	// MaxGroups is the maximum number of groups; further calls are counted in the last one.
	MaxGroups = 5000
	// DefaultMost is the default of [Options.Most].
	DefaultMost = 1000
)

// A CallPair identifies a call on both sides.
type CallPair struct {
	A session.Ref `json:"a,omitzero"`
	B session.Ref `json:"b,omitzero"`
}

// A Group summarizes the calls of one method for one tool, prompt or resource.
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
	// MedianA and MedianB are the median durations of the calls that were answered on both
	// sides. Timed is the number of those calls.
	Timed   int           `json:"timed"`
	MedianA time.Duration `json:"median_a_ns,omitempty"`
	MedianB time.Duration `json:"median_b_ns,omitempty"`
}

// Counts has the number of differences of each class. In JSON it is an object whose keys are the
// names of the classes.
type Counts [Classes]uint64

// MarshalJSON implements [json.Marshaler].
func (c Counts) MarshalJSON() ([]byte, error) {
	all := map[Class]uint64{}
	for class, n := range c {
		all[Class(class)] = n
	}
	return json.Marshal(all)
}

// Worst returns the highest class of difference, and false if there are no differences.
func (r *Report) Worst() (Class, bool) {
	for c := int(Classes) - 1; c >= 0; c-- {
		if r.Counts[c] > 0 {
			return Class(c), true
		}
	}
	return 0, false
}

// AtLeast returns the number of differences of a class or a higher one.
func (r *Report) AtLeast(c Class) (n uint64) {
	for ; c < Classes; c++ {
		n += r.Counts[c]
	}
	return n
}

// Options are the options of [Compare]. The zero value is valid.
type Options struct {
	// Baselines are sessions with the same server as the first session. Differences between
	// them and the first session are noise.
	Baselines []*Session
	// Ignore has rules for differences that are not reported.
	Ignore []Rule
	// Marked limits the comparison to calls with a marked message on either side.
	Marked bool
	// Lost has the requests of the first session that were not sent in the second, or whose
	// response the client did not receive, each with a reason or "". They are [Breaking] even
	// if something was recorded as the response, such as a truncated body. If Lost is not nil,
	// the second session is a replay of the first: a response to a call that had no response,
	// and was not refused, is [Timing].
	Lost map[session.Ref]string
	// Slower and Ratio are the absolute and the relative threshold for durations. A duration
	// differs if it exceeds both. The defaults are [DefaultSlower] and [DefaultRatio].
	Slower time.Duration
	Ratio  float64
	// Most is the maximum number of reported differences of each class. The default is
	// [DefaultMost].
	Most int
	// Rows is the maximum number of rows in the side-by-side list of calls, 0 for no list. If
	// there are more calls, equal calls are folded.
	Rows int
	// Check, if not nil, is called for each call. An error ends the comparison.
	Check func() error
}

// The default thresholds for durations.
const (
	DefaultSlower = 250 * time.Millisecond
	DefaultRatio  = 2.0
)

// A Class is the severity of a difference. Higher classes are more severe.
type Class uint8

const (
	// Cosmetic differences have no effect on behaviour: 1.0 instead of 1, the message of
	// an error, titles and icons, the version of a server.
	Cosmetic Class = iota
	// Timing is a call that is much slower or faster.
	Timing
	// Expected differences are due to another revision of the protocol or another transport.
	Expected
	// Behaviour is any other change of behaviour.
	Behaviour
	// Breaking differences break users of the server: a removed tool, a new required
	// argument, a call that fails or has no response.
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

// nameOf returns the name of a value, or its number if it has none.
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

// ClassNames returns the names of the classes, the highest first.
func ClassNames() []string {
	var names []string
	for c := int(Classes) - 1; c >= 0; c-- {
		names = append(names, classNames[c])
	}
	return names
}

// A Kind is the kind of a difference.
type Kind uint8

const (
	// Changed means that a value was replaced.
	Changed Kind = iota
	// Removed means that something is only in the first session, Added only in the second.
	Removed
	Added
	// Moved means that an element has another index, Reordered that several messages or
	// elements are in another order.
	Moved
	Reordered
	// Respelled means that an equal value is spelled differently.
	Respelled
	// Slower and Faster mean that the duration of a call differs.
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

// A Place is the part of a session in which a difference is.
type Place uint8

const (
	// InSession is the session as a whole, such as its negotiated capabilities.
	InSession Place = iota
	// InCall is a call as a whole.
	InCall
	// InRequest is the params of a request.
	InRequest
	// InResponse is the result or the error.
	InResponse
	// InNotification is a notification, whether it belongs to a call or not.
	InNotification
	// InServerRequest is a server request within a call or in an input_required result,
	// InClientResponse the client's response to it.
	InServerRequest
	InClientResponse
	// InUnmatched is a message that is out of place.
	InUnmatched
	placeCount
)

var placeNames = [placeCount]string{"session", "call", "request", "response", "notification", "server_request", "client_response", "unmatched"}

// String returns the stable name: session, call, request, response, notification,
// server_request, client_response or unmatched.
func (p Place) String() string { return nameOf(placeNames[:], uint8(p), "place") }

// MarshalText implements [encoding.TextMarshaler].
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
