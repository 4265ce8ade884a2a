package filter

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"regexp"
	"strings"
)

// maxBuffered is the size in bytes up to which a payload is unescaped as a
// whole for a regular expression, which then is some times faster.
const maxBuffered = 1 << 20

// compilePayload compiles a term without a key.
func (p *parser) compilePayload(t *term) (*node, *Error) {
	var needles []*needle
	var tests []func(*Item) bool
	for i := range t.values {
		v := &t.values[i]
		switch {
		case v.form == pattern:
			re, texts, err := p.regexp(v, "(?m)")
			if err != nil {
				return nil, err
			}
			tests = append(tests, p.f.regexpTest(re, texts))
		case v.form == bare && onlyStars(v.text):
			tests = append(tests, func(*Item) bool { return true })
		case v.form == quoted:
			needles = append(needles, newNeedle(v.text))
		default:
			needles = append(needles, newGlobNeedle(v.text))
		}
	}
	if needles != nil {
		s := newSearch(needles)
		tests = append([]func(*Item) bool{func(it *Item) bool { return p.f.found(s, it) }}, tests...)
	}
	p.f.needs |= NeedPayload
	return &node{src: p.source(t), test: anyOf(tests), heavy: true}, nil
}

// found searches the payload of an item.
func (f *Filter) found(s *search, it *Item) bool {
	if it.inMemory() {
		return s.whole(it.Frame.Raw)
	}
	s.begin()
	found := false
	if err := it.pieces(func(b []byte) bool {
		found = s.pieces(b)
		return !found
	}); err != nil {
		f.err = err
		return false
	}
	return found || s.end()
}

// regexpTest makes the test of a regular expression, every match of which
// contains one of some texts.
func (f *Filter) regexpTest(re *regexp.Regexp, texts []string) func(*Item) bool {
	if texts == nil {
		return func(it *Item) bool { return f.matches(re, it) }
	}
	var needles []*needle
	for _, s := range texts {
		needles = append(needles, newNeedle(s))
	}
	s := newSearch(needles)
	return func(it *Item) bool { return f.found(s, it) && f.matches(re, it) }
}

// matches reads the views of a payload.
func (f *Filter) matches(re *regexp.Regexp, it *Item) bool {
	if !it.inMemory() {
		return f.matchesStream(re, it, 0)
	}
	b := it.Frame.Raw
	if re.Match(b) {
		return true
	}
	if len(b) > maxBuffered {
		return f.matchesStream(re, it, 1)
	}
	for i := range f.buf {
		if bytes.IndexByte(b, '\\') < 0 {
			return false
		}
		var u unescaper
		f.buf[i] = u.end(u.write(f.buf[i][:0], b))
		if b = f.buf[i]; re.Match(b) {
			return true
		}
	}
	return false
}

// matchesStream reads the views of a payload in pieces, from the given one on.
func (f *Filter) matchesStream(re *regexp.Regexp, it *Item, from int) bool {
	for view := from; view < views; view++ {
		escapes := false
		var err error
		pieces := func(yield func([]byte) bool) { err = it.pieces(yield) }
		var seq iter.Seq[[]byte] = pieces
		for range view {
			escapes = false
			seq = unescaped(seq, &escapes)
		}
		found := matchesSeq(re, seq)
		switch {
		case found:
			return true
		case err != nil:
			f.err = err
			return false
		case view > 0 && !escapes:
			return false
		}
	}
	return false
}

// unescaped yields what pieces of a payload stand for, and notes whether they
// had a backslash.
func unescaped(seq iter.Seq[[]byte], escapes *bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var u unescaper
		var buf []byte
		for b := range seq {
			for len(b) > 0 {
				n := min(len(b), pieceSize)
				*escapes = *escapes || bytes.IndexByte(b[:n], '\\') >= 0
				if buf = u.write(buf[:0], b[:n]); !yield(buf) {
					return
				}
				b = b[n:]
			}
		}
		yield(u.end(buf[:0]))
	}
}

// matchesSeq reads no more pieces than it needs.
func matchesSeq(re *regexp.Regexp, seq iter.Seq[[]byte]) bool {
	next, stop := iter.Pull(seq)
	defer stop()
	return re.MatchReader(bufio.NewReader(&pieceReader{next: next}))
}

// A pieceReader reads pieces as one stream.
type pieceReader struct {
	next func() ([]byte, bool)
	b    []byte
}

// Read implements [io.Reader].
func (r *pieceReader) Read(p []byte) (int, error) {
	for len(r.b) == 0 {
		b, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		r.b = b
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

// onlyStars reports whether a bare text has nothing to search for.
func onlyStars(s string) bool { return strings.Trim(s, "*") == "" }
