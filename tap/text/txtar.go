package text

import (
	"bufio"
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
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

const intro = `# A transcript of mcptap, made to be read and edited. The comment describes the
# recording. Each file is a frame: number, lane (to_server, to_client, stderr or
# lifecycle), words for the reader, and the time since the start; below it what
# crossed. ` + "`mcptap import`" + ` makes a recording of it again.
`

// A TxtarWriter writes txtar: [TxtarWriter.Begin], then [TxtarWriter.Frame] for
// each frame.
type TxtarWriter struct {
	// W is flushed by the caller.
	W *bufio.Writer // its errors stick
	// Raw writes all bytes of a frame that is not whole. It may be nil if all
	// frames are.
	Raw func(w io.Writer, f tap.Frame) error
}

// names returns the fields of a header that are strings, by their names.
func names(h *tap.Header) map[string]*string {
	return map[string]*string{
		"id": &h.ID, "label": &h.Label, "transport": &h.Transport, "upstream": &h.Upstream,
		"dir": &h.Dir, "program": &h.Program, "platform": &h.Platform,
	}
}

// Begin writes the comment.
func (t *TxtarWriter) Begin(h Head) error {
	line := func(name, value string) { fmt.Fprintf(t.W, "%s: %s\n", name, value) }
	fields := names(&h.Header)
	t.W.WriteString(intro)
	line("id", plainValue(h.Header.ID))
	line("label", plainValue(h.Header.Label))
	line("start", h.Header.Start.UTC().Format(time.RFC3339Nano))
	line("transport", plainValue(h.Header.Transport))
	if h.Header.Command != nil {
		list := make([]string, len(h.Header.Command))
		for i, s := range h.Header.Command {
			list[i] = jsonString(s)
		}
		line("command", "["+strings.Join(list, ",")+"]")
	}
	for _, name := range []string{"upstream", "dir", "program", "platform"} {
		if value := *fields[name]; value != "" {
			line(name, plainValue(value))
		}
	}
	if h.Status != "" {
		line("status", h.Status)
	}
	if h.End > 0 {
		line("end", "+"+h.End.Round(time.Microsecond).String())
	}
	for _, g := range h.Gaps {
		line("gap", fmt.Sprintf("%d-%d", g.From, g.To))
	}
	return t.W.WriteByte('\n')
}

// plainValue returns a value of the comment: unchanged if it can be read back, else
// as a JSON string.
func plainValue(s string) string {
	if escape.Clean(s) && s == strings.TrimSpace(s) && !strings.HasPrefix(s, `"`) && s != "" {
		return s
	}
	return jsonString(s)
}

func jsonString(s string) string {
	return string(escape.AppendString(nil, strings.ToValidUTF8(s, "\ufffd")))
}

// Frame writes the next frame, or nothing if its bytes cannot be read. The words
// describe it to a human reader; they may be anything, and are not read back.
func (t *TxtarWriter) Frame(f tap.Frame, words ...string) error {
	if err := readable(&f, t.Raw); err != nil {
		return err
	}
	form := formOf(&f)
	fmt.Fprintf(t.W, "-- %s --\n", name(&f, words, form))
	var err error
	switch form {
	case "base64":
		wrap := &wrapWriter{w: t.W}
		if err = writeBase64(wrap, &f, t.Raw); wrap.at == 0 { // no bytes, no line
			return err
		}
	case "quoted":
		t.W.WriteByte('"')
		err = escape.WriteInside(t.W, f.Raw)
		t.W.WriteByte('"')
	default:
		t.W.Write(bytes.TrimRight(f.Raw, "\r\n"))
	}
	return errors.Join(err, t.W.WriteByte('\n'))
}

// formOf chooses how a frame's bytes are written: crlf, open, quoted or base64, or
// "" for one line of text that ends in \n.
func formOf(f *tap.Frame) string {
	if !f.Whole() || !utf8.Valid(f.Raw) {
		return "base64"
	}
	line, ended := bytes.CutSuffix(f.Raw, []byte("\n"))
	crlf := ended && bytes.HasSuffix(line, []byte("\r"))
	if crlf {
		line = line[:len(line)-1]
	}
	switch marker := bytes.HasPrefix(line, []byte("-- ")) && bytes.HasSuffix(line, []byte(" --")); {
	case len(f.Raw) == 0, marker, bytes.ContainsFunc(line, unfit):
		return "quoted"
	case crlf:
		return "crlf"
	case !ended:
		return "open"
	}
	return ""
}

// unfit reports whether a character would end the line or mislead a reader.
// Joiners of emoji and scripts may stay, unlike on a terminal.
func unfit(r rune) bool {
	return escape.Hazard(r) && r != '\t' && r != 0x200c && r != 0x200d
}

// name returns the name of a frame's file.
func name(f *tap.Frame, about []string, form string) string {
	words := []string{fmt.Sprintf("%04d", f.Seq), f.Lane.String()}
	for _, w := range about {
		if w = cut(strings.Join(strings.Fields(escape.String(w)), " "), 80); w != "" {
			words = append(words, w)
		}
	}
	add := func(ok bool, word string) {
		if ok {
			words = append(words, word)
		}
	}
	lifecycle, took := f.Lane == tap.Lifecycle, f.Took.Round(time.Microsecond)
	add(true, "+"+f.At.Round(time.Microsecond).String())
	add(lifecycle && form == "", "line")
	add(form != "" && !(lifecycle && form == "open"), form)
	add(f.Truncated, "truncated")
	add(took > 0, "took="+took.String())
	add(f.Exchange != 0, fmt.Sprintf("exchange=%d", f.Exchange))
	add(f.Form != tap.FormLine, "form="+f.Form.String())
	return strings.Join(words, " ")
}

// A wrapWriter breaks lines at 76 columns.
type wrapWriter struct {
	w  *bufio.Writer
	at int
}

func (l *wrapWriter) Write(p []byte) (int, error) {
	for _, c := range p {
		if l.at == 76 {
			l.w.WriteByte('\n')
			l.at = 0
		}
		l.w.WriteByte(c)
		l.at++
	}
	return len(p), nil
}

// A txtarReader is the Reader of txtar.
type txtarReader struct {
	head  Head
	files []txtar.File // not yet read
	line  int          // where the first of them begins
	order order
	shift uint64 // how much numbers are lowered by
	gap   int    // the first gap that is not before the frame
	// unnumbered reports that the frame has no number, inserted counts those frames.
	unnumbered bool
	inserted   uint64
}

// newTxtarReader reads the comment, which begins at the given line of the text. The error
// is an [Error]. The reader owns data.
func newTxtarReader(data []byte, line int) (Reader, error) {
	archive := txtar.Parse(data)
	t := &txtarReader{files: archive.Files, line: line + bytes.Count(archive.Comment, []byte("\n"))}
	settings := 0
	for i, setting := range strings.Split(string(archive.Comment), "\n") {
		setting = strings.TrimSpace(setting)
		if setting == "" || setting[0] == '#' {
			continue
		}
		if err := t.head.set(setting); err != nil && len(t.files) > 0 {
			return nil, &Error{Problem: fmt.Sprintf("line %d: %v", line+i, err)}
		} else if err != nil {
			return nil, errNeither
		}
		settings++
	}
	if len(t.files)+settings == 0 {
		return nil, errNeither
	}
	return t, nil
}

func (t *txtarReader) Head() Head { return t.head }

// set reads one line of the comment.
func (h *Head) set(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%s is not `name: value` or a comment with #", quote(line))
	}
	if err := h.setValue(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
		return fmt.Errorf("%s: %w", cut(name, 200), err)
	}
	return nil
}

