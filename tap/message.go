package tap

import (
	"strconv"
	"unicode/utf8"
)

// MaxWord is how many bytes of one id, method or error message are kept where
// they cannot simply point into the frame.
const MaxWord = 4096

// MaxDepth is how many arrays and objects may stand inside one another. A
// deeper frame is [Invalid], which also bounds what reading it costs. The
// standard library of Go draws the same line.
const MaxDepth = 10000

// MaxBatch is how many elements of a batch are peeked at. The rest is checked
// to be JSON and no more, so that a frame of `[1,1,1,…` cannot take a hundred
// times its own size in memory. The TypeScript SDK refuses batches above 100.
const MaxBatch = 10000

// A Message is the peek of one frame: its envelope, and nothing below it but
// the few words a list needs. Byte slices point into the frame that was peeked
// at, so they live and change with it.
//
// Where a member occurs twice, the last one counts, as it does for the JSON
// parsers of JavaScript, Python and Go, and DuplicateKeys names it.
type Message struct {
	// Kind says what the frame is. The other fields are set as far as they
	// could be read, whatever the kind.
	Kind Kind
	// ID is the id exactly as it stands, quotes included, so that `"1"` and
	// `1` differ; nil when there is none, or when it is an object or an array.
	ID []byte
	// Method is the decoded method; "" when there is none.
	Method string
	// Params, Result and Error are the members' values as they stand; nil when
	// absent. Result may be any JSON, `null` included: presence is what counts.
	Params, Result, Error []byte
	// ErrorCode is error.code as it is written, never through a float; "" when
	// it is absent or no number.
	ErrorCode string
	// ErrorMessage is error.message, decoded, at most [MaxWord] bytes of it. An
	// error that is itself a string is its own message.
	ErrorMessage string
	// IsError says that the result has a member isError which is true: the
	// tool failed (server/tools#error-handling).
	IsError bool
	// ResultType is result.resultType, decoded (2026-07-28, basic/index).
	ResultType string
	// Reason says in words why the kind is Invalid or what else is odd about
	// the envelope; "" when nothing is. Several remarks are joined by "; ".
	Reason string
	// DuplicateKeys names the members that occur twice in the envelope, each
	// once.
	DuplicateKeys []string
	// Duplicates says that some object of the frame, at any of its first 32
	// levels of objects, has two members of one name, or a later one the name of
	// one of its first 128.
	Duplicates bool
	// Long says that the id or the method is longer than [MaxWord]. A
	// [Scanner] then has only the beginning of it.
	Long bool
	// Batch holds the elements of a batch, at most [MaxBatch].
	Batch []Message
}

// IsFailure reports whether the message by itself tells of a failure: an error
// response, a result with isError, or a frame that is no message.
func (m *Message) IsFailure() bool {
	return m.Kind == ErrorResponse || m.Kind == Invalid || m.Kind == Response && m.IsError
}

// Peek reads the envelope of one frame. It takes any bytes: terminators, white
// space around the message, a byte order mark, banners, cut or hostile JSON.
// The frame is checked to be JSON in full, since tools that skip that read
// nonsense without complaint. Peek holds on to raw and changes nothing in it.
func Peek(raw []byte) Message {
	if mayQuick(raw) {
		var q quick
		if q.read(raw) {
			var m Message
			q.classify(&m, raw)
			return m
		}
	}
	return peekOdd(raw)
}

// peekOdd is [Peek] for any frame, in three times the time.
func peekOdd(raw []byte) Message {
	var s scan
	s.raw = raw
	s.feed(raw)
	s.close()
	m := s.message()
	if i := invalidUTF8(raw); i >= 0 && m.Kind != Invalid {
		m.Reason = remark(m.Reason, "not UTF-8 at byte "+strconv.Itoa(i))
	}
	return m
}

// invalidUTF8 returns where raw stops being UTF-8, or -1.
func invalidUTF8(raw []byte) int {
	if utf8.Valid(raw) {
		return -1
	}
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// remark adds one remark to those that a reason already holds.
func remark(reason, more string) string {
	if reason == "" {
		return more
	}
	return reason + "; " + more
}

// byteOrderMark must not stand before JSON and may be ignored where it does
// (RFC 8259 section 8.1).
const byteOrderMark = "\xef\xbb\xbf"
