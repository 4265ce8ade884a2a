package diff

import (
	"fmt"
	"strings"
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
func (c Class) String() string {
	if c < Classes {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
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
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

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
func (p Place) String() string {
	if p < placeCount {
		return placeNames[p]
	}
	return fmt.Sprintf("place(%d)", uint8(p))
}
