// Package recorded opens what can be played: a recording, or a text of one, as
// people commit it beside their tests. It is a package of its own because package
// mock plays frames wherever they come from, and must know nothing of files.
package recorded

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/text"
)

// Load makes a script of the file at path: a recording, or one of the two forms of
// text that `mcptap export` writes, told apart by what is in it. The error names
// the file. When the context ends, so does the reading, with the context's error.
func Load(ctx context.Context, path string, opt replay.Options) (*mock.Recording, error) {
	load := loadStored
	if IsText(path) {
		load = loadText
	}
	rec, err := load(path, func(frames iter.Seq2[tap.Frame, error]) (*mock.Recording, error) {
		return mock.Load(until(ctx, frames), opt)
	})
	if err != nil && !strings.Contains(err.Error(), path) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return rec, err
}

// until are the frames until the context ends, which is looked at now and then.
func until(ctx context.Context, frames iter.Seq2[tap.Frame, error]) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		n := 0
		for f, err := range frames {
			if n++; n%64 == 1 && err == nil && ctx.Err() != nil {
				f, err = tap.Frame{}, ctx.Err()
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// A player makes something to play of frames.
type player func(iter.Seq2[tap.Frame, error]) (*mock.Recording, error)

func loadStored(path string, stored player) (*mock.Recording, error) {
	rec, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	rec.SetMaxRaw(math.MaxInt64)
	return stored(rec.Frames(0))
}

func loadText(path string, written player) (*mock.Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := text.NewReader(f)
	if err != nil {
		return nil, err
	}
	return written(text.Frames(r))
}

// IsText reports whether a name is that of a file which is no recording: those have
// zero bytes at their beginning, which no text has.
func IsText(name string) bool {
	if strings.HasSuffix(name, store.Ext) {
		return false
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return true // to say why not
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	return err != nil && n == 0 || bytes.IndexByte(head[:n], 0) < 0
}
