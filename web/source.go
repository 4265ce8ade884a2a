package web

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Source is where recordings come from. Its methods may be called from several
// goroutines at once.
type Source interface {
	// Recordings describes what there is, the newest first.
	Recordings() ([]Recording, error)
	// Open opens one by its Key. The error is [io/fs.ErrNotExist] where there is
	// none.
	Open(key string) (Reader, error)
	// Formats names what [Reader.Export] can write.
	Formats() []Format
	// Compare compares two recordings, or sessions of them. It ends early when ctx
	// does.
	Compare(ctx context.Context, a, b Side) (*Comparison, error)
}

// A Reader reads one recording, which may still be growing. It holds nothing
// open between calls.
type Reader interface {
	// Recording describes it as it is now.
	Recording() (Recording, error)
	// Frame returns one frame, with only the beginning of its Raw where that is
	// large.
	Frame(seq uint64) (tap.Frame, error)
	// Frames yields the frames above a number, as far as they are there now.
	Frames(after uint64) iter.Seq2[tap.Frame, error]
	// Follow yields those above a number until the recording or ctx has ended.
	Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error]
	// WriteRaw writes all bytes of a frame that this reader returned.
	WriteRaw(w io.Writer, f tap.Frame) error
	// Export writes the recording in one of the formats.
	Export(ctx context.Context, w io.Writer, format string) error
}

// A Format is a form in which a recording can be saved.
type Format struct {
	// Name is what [Reader.Export] takes, Ext the extension of the file without
	// its dot.
	Name string `json:"name"`
	Ext  string `json:"-"`
	// About says in a few words what it is good for.
	About string `json:"about"`
	// Type is its media type.
	Type string `json:"-"`
}

// A Recording describes a recording without its frames. Its texts come from the
// wire and from command lines, as they are.
type Recording struct {
	// Key names it in the viewer's URLs.
	Key string
	// Arg is what commands name it by where that is not its ID.
	Arg string
	// Path is where it is, for a person to find it.
	Path   string
	Header tap.Header
	Tally  session.Tally
	// Status is ended, live, cut or damaged; Problem says why it is damaged, or
	// what a cut one lacks.
	Status, Problem string
	// Last is the last frame number.
	Last uint64
	// Gaps are the frame numbers that crossed unrecorded.
	Gaps []tap.Range
	// Duration is the offset of the end, or of the last frame.
	Duration time.Duration
	// Size is what it occupies, in bytes.
	Size int64
}
