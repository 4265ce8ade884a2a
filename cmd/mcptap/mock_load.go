package main

import (
	"bytes"
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
)

// loadMock reads a recording, or a text of one, as people commit it beside their
// tests.
func (a *app) loadMock(arg string, opt replay.Options) (*mock.Recording, error) {
	if isTextFile(arg) {
		f, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		frames, _, err := readSource(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		rec, err := mock.Load(textFrames(frames), opt)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		return rec, nil
	}
	path, err := a.find(arg)
	if err != nil {
		return nil, err
	}
	rec, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	rec.SetMaxRaw(math.MaxInt64)
	return mock.Load(rec.Frames(0), opt)
}

// isTextFile reports whether an argument names a file that is no recording: those have
// zero bytes at their beginning, which no text has.
func isTextFile(name string) bool {
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

// textFrames are the frames of a text.
func textFrames(r frameReader) iter.Seq2[tap.Frame, error] {
	return func(yield func(tap.Frame, error) bool) {
		for {
			f, end, err := r.frame()
			if end != nil && err == nil || !yield(f, err) || err != nil {
				return
			}
		}
	}
}
