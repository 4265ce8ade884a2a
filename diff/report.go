package diff

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
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
	Counts [Classes]uint64
	// Differences are the first [Options.Most] of each class, in the order of the
	// session. Equal ones are one of them.
	Differences []Difference
	// Left counts those that are not in Differences.
	Left [Classes]uint64
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
	Name string
	// Era and Revision are as in [session.Facts]; in the 002 dialect the revision is
	// [jsonrpc.Dialect].
	Era      jsonrpc.Era
	Revision jsonrpc.Revision
	// Client and Server are what the two call themselves.
	Client, Server session.Party
	// Calls counts those that no call asked, Frames what was read.
	Calls, Frames uint64
	// Lacks says what is missing in the recording, "" if nothing is.
	Lacks string
}

// A Difference is one way in which the two sessions differ.
type Difference struct {
	Class Class
	Kind  Kind
	In    Place
	// By is the lane of the message that differs: [tap.ToServer] if it is the
	// client's doing, [tap.ToClient] if it is the server's.
	By tap.Lane
	// Method and Subject are those of the call, "" for the session as a whole.
	// Name is the tool, prompt or resource, as in [Group]. Message is the method of the notification or the question, "" where the
	// call's own request or answer differs.
	Method, Name, Subject, Message string
	// CallA and CallB name the first request of the call on each side, A and B
	// the messages that differ. They are zero where there is none.
	CallA, CallB, A, B session.Ref
	// Path leads to the value from the message that it is in, such as
	// $.result.content[0].text, or from the session, such as $.server.info.version. It
	// is what [ParseRule] takes.
	Path string
	// Old and New are what is there on each side as JSON, shortened to
	// [MaxExcerpt] bytes; "" where there is nothing. OldSize and NewSize are how
	// long they are in full.
	Old, New         string
	OldSize, NewSize int
	// Rows compare two texts of some length; MoreRows is how many are left out.
	Rows     []jsontree.Row
	MoreRows int
	// What says in words what changed, where the path does not say it.
	What string
	// Reason says why it is of its class, Page which page of the specification
	// says so, such as 2026-07-28/basic/patterns/mrtr; both may be "".
	Reason, Page string
	// Times is how often this very difference occurs, and Also names the calls
	// where it occurs again: the first [MaxAlso].
	Times uint64
	Also  []CallPair
	// OldTime and NewTime are those of a call that takes another time.
	OldTime, NewTime time.Duration

	// names reports that What names what it is about.
	names bool
}

// What of a report is bounded.
const (
	// MaxExcerpt is how many bytes of a value stand in a [Difference].
	MaxExcerpt = 400
	// MaxAlso is how many calls are named in which a difference occurs again.
	MaxAlso = 8
	// MaxGroups is how many groups there are; calls beyond count in the last.
	MaxGroups = 5000
	// DefaultMost is how many differences of each class are told unless
	// [Options] say otherwise.
	DefaultMost = 1000
)

// A CallPair names a call on both sides.
type CallPair struct{ A, B session.Ref }

// A Group sums up the calls of one method about one thing.
type Group struct {
	// Method and Name are theirs: the tool, prompt or resource. Others says
	// that it holds the calls beyond [MaxGroups], of any method.
	Method, Name string
	Others       bool
	// Calls counts them, and Same and Alike those of them, as in [Report].
	// Missing and Extra are on one side only.
	Calls, Same, Alike, Missing, Extra uint64
	// Counts is how many differences there are in them, by class.
	Counts [Classes]uint64
	// MedianA and MedianB are how long they took, of those that were answered on
	// both sides; Timed is how many that are.
	MedianA, MedianB time.Duration
	Timed            int
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
