package tap

import (
	"bytes"
)

// ordinary reports whether a frame counts for nothing but itself: it is a
// message, it tells of no failure, and the facts have nothing to learn from
// it. It says no when in doubt. The writer asks this for every frame while the
// traffic waits, so it reads only the head of a frame, and of a result
// searches the rest for what an error would need.
func (t *Tally) ordinary(lane Lane, raw []byte) bool {
	h := readHead(raw)
	switch h.member {
	case headMethod:
		return lane == ToClient || t.nothingIn(raw, h.method)
	case headResult:
		return (lane == ToServer || t.nothingAnswered(raw)) && !mayFail(raw)
	}
	return false
}

// nothingIn reports whether [Facts.Learn] would ignore a request of the client.
func (t *Tally) nothingIn(raw, method []byte) bool {
	if string(method) == "initialize" || string(method) == "server/discover" || !t.Finding.Asked {
		return false
	}
	if t.Finding.Settled {
		return true
	}
	searched := t.Finding.Plain < enoughPlain || t.Finding.Plain%16 == 0
	if searched && mayHold(raw, "modelcontextprotocol") {
		return false
	}
	t.Finding.Plain++
	return true
}

// enoughPlain is how many requests that carry no version there must be before
// only every sixteenth is searched for one. Where there is no handshake, every
// request carries its version, so one that is skipped tells nothing new.
const enoughPlain = 128

// nothingAnswered reports whether [Facts.Learn] would ignore a response.
func (t *Tally) nothingAnswered(raw []byte) bool {
	state := &t.Finding
	switch {
	case state.Initialize != nil || state.Discover != nil:
		return false
	case t.Facts.Era != Modern:
		return true
	case !state.Settled:
		return false
	}
	return t.Facts.Server != (Party{}) || !mayHold(raw, "serverInfo")
}

// mayHold reports whether raw holds a name, or an escape that could spell it.
func mayHold(raw []byte, name string) bool {
	return bytes.Contains(raw, []byte(name)) || bytes.Contains(raw, []byte(`\u00`))
}

const (
	headOdd uint8 = iota
	headMethod
	headResult
)

// A head is what the first members of an envelope say.
type head struct {
	member uint8  // the member that decided, headOdd when none did
	method []byte // the method's letters
}

// readHead reads the members before the first that says what a message is.
// Whatever is not plain (another order, escapes, an odd id) is headOdd.
func readHead(raw []byte) head {
	raw = trimSpace(raw)
	if len(raw) < 2 || raw[len(raw)-1] != '}' {
		return head{}
	}
	raw = trimSpace(raw[:len(raw)-1])
	if bytes.HasSuffix(raw, []byte("null")) {
		return head{} // the id may be last, and null
	}
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return head{}
	}
	for i < len(raw) {
		i = skipSpace(raw, i+1)
		name := nameAt(raw, i)
		i = skipColon(raw, i+len(name))
		switch name {
		case `"method"`:
			return readMethod(raw, i)
		case `"result"`:
			if i < len(raw) && raw[i] == '{' {
				return head{member: headResult}
			}
			return head{} // null may stand beside an error
		case "":
			return head{}
		}
		i = skipSpace(raw, skipPlainScalar(raw, i))
		if i >= len(raw) || raw[i] != ',' {
			return head{}
		}
	}
	return head{}
}

// nameAt returns the name at b[i], if it is one that a head may have.
func nameAt(b []byte, i int) string {
	if b = b[i:]; len(b) < 9 {
		return ""
	}
	switch {
	case string(b[:9]) == `"jsonrpc"`:
		return `"jsonrpc"`
	case string(b[:4]) == `"id"`:
		return `"id"`
	case string(b[:8]) == `"method"`:
		return `"method"`
	case string(b[:8]) == `"result"`:
		return `"result"`
	}
	return ""
}

// readMethod reads the value of a method at raw[i].
func readMethod(raw []byte, i int) head {
	end := skipPlainScalar(raw, i)
	if end > len(raw) || raw[i] != '"' {
		return head{}
	}
	return head{headMethod, raw[i+1 : end-1]}
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i
}

// skipColon returns where the value after a name begins, len(b) if none does.
func skipColon(b []byte, i int) int {
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ':' {
		return len(b)
	}
	return skipSpace(b, i+1)
}

// skipPlainScalar returns where a string without escapes or an integer ends,
// beyond len(b) if the value is anything else.
func skipPlainScalar(b []byte, i int) int {
	odd := len(b) + 1
	if i >= len(b) {
		return odd
	}
	if b[i] == '"' {
		if i = skipPlain(b, i+1); i < len(b) && b[i] == '"' {
			return i + 1
		}
		return odd
	}
	from := i
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	if i == from {
		return odd
	}
	return i
}

// mayFail reports whether a result could have a member isError that is true.
// Outside of encoded data a capital E is rare, so that is what is searched for,
// many bytes at a time; the name can also be spelled with escapes.
func mayFail(raw []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(raw[i:], 'E')
		if n < 0 {
			return spellsIsError(raw)
		}
		i += n
		if !bytes.HasPrefix(raw[i:], []byte(`Error"`)) || !bytes.HasSuffix(raw[:i], []byte(`"is`)) {
			continue
		}
		after := raw[i+len(`Error"`):]
		if !bytes.HasPrefix(after[skipColon(after, 0):], []byte("false")) {
			return true
		}
	}
}

// spellsIsError looks for \u escapes of the letters of isError.
func spellsIsError(raw []byte) bool {
	for i := 0; ; i += 2 {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return false
		}
		if i += n; i+6 > len(raw) {
			return false
		}
		if raw[i+1] == 'u' && raw[i+2] == '0' && raw[i+3] == '0' {
			switch string(raw[i+4 : i+6]) {
			case "69", "73", "45", "72", "6f", "6F":
				return true
			}
		}
	}
}
