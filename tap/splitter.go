package tap

import "bytes"

// PartSize is the maximum number of bytes of an unfinished frame that are held in memory. A
// longer frame is recorded in parts of this size and read back as one.
const PartSize = 1 << 20

// A Cut is how a piece of a lane ends.
type Cut uint8

const (
	// CutNone means that the frame continues in the next chunk.
	CutNone Cut = iota
	// CutPart means that the frame continues, but [PartSize] bytes are held.
	CutPart
	// CutFrame means that the piece ends a frame.
	CutFrame
)

// A Splitter cuts one lane of stdio into frames: lines that end in \n. It holds no bytes,
// only the number of bytes of the current frame since the last cut, so its memory is
// constant. The zero value is ready.
type Splitter struct{ held int }

// Next returns how many leading bytes of chunk belong to the current frame, and how that
// piece ends. Call it again with the rest of the chunk while that is not empty. The pieces,
// joined, are the chunks, joined.
func (s *Splitter) Next(chunk []byte) (n int, cut Cut) {
	room := PartSize - s.held
	window := chunk
	if len(window) > room {
		window = window[:room]
	}
	if i := bytes.IndexByte(window, '\n'); i >= 0 {
		s.held = 0
		return i + 1, CutFrame
	}
	s.held += len(window)
	if s.held == PartSize {
		s.held = 0
		return len(window), CutPart
	}
	return len(window), CutNone
}
