package tap

// A Scanner reads the envelope of one frame that comes in pieces, in constant
// memory, for frames too large to hold. It agrees with [Peek] on the kind, the
// id, the method, isError, the result type and the error's code and message,
// whatever the frame is cut into; it has no params, result, error, batch
// elements or duplicates, and at most MaxWord+1 bytes of an id or a method,
// which are marked [Message.Long]. The zero value is ready.
type Scanner struct {
	s    scan
	over bool
}

// Write takes the next piece of the frame. It keeps nothing of p and never
// fails. After [Scanner.Message] it begins a new frame.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.over {
		s.Reset()
	}
	s.s.feed(p)
	return len(p), nil
}

// Message says that the frame is over and returns what is known of it.
func (s *Scanner) Message() Message {
	s.end()
	return s.s.message()
}

// Failures counts, like Message, to the end of the frame: how many messages of
// it tell of a failure (see [Message.IsFailure]), and how many of these are no
// messages at all. A frame that is no batch counts as one message.
func (s *Scanner) Failures() (failures, invalid int) {
	s.end()
	return s.s.count()
}

// Reset forgets the frame.
func (s *Scanner) Reset() { *s = Scanner{} }

func (s *Scanner) end() {
	if !s.over {
		s.s.close()
		s.over = true
	}
}

// count counts the failures of a frame that is over.
func (s *scan) count() (failures, invalid int) {
	m := s.message()
	if m.Kind == Batch {
		return s.failures, s.invalid
	}
	if m.IsFailure() {
		failures = 1
	}
	if m.Kind == Invalid {
		invalid = 1
	}
	return failures, invalid
}
