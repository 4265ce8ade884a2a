package tap

// A scan reads one frame: it drives the lexer and notes what stands in the
// envelope. [Peek] feeds it a whole frame that a [quick] leaves to it and gets
// slices of that; a [Scanner] feeds it chunks and gets copies of the few words
// that matter.
type scan struct {
	lexer
	envelope
	dupes dupes
	// raw is the whole frame, nil when it comes in chunks.
	raw []byte
	// base is the depth inside the envelope: 1, or 2 in a batch.
	base int
	// marked says that the frame begins with a byte order mark.
	marked bool
	// batch holds the elements that were peeked at, elements how many there
	// are, failures and invalid how many of the first MaxBatch tell of a
	// failure or are no messages.
	batch                       []Message
	elements, failures, invalid int
}

// feed takes the next chunk.
func (s *scan) feed(p []byte) {
	for i := 0; i < len(p) && s.state != stBroken; {
		var done bool
		switch s.state {
		case stString:
			if i, done = s.inString(p, i); done {
				s.stringEnd(p, i)
			}
		case stNumber:
			if i, done = s.inNumber(p, i); done {
				s.scalarEnd(p, i)
			}
		case stWord:
			if i, done = s.inWord(p, i); done {
				s.scalarEnd(p, i)
			}
		default:
			i = s.structure(p, i)
		}
	}
	s.carry(p)
	s.off += int64(len(p))
}

// close says that the frame is over.
func (s *scan) close() {
	if s.state == stNumber && s.depth == 0 && numberComplete(s.sub) {
		s.after() // a number is only known to be over by what follows it
	}
	if s.state == stBroken || s.state == stEnd {
		return
	}
	s.fault = s.unfinished()
	if s.state == stStart {
		s.fault = "blank"
	}
	s.state = stBroken
}

// structure reads what stands between scalars, until one begins.
func (s *scan) structure(p []byte, i int) int {
	for ; i < len(p) && s.state != stBroken; i++ {
		c := p[i]
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			if s.state != stMark {
				continue
			}
		}
		switch s.state {
		case stColon:
			if c != ':' {
				s.unexpected(c, i)
				return i
			}
			s.state = stValue
		case stNext:
			s.next(c, i)
		case stFirstKey, stKey:
			if c == '"' {
				s.begin(stString, i)
				s.isKey, s.keep = true, s.depth == s.base || s.depth == s.base+1
				return i + 1
			}
			if c != '}' || s.state == stKey {
				s.unexpected(c, i)
				return i
			}
			s.pop(i)
		case stFirst:
			if c == ']' {
				s.pop(i)
				continue
			}
			if s.value(c, i) {
				return i + 1
			}
		case stStart, stValue:
			if s.value(c, i) {
				return i + 1
			}
		case stMark:
			s.byteOrderMark(c, i)
		default:
			s.unexpected(c, i)
		}
	}
	return i
}

// next reads what follows a value inside an object or an array.
func (s *scan) next(c byte, i int) {
	object := s.inObject()
	switch {
	case c == ',' && object:
		s.state = stKey
	case c == ',':
		s.state = stValue
	case c == '}' && object, c == ']' && !object:
		s.pop(i)
	default:
		s.unexpected(c, i)
	}
}

// byteOrderMark reads the second and third byte of one.
func (s *scan) byteOrderMark(c byte, i int) {
	s.sub++
	if c != byteOrderMark[s.sub] {
		s.unexpected(c, i)
		return
	}
	if s.sub == 2 {
		s.marked, s.state = true, stStart
	}
}

// value starts a value and reports whether it is a scalar.
func (s *scan) value(c byte, i int) (scalar bool) {
	class := c
	switch {
	case c == '{' || c == '[':
		s.valueBegin(s.off+int64(i), class)
		if s.push(c, i); c == '{' && s.raw != nil {
			s.dupes.open()
		}
		return false
	case c == '"':
		s.begin(stString, i)
		s.isKey = false
	case c == '-' || c-'0' < 10:
		class = '0'
		s.begin(stNumber, i)
		s.sub = numInt
		if c == '-' {
			s.sub = numMinus
		} else if c == '0' {
			s.sub = numZero
		}
	case c == 't', c == 'f', c == 'n':
		s.begin(stWord, i)
		s.word, s.sub = words[c], 1
	case c == byteOrderMark[0] && s.state == stStart && s.off == 0 && i == 0:
		s.state, s.sub = stMark, 0
		return false
	default:
		s.unexpected(c, i)
		return false
	}
	s.valueBegin(s.off+int64(i), class)
	s.keep = s.slot != fNone
	return true
}

var words = [256]string{'t': "true", 'f': "false", 'n': "null"}

// pop ends the innermost object or array at p[i].
func (s *scan) pop(i int) {
	if s.raw != nil && s.inObject() {
		s.dupes.close()
	}
	s.depth--
	s.slot = fNone
	s.after()
	if s.depth <= s.base {
		s.valueEnd(s.off + int64(i) + 1)
	}
}

// stringEnd ends a string before p[i].
func (s *scan) stringEnd(p []byte, i int) {
	if !s.isKey {
		s.scalarEnd(p, i)
		return
	}
	s.state = stColon
	if s.raw != nil {
		s.dupes.key(s.raw, s.mark, i, s.depth == s.base)
	}
	if s.keep {
		s.name(s.token(p, i), s.depth-s.base)
	}
}

// scalarEnd ends a scalar before p[i].
func (s *scan) scalarEnd(p []byte, i int) {
	s.after()
	if s.slot != fNone {
		s.took(s.token(p, i), s.raw == nil)
	}
	if s.depth <= s.base {
		s.valueEnd(s.off + int64(i))
	}
}
