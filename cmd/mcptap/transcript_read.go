package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
)

// transcriptReader reads what transcriptWriter or a person has written.
type transcriptReader struct {
	files []txtar.File
	next  int
	gaps  []tap.Range
	seq   uint64 // the number of the frame before, as it is written there
	shift uint64 // how many numbers have been closed up
	at    time.Duration
	stop  sourceEnd
	set   bool // stop.at was given
}

// newTranscript parses a transcript and its comment.
func newTranscript(data []byte) (*transcriptReader, source, error) {
	archive := txtar.Parse(data)
	t := &transcriptReader{files: archive.Files}
	var s source
	if len(archive.Files) == 0 {
		return nil, s, withHint(errors.New("neither NDJSON nor a transcript"), "it must come from `mcptap export`")
	}
	for i, line := range strings.Split(string(archive.Comment), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, s, fmt.Errorf("line %d: %s is no `name: value`, nor a comment with #", i+1, quote(line))
		}
		if err := t.comment(&s, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return nil, s, fmt.Errorf("line %d: %s: %w", i+1, name, err)
		}
	}
	t.gaps = s.gaps
	return t, s, nil
}

// comment takes one line of the comment.
func (t *transcriptReader) comment(s *source, name, value string) (err error) {
	if strings.HasPrefix(value, `"`) {
		b, err := unquote([]byte(value))
		if err != nil {
			return err
		}
		value = string(b)
	}
	h := &s.header
	switch name {
	case "id":
		h.ID = value
	case "label":
		h.Label = value
	case "start":
		h.Start, err = time.Parse(time.RFC3339Nano, value)
	case "transport":
		h.Transport = value
	case "command":
		err = json.Unmarshal([]byte(value), &h.Command)
	case "dir":
		h.Dir = value
	case "program":
		h.Program = value
	case "platform":
		h.Platform = value
	case "status":
		if !slices.Contains([]string{"ended", "cut", "live", "damaged"}, value) {
			return errors.New("want ended or cut")
		}
		t.stop.cut = value != "ended"
	case "end":
		t.stop.at, err = time.ParseDuration(strings.TrimPrefix(value, "+"))
		t.set = true
	case "gap":
		from, to, ok := strings.Cut(value, "-")
		var r tap.Range
		var errs [2]error
		r.From, errs[0] = strconv.ParseUint(from, 10, 64)
		r.To, errs[1] = strconv.ParseUint(to, 10, 64)
		if !ok || errs[0] != nil || errs[1] != nil || r.From > r.To {
			return errors.New("want two frame numbers, such as 5-7")
		}
		if n := len(s.gaps); r.From == 0 || n > 0 && r.From <= s.gaps[n-1].To {
			return errors.New("gaps must ascend")
		}
		s.gaps = append(s.gaps, r)
	default:
		return errors.New("no such setting")
	}
	return err
}

func (t *transcriptReader) frame() (tap.Frame, *sourceEnd, error) {
	if t.next == len(t.files) {
		if !t.set {
			t.stop.at = t.at
		}
		return tap.Frame{}, &t.stop, nil
	}
	file := t.files[t.next]
	t.next++
	f, words, err := t.name(file.Name)
	if err == nil {
		f.Raw, err = payload(file.Data, f.Lane, words)
	}
	if err != nil {
		return f, nil, fmt.Errorf("frame %s: %w", quote(file.Name), err)
	}
	f.Size = int64(len(f.Raw))
	t.at = f.At
	if err := t.number(&f); err != nil {
		return f, nil, fmt.Errorf("frame %s: %w", quote(file.Name), err)
	}
	return f, nil, nil
}

// number gives a frame its number. Where numbers are missing that no gap line
// explains, a paragraph was taken out by hand: the rest moves up.
func (t *transcriptReader) number(f *tap.Frame) error {
	written := f.Seq
	if written <= t.seq {
		return fmt.Errorf("its number must be above %d", t.seq)
	}
	missing := written - t.seq - 1
	for _, g := range t.gaps {
		if from, to := max(g.From, t.seq+1), min(g.To, written-1); from <= to {
			missing -= to - from + 1
		}
	}
	t.seq, t.shift = written, t.shift+missing
	f.Seq = written - t.shift
	return nil
}

// name reads a file's name. It returns the words after the time.
func (t *transcriptReader) name(name string) (f tap.Frame, words []string, err error) {
	f.Seq, f.At = t.seq+1, t.at
	all := strings.Fields(name)
	if n, err := strconv.ParseUint(all[0], 10, 64); err == nil {
		f.Seq, all = n, all[1:]
	}
	if len(all) == 0 {
		return f, nil, errors.New("its name has no lane")
	}
	if f.Lane, err = tap.ParseLane(all[0]); err != nil {
		return f, nil, err
	}
	// The last word that reads as a time is the time: a subject may look like
	// one too.
	for i := len(all) - 1; i > 0; i-- {
		text, plus := strings.CutPrefix(all[i], "+")
		if at, err := time.ParseDuration(text); plus && err == nil {
			f.At, words = at, all[i+1:]
			break
		}
	}
	for _, w := range words {
		if err := frameWord(&f, w); err != nil {
			return f, nil, err
		}
	}
	return f, words, nil
}

func frameWord(f *tap.Frame, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case slices.Contains([]string{"base64", "quoted", "crlf", "open", "line"}, word):
	case word == "torn":
		f.Torn = true
	case key == "took":
		f.Took, err = time.ParseDuration(value)
	case key == "exchange":
		f.Exchange, err = strconv.ParseUint(value, 10, 64)
	default:
		err = fmt.Errorf("unknown word %s after the time", quote(word))
	}
	return err
}

// payload returns the bytes that a file stands for.
func payload(data []byte, lane tap.Lane, words []string) ([]byte, error) {
	if slices.Contains(words, "base64") {
		return base64.StdEncoding.AppendDecode(nil, bytes.Join(bytes.Fields(data), nil))
	}
	if slices.Contains(words, "quoted") {
		return unquote(trimSpace(data))
	}
	// The empty line that sets two frames apart in a file written by hand is
	// no part of either.
	line := bytes.TrimSuffix(data, []byte("\n"))
	if len(line) > 0 {
		line = bytes.TrimRight(line, "\n")
	}
	line = bytes.TrimSuffix(line, []byte("\r")) // an editor's; one that crossed would be marked
	if bytes.IndexByte(line, '\n') >= 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, line); err != nil {
			return nil, withHint(errors.New("a frame is one line, or JSON"), "anything else stands as a JSON string, with the word quoted after the time")
		}
		line = compact.Bytes()
	}
	switch {
	case slices.Contains(words, "open"), lane == tap.Life && !slices.Contains(words, "line"):
		return line, nil
	case slices.Contains(words, "crlf"):
		return append(line[:len(line):len(line)], "\r\n"...), nil
	}
	return append(line[:len(line):len(line)], '\n'), nil
}
