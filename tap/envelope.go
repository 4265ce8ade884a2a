package tap

// A field is a member of the envelope, or of its result or error, that a scan
// takes notice of.
type field uint8

const (
	fNone field = iota
	fJSONRPC
	fID
	fMethod
	fParams
	fResult
	fError
	fOther // a member of the envelope without a meaning here
	fIsError
	fResultType
	fCode
	fMessage
	fields
)

// An envelope is what a scan noted of one message.
type envelope struct {
	// class is the first byte of each member's value, with '0' for a number;
	// 0 when the member is absent.
	class [fields]byte
	// text is the token of each scalar.
	text [fields][]byte
	// from and to are where in the frame a value begins and ends.
	from, to [fError + 1]int64
	// object says that the message is an object at all, top what it is.
	top byte
	// member is the envelope's member that is being read, slot the field that
	// the next scalar is for, child the member inside a result or an error.
	member, child, slot field
}

// valueBegin notes that a value of a class begins at an offset.
func (s *scan) valueBegin(at int64, class byte) {
	s.slot = fNone
	switch d := s.depth; {
	case d == 0 && class == '[':
		s.base = 2
		s.top = class
	case d == 0:
		s.base = 1
		s.top = class
	case d == s.base-1: // an element of a batch
		s.envelope = envelope{top: class}
		s.elements++
	case s.top != '{':
	case d == s.base:
		s.memberBegin(at, class)
	case d == s.base+1 && s.child != fNone:
		s.class[s.child] = class
		s.slot = s.child
	}
}

// memberBegin notes the value of a member of the envelope. Whatever an earlier
// member of the same name left is forgotten: the last one counts.
func (s *scan) memberBegin(at int64, class byte) {
	f := s.member
	switch f {
	case fOther, fNone:
		return
	case fResult:
		s.class[fIsError], s.class[fResultType] = 0, 0
		s.text[fResultType] = nil
	case fError:
		s.class[fCode], s.class[fMessage] = 0, 0
		s.text[fCode], s.text[fMessage] = nil, nil
	}
	s.class[f], s.text[f] = class, nil
	s.from[f], s.to[f] = at, at
	s.slot, s.child = f, fNone
}

// name notes a member's name: of the envelope, or of a value inside it.
func (s *scan) name(token []byte, below int) {
	if s.top != '{' {
		return
	}
	var name []byte
	if len(token) <= 6*len("resultType")+2 { // even if every letter is escaped
		if name = token[1 : len(token)-1]; escaped(name) {
			name = []byte(unquote(token))
		}
	}
	if below == 0 {
		s.member, s.child = outerField(name), fNone
		return
	}
	s.child = innerField(s.member, name)
}

// outerField finds a member of the envelope by its name.
func outerField(name []byte) field {
	switch string(name) {
	case "jsonrpc":
		return fJSONRPC
	case "id":
		return fID
	case "method":
		return fMethod
	case "params":
		return fParams
	case "result":
		return fResult
	case "error":
		return fError
	}
	return fOther
}

// innerField finds a member of a result or an error by its name.
func innerField(of field, name []byte) field {
	switch string(name) {
	case "isError":
		if of == fResult {
			return fIsError
		}
	case "resultType":
		if of == fResult {
			return fResultType
		}
	case "code":
		if of == fError {
			return fCode
		}
	case "message":
		if of == fError {
			return fMessage
		}
	}
	return fNone
}

// took notes the token of the scalar that just ended.
func (s *scan) took(token []byte, copied bool) {
	if copied {
		token = append([]byte(nil), clip(token, MaxWord+1)...)
	}
	s.text[s.slot] = token
	s.slot = fNone
}

// valueEnd notes that a value ends before an offset, at the depth of the
// message or of one of its members.
func (s *scan) valueEnd(at int64) {
	switch d := s.depth; {
	case s.base == 2 && d == 1:
		s.elementEnd()
	case d == s.base && s.top == '{' && s.member != fOther && s.member <= fError:
		s.to[s.member] = at
	}
}

// elementEnd ends one element of a batch.
func (s *scan) elementEnd() {
	if s.elements > MaxBatch {
		return
	}
	var m Message
	s.classify(&m)
	if s.raw != nil {
		s.batch = append(s.batch, m)
	}
	if m.IsFailure() {
		s.failures++
	}
	if m.Kind == Invalid {
		s.invalid++
	}
}
