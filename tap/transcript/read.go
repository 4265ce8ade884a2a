package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// Parse reads a whole transcript.
func Parse(data []byte) (Head, []tap.Frame, error) {
	r, err := NewReader(data)
	if err != nil {
		return Head{}, nil, err
	}
	var frames []tap.Frame
	for {
		f, err := r.Next()
		if err == io.EOF {
			return r.Head(), frames, nil
		}
		if err != nil {
			return r.Head(), frames, err
		}
		frames = append(frames, f)
	}
}

// A Reader reads what a [Writer] or a person has written, frame by frame.
type Reader struct {
	head  Head
	files []txtar.File
	next  int
	seq   uint64 // the number of the frame before, as it is written there
	shift uint64 // how many numbers have been closed up
	gap   int    // the first gap that is not behind
	at    time.Duration
}

// NewReader reads the comment of a transcript. The error is [ErrNoFrames] or an
// [Error]. The Reader takes data as its own.
func NewReader(data []byte) (*Reader, error) {
	archive := txtar.Parse(data)
	t := &Reader{files: archive.Files}
	empty, settings := len(archive.Files) == 0, 0
	for i, line := range strings.Split(string(archive.Comment), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok && empty {
			return nil, ErrNoFrames
		}
		if !ok {
			return nil, &Error{Problem: fmt.Sprintf("line %d: %s is no `name: value`, nor a comment with #", i+1, quote(line))}
		}
		if err := t.head.set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			if empty {
				return nil, ErrNoFrames
			}
			return nil, &Error{Problem: fmt.Sprintf("line %d: %s: %v", i+1, name, err)}
		}
		settings++
	}
	if empty && settings == 0 {
		return nil, ErrNoFrames
	}
	return t, nil
}

// Head returns what the comment says.
func (t *Reader) Head() Head { return t.head }

// set takes one line of the comment.
func (h *Head) set(name, value string) (err error) {
	if strings.HasPrefix(value, `"`) {
		b, err := escape.Unquote([]byte(value))
		if err != nil {
			return err
		}
		value = string(b)
	}
	switch name {
	case "id":
		h.Header.ID = value
	case "label":
		h.Header.Label = value
	case "start":
		h.Header.Start, err = time.Parse(time.RFC3339Nano, value)
	case "transport":
		h.Header.Transport = value
	case "command":
		err = json.Unmarshal([]byte(value), &h.Header.Command)
	case "upstream":
		h.Header.Upstream = value
	case "dir":
		h.Header.Dir = value
	case "program":
		h.Header.Program = value
	case "platform":
		h.Header.Platform = value
	case "status":
		if !slices.Contains(statuses, value) {
			return errors.New("want ended or cut")
		}
		h.Status = value
	case "end":
		h.End, err = time.ParseDuration(strings.TrimPrefix(value, "+"))
	case "gap":
		err = h.gap(value)
	default:
		return errors.New("no such setting")
	}
	return err
}

func (h *Head) gap(value string) error {
	from, to, ok := strings.Cut(value, "-")
	var r tap.Range
	var errs [2]error
	r.From, errs[0] = strconv.ParseUint(from, 10, 64)
	r.To, errs[1] = strconv.ParseUint(to, 10, 64)
	if !ok || errs[0] != nil || errs[1] != nil || r.From > r.To {
		return errors.New("want two frame numbers, such as 5-7")
	}
	if n := len(h.Gaps); r.From == 0 || n > 0 && r.From <= h.Gaps[n-1].To {
		return errors.New("gaps must ascend")
	}
	h.Gaps = append(h.Gaps, r)
	return nil
}

// Next returns the next frame, and [io.EOF] after the last one. Any other error
// is an [Error].
func (t *Reader) Next() (tap.Frame, error) {
	if t.next == len(t.files) {
		return tap.Frame{}, io.EOF
	}
	file := t.files[t.next]
	t.next++
	f, words, err := t.name(file.Name)
	if err == nil {
		f.Raw, err = payload(file.Data, f.Lane, words)
	}
	if err == nil {
		f.Size = int64(len(f.Raw))
		err = t.time(&f)
	}
	if err == nil {
		err = t.number(&f)
	}
	if err != nil {
		wrong := &Error{Problem: fmt.Sprintf("frame %s: %v", quote(file.Name), err)}
		if errors.Is(err, errLines) {
			wrong.Hint = "anything else stands as a JSON string, with the word quoted after the time"
		} else if errors.Is(err, errTime) {
			wrong.Hint = "a frame without a time has that of the one before it"
		}
		return f, wrong
	}
	return f, nil
}

var errTime = errors.New("its time is before that of the frame before it")

// time checks what no recording can hold, so that whoever reads a transcript takes
// the same ones.
func (t *Reader) time(f *tap.Frame) error {
	switch {
	case f.At < t.at:
		return fmt.Errorf("%w, +%v", errTime, t.at)
	case f.Took < 0 || f.Took > f.At:
		return fmt.Errorf("it took %v until +%v, longer than the recording ran", f.Took, f.At)
	}
	t.at = f.At
	return nil
}

// number gives a frame its number. Where numbers are missing that no gap line
// explains, a paragraph was taken out by hand: the rest moves up.
func (t *Reader) number(f *tap.Frame) error {
	written := f.Seq
	if written >= 1<<63 {
		return errors.New("no recording has that many frames")
	}
	if written <= t.seq {
		return fmt.Errorf("its number must be above %d", t.seq)
	}
	missing := written - t.seq - 1
	for ; t.gap < len(t.head.Gaps); t.gap++ {
		g := t.head.Gaps[t.gap]
		if from, to := max(g.From, t.seq+1), min(g.To, written-1); from <= to {
			missing -= to - from + 1
		}
		if g.To >= written {
			break
		}
	}
	t.seq, t.shift = written, t.shift+missing
	f.Seq = written - t.shift
	return nil
}

// name reads a file's name. It returns the words after the time.
func (t *Reader) name(name string) (f tap.Frame, words []string, err error) {
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
	case key == "form":
		f.Form, err = tap.ParseForm(value)
	default:
		err = fmt.Errorf("unknown word %s after the time", quote(word))
	}
	return err
}

var errLines = errors.New("a frame is one line, or JSON")

// payload returns the bytes that a file stands for.
func payload(data []byte, lane tap.Lane, words []string) ([]byte, error) {
	if slices.Contains(words, "base64") {
		return base64.StdEncoding.AppendDecode(nil, bytes.Join(bytes.Fields(data), nil))
	}
	if slices.Contains(words, "quoted") {
		return escape.Unquote(bytes.Trim(data, " \t\r\n"))
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
			return nil, errLines
		}
		line = compact.Bytes()
	}
	switch {
	case slices.Contains(words, "crlf"):
		return append(line[:len(line):len(line)], "\r\n"...), nil
	case slices.Contains(words, "open"), lane == tap.Life && !slices.Contains(words, "line"):
		return line, nil
	}
	return append(line[:len(line):len(line)], '\n'), nil
}
