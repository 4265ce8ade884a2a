package web

import (
	"context"
	"iter"

	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// A Source has the recordings that the viewer shows. Its methods may be called from
// several goroutines at once.
type Source interface {
	// Recordings describes the recordings, the newest first.
	Recordings() ([]Recording, error)
	// Open opens a recording by its Key. The error is [io/fs.ErrNotExist] if there is
	// none.
	Open(key string) (Reader, error)
	// Compare compares two recordings, or sessions of them. It ends early when ctx
	// does.
	Compare(ctx context.Context, a, b Side) (*Comparison, error)
}

// A Recording describes a recording without its frames. Its texts come from the
// wire and from command lines, as they are.
type Recording struct {
	store.Info
	// Key names it in the viewer's URLs.
	Key string
	// Arg names it in commands, "" for its ID.
	Arg string
}

// problem returns why the recording is damaged, or what a cut one lacks.
func (r *Recording) problem() string {
	if r.Err == nil {
		return ""
	}
	return r.Err.Error()
}

// A Reader reads one recording.
type Reader struct {
	FrameReader
	Key, Arg string // see [Recording]
}

// Recording describes the recording as it is now.
func (r Reader) Recording() (Recording, error) {
	info, err := r.Info()
	return Recording{info, r.Key, r.Arg}, err
}

// A FrameReader reads the frames of a recording, such as a [store.Recording], which may still be
// growing. It holds nothing open between calls.
type FrameReader interface {
	recording.Source
	// Frame returns one frame, with only the beginning of its Raw if that is large.
	Frame(seq uint64) (tap.Frame, error)
	// Follow yields the frames with a number above after until the recording or ctx
	// has ended.
	Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error]
}
