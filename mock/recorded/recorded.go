// Package recorded opens files for package mock, which does not depend on them: recordings, and
// texts of recordings, as people commit them beside their tests.
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

// Load loads the file at path: a recording, or one of the two forms of text that `mcptap export`
// writes, which it distinguishes by content. The error names the file. When the context ends,
// Load returns its error.
func Load(ctx context.Context, path string, opt replay.Options) (*mock.Recording, error) {
	rec, err := load(ctx, path, opt)
	if err != nil && !strings.Contains(err.Error(), path) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return rec, err
}

// until yields frames until the context ends, which it checks now and then.
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

func load(ctx context.Context, path string, opt replay.Options) (*mock.Recording, error) {
	if !IsText(path) {
		rec, err := store.Open(path)
		if err != nil {
			return nil, err
		}
		rec.SetMaxRaw(math.MaxInt64)
		return mock.Load(until(ctx, rec.Frames(0)), opt)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := text.NewReader(f)
	if err != nil {
		return nil, err
	}
	return mock.Load(until(ctx, text.Frames(r)), opt)
}

// IsText reports whether a file is not a recording. Recordings have zero bytes near their start,
// texts have none.
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
		return true // so that reading it reports the error
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	return err != nil && n == 0 || bytes.IndexByte(head[:n], 0) < 0
}
