package tap

import (
	"fmt"
	"strconv"
)

// A lexState says what may come next.
type lexState uint8

const (
	stStart    lexState = iota // the message, after white space
	stMark                     // the rest of a byte order mark
	stValue                    // a value
	stFirst                    // a value or ]
	stFirstKey                 // a member or }
	stKey                      // a member
	stColon                    // :
	stNext                     // , or the end of the object or array
	stEnd                      // nothing but white space
	stString                   // inside a string
	stNumber                   // inside a number
	stWord                     // inside true, false or null
	stBroken                   // this is not JSON
)

// A lexer checks JSON (RFC 8259) that comes in chunks. It recurses nowhere and
// its memory is bounded: a hundred megabytes of brackets must not overflow
// the stack, which in Go ends the program and cannot be recovered from.
type lexer struct {
	state lexState
	// sub is where inside an escape, a number, a word or the byte order mark
	// the lexer stands.
	sub uint8
	// isKey says that the string being read is a member's name.
	isKey bool
	// keep says that the token being read is wanted, so that its beginning has
	// to be carried over to the next chunk.
	keep bool
	// depth is how many arrays and objects are open. There is a bit for each,
	// 1 for an object: in shallow for the first 64 levels, in deep beyond.
	depth   int
	shallow uint64
	deep    []uint64
	// off is the offset of the chunk in the frame.
	off int64
	// mark is where in the chunk the current token begins, and carried what
	// came of it in earlier chunks, at most MaxWord+1 bytes.
	mark    int
	carried []byte
	// word is the literal being read.
	word string
	// fault says why the state is stBroken.
	fault string
}

func (x *lexer) broken(what string, i int) {
	x.state = stBroken
	x.fault = what + " at byte " + strconv.FormatInt(x.off+int64(i), 10)
}

func (x *lexer) unexpected(c byte, i int) {
	if c < 0x20 || c >= 0x7f {
		x.broken(fmt.Sprintf("not JSON: unexpected 0x%02X", c), i)
		return
	}
	x.broken(fmt.Sprintf("not JSON: unexpected %q", c), i)
}

// inObject reports whether the innermost open container is an object.
func (x *lexer) inObject() bool {
	d := uint(x.depth - 1)
	if d < 64 {
		return x.shallow>>d&1 == 1
	}
	return x.deep[d/64-1]>>(d%64)&1 == 1
}

// push opens an object or an array.
func (x *lexer) push(c byte, i int) {
	if x.depth == MaxDepth {
		x.broken(fmt.Sprintf("nested more than %d deep", MaxDepth), i)
		return
	}
	d := uint(x.depth)
	x.depth++
	word := &x.shallow
	if d >= 64 {
		if int(d/64) > len(x.deep) {
			x.deep = append(x.deep, 0)
		}
		word = &x.deep[d/64-1]
	}
	if c == '{' {
		*word |= 1 << (d % 64)
		x.state = stFirstKey
		return
	}
	*word &^= 1 << (d % 64)
	x.state = stFirst
}

// after sets what may follow a complete value.
func (x *lexer) after() {
	x.state = stNext
	if x.depth == 0 {
		x.state = stEnd
	}
}

// carry saves the beginning of a token that goes on in the next chunk.
func (x *lexer) carry(p []byte) {
	if x.keep && (x.state == stString || x.state == stNumber || x.state == stWord) {
		rest := p[x.mark:]
		if room := MaxWord + 1 - len(x.carried); len(rest) > room {
			rest = rest[:room]
		}
		x.carried = append(x.carried, rest...)
	}
	x.mark = 0
}

// token returns the token that ends before p[end]. It is valid until the next
// token begins, and cut at MaxWord+1 bytes if it came in several chunks.
func (x *lexer) token(p []byte, end int) []byte {
	if len(x.carried) == 0 {
		return p[x.mark:end]
	}
	rest := p[x.mark:end]
	if room := MaxWord + 1 - len(x.carried); len(rest) > room {
		rest = rest[:room]
	}
	return append(x.carried, rest...)
}

// begin starts a token at p[i].
func (x *lexer) begin(state lexState, i int) {
	x.state, x.sub, x.mark = state, 0, i
	x.carried = x.carried[:0]
}

// unfinished says what was missing when the frame ended.
func (x *lexer) unfinished() string {
	where := " at byte " + strconv.FormatInt(x.off, 10)
	switch x.state {
	case stString:
		return "not JSON: ends inside a string" + where
	case stMark:
		return "not JSON: ends inside a byte order mark" + where
	}
	return "not JSON: ends too early" + where
}