func (h *Head) setValue(name, value string) (err error) {
	if strings.HasPrefix(value, `"`) {
		b, err := escape.Unquote([]byte(value))
		if err != nil {
			return err
		}
		value = string(b)
	}
	switch name {
	case "start":
		h.Header.Start, err = time.Parse(time.RFC3339Nano, value)
	case "command":
		err = json.Unmarshal([]byte(value), &h.Header.Command)
	case "status":
		if h.Status = value; !slices.Contains(statuses, value) {
			err = errors.New("want ended or cut")
		}
	case "end":
		h.End, err = time.ParseDuration(strings.TrimPrefix(value, "+"))
	case "gap":
		err = h.addGap(value)
	default:
		field := names(&h.Header)[name]
		if field == nil {
			return errors.New("no such setting")
		}
		*field = value
	}
	return err
}

func (h *Head) addGap(value string) error {
	from, to, _ := strings.Cut(value, "-")
	first, err := strconv.ParseUint(from, 10, 64)
	last, err2 := strconv.ParseUint(to, 10, 64)
	if err != nil || err2 != nil || first > last {
		return errors.New("want two frame numbers, such as 5-7")
	}
	if n := len(h.Gaps); first == 0 || n > 0 && first <= h.Gaps[n-1].To {
		return errors.New("gaps must ascend")
	}
	h.Gaps = append(h.Gaps, tap.Range{From: first, To: last})
	return nil
}

// Next returns the next frame. The error is [io.EOF] or an [Error].
func (t *txtarReader) Next() (tap.Frame, error) {
	if len(t.files) == 0 {
		return tap.Frame{}, io.EOF
	}
	file, line := t.files[0], t.line
	t.files = t.files[1:]
	t.line += 1 + bytes.Count(file.Data, []byte("\n"))
	f, words, err := t.name(file.Name)
	if err == nil {
		f.Raw, err = payload(file.Data, line+1, f.Lane, words)
	}
	if err == nil {
		f.Size = int64(len(f.Raw))
		err = t.number(&f)
	}
	if err == nil {
		return f, nil
	}
	wrong := &Error{Problem: fmt.Sprintf("line %d: frame %s: %v", line, quote(file.Name), err)}
	if errors.Is(err, errLines) {
		wrong.Hint = "write anything else as a JSON string, with the word quoted after the time"
	} else if errors.Is(err, errTime) {
		wrong.Hint = "a frame without a time has that of the one before it"
	}
	return f, wrong
}

// number gives a frame its number. If numbers outside a gap are missing, frames were
// removed by hand: those after them move up. Those after a frame without a number move down.
func (t *txtarReader) number(f *tap.Frame) error {
	before := t.order.seq
	if err := t.order.check(f); err != nil {
		return err
	}
	if t.unnumbered {
		t.order.seq = before
		t.inserted++
		f.Seq = before - t.shift + t.inserted
		return nil
	}
	missing := f.Seq - before - 1
	for ; t.gap < len(t.head.Gaps); t.gap++ {
		g := t.head.Gaps[t.gap]
		if from, to := max(g.From, before+1), min(g.To, f.Seq-1); from <= to {
			missing -= to - from + 1
		}
		if g.To >= f.Seq {
			break
		}
	}
	t.shift += missing
	f.Seq += t.inserted - t.shift
	return nil
}

// name reads a file's name. It returns the words after the time.
func (t *txtarReader) name(name string) (f tap.Frame, words []string, err error) {
	f.Seq, f.At = t.order.seq+1, t.order.at
	all := strings.Fields(name)
	n, err := strconv.ParseUint(all[0], 10, 64)
	if t.unnumbered = err != nil; !t.unnumbered {
		f.Seq, all = n, all[1:]
	}
	if len(all) == 0 {
		return f, nil, errors.New("its name has no lane")
	}
	if f.Lane, err = tap.ParseLane(all[0]); err != nil {
		return f, nil, err
	}
	// The last word that can be a time is the time: a subject may look like one.
	for i := len(all) - 1; i > 0; i-- {
		text, plus := strings.CutPrefix(all[i], "+")
		if at, err := time.ParseDuration(text); plus && err == nil {
			f.At, words = at, all[i+1:]
			break
		}
	}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case slices.Contains([]string{"base64", "quoted", "crlf", "open", "line"}, w):
		case w == "truncated", w == "torn":
			f.Truncated = true
		case key == "took":
			f.Took, err = time.ParseDuration(value)
		case key == "exchange":
			f.Exchange, err = strconv.ParseUint(value, 10, 64)
		case key == "form":
			f.Form, err = tap.ParseForm(value)
		default:
			err = fmt.Errorf("unknown word %s after the time", quote(w))
		}
		if err != nil {
			return f, nil, err
		}
	}
	return f, words, nil
}

var errLines = errors.New("a frame is one line, or JSON")

// invalidJSON returns what is wrong with JSON that begins at the given line, or [errLines]
// if it does not look like a message.
func invalidJSON(data []byte, at int) error {
	var syntax *json.SyntaxError
	c := bytes.TrimLeft(data, " \t\r\n")
	err := json.Unmarshal(data, new(json.RawMessage)) // json.Compact reports no offsets
	if len(c) == 0 || c[0] != '{' && c[0] != '[' || !errors.As(err, &syntax) {
		return errLines
	}
	before := data[:max(syntax.Offset-1, 0)]
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("invalid JSON at line %d, column %d: %w", at+bytes.Count(before, []byte("\n")), column, syntax)
}

// payload returns the bytes that a file stands for; its data begins at line at.
func payload(data []byte, at int, lane tap.Lane, words []string) ([]byte, error) {
	has := func(word string) bool { return slices.Contains(words, word) }
	if has("base64") {
		return base64.StdEncoding.AppendDecode(nil, bytes.Join(bytes.Fields(data), nil))
	}
	if has("quoted") {
		return escape.Unquote(bytes.Trim(data, " \t\r\n"))
	}
	// In a file written by hand an empty line may separate two frames.
	line := bytes.TrimRight(data, "\n")
	line = bytes.TrimSuffix(line, []byte("\r")) // added by an editor; crlf marks one that crossed
	if bytes.IndexByte(line, '\n') >= 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, line); err != nil {
			return nil, invalidJSON(line, at)
		}
		line = compact.Bytes()
	}
	switch {
	case has("crlf"):
		return append(line[:len(line):len(line)], "\r\n"...), nil
	case has("open"), lane == tap.Lifecycle && !has("line"):
		return line, nil
	}
	return append(line[:len(line):len(line)], '\n'), nil
}
