package wrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An edit puts text in the place of src[start:end].
type edit struct {
	start, end int
	text       string
}

// Bytes returns the file with its changes.
func (f *File) Bytes() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	at := 0
	for _, e := range f.edits {
		b.WriteString(f.src[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(f.src[at:])
	return []byte(b.String())
}

func (f *File) replace(start, end int, text string) {
	f.edits = append(f.edits, edit{start, end, text})
}

// wrapCommand makes the tap the command.
func (f *File) wrapCommand(e *Entry, t Tap) {
	word := e.word.value
	server := f.src[word.start:word.end] // as it is spelled
	f.replace(word.start, word.end, quote(t.Program))
	ours := []string{quote("stdio")}
	for _, flag := range t.Flags {
		ours = append(ours, quote(flag))
	}
	ours = append(ours, quote("--"), server)
	switch {
	case e.args == nil:
		at, text := f.newArgs(e, strings.Join(ours, ","))
		f.replace(at, at, text)
	case len(e.args.elems) == 0:
		at := e.args.start + 1
		f.replace(at, at, strings.Join(ours, ", "))
	default:
		at := e.args.elems[0].start
		f.replace(at, at, strings.Join(ours, ", ")+", ")
	}
}

// newArgs spells the args of an entry that had none, and says where they go: in
// JSON behind the command, in TOML before it, where neither a comma nor a comment
// is in the way.
func (f *File) newArgs(e *Entry, words string) (at int, text string) {
	switch {
	case !f.toml:
		return e.word.value.end, `,"args":[` + words + `]`
	case !e.word.line:
		return e.word.key, e.word.prefix + `args=[` + words + `],`
	}
	return e.word.key, e.word.prefix + `args=[` + words + `]` + f.lineEnd(e.word.key)
}

// lineEnd returns how the line of an offset ends.
func (f *File) lineEnd(at int) string {
	if end := strings.IndexByte(f.src[at:], '\n'); end > 0 && f.src[at+end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unwrapCommand makes the server the command again.
func (f *File) unwrapCommand(e *Entry) {
	elems := e.args.elems
	server := elems[e.skip-1]
	spelled := f.src[server.start:server.end]
	f.replace(e.word.value.start, e.word.value.end, spelled)
	if start, end, ok := f.ownArgs(e); ok {
		f.replace(start, end, "")
		return
	}
	end := server.end
	if e.skip < len(elems) {
		end = elems[e.skip].start
	}
	f.replace(elems[0].start, end, "")
}

// ownArgs finds the args that wrapCommand made for an entry without any.
func (f *File) ownArgs(e *Entry) (start, end int, ok bool) {
	if e.skip < len(e.args.elems) {
		return 0, 0, false
	}
	var words []string
	for _, a := range e.args.elems {
		words = append(words, f.src[a.start:a.end])
	}
	// What newArgs would write, and where it would stand if it did.
	_, text := f.newArgs(e, strings.Join(words, ","))
	start = e.word.value.end
	if f.toml {
		start = e.word.key - len(text)
	}
	end = start + len(text)
	ok = start >= 0 && end <= len(f.src) && f.src[start:end] == text &&
		start < e.args.start && e.args.end <= end
	return start, end, ok
}

// Diff says what changes, as lines to take out and to put in. It is "" when
// nothing does.
func (f *File) Diff() string {
	now := string(f.Bytes()) // which sorts the edits
	var b strings.Builder
	shift := 0
	for i := 0; i < len(f.edits); {
		from, to := f.lines(f.edits[i].start, f.edits[i].end)
		grown := 0
		for ; i < len(f.edits) && f.edits[i].start <= to; i++ {
			_, end := f.lines(f.edits[i].start, f.edits[i].end)
			to = max(to, end)
			grown += len(f.edits[i].text) - (f.edits[i].end - f.edits[i].start)
		}
		fmt.Fprintf(&b, "@@ line %d @@\n", 1+strings.Count(f.src[:from], "\n"))
		marked(&b, "-", f.src[from:to])
		marked(&b, "+", now[from+shift:to+shift+grown])
		shift += grown
	}
	return b.String()
}

// lines widens a range to whole lines, without the last one's end.
func (f *File) lines(start, end int) (from, to int) {
	from = strings.LastIndexByte(f.src[:start], '\n') + 1
	if n := strings.IndexByte(f.src[end:], '\n'); n >= 0 {
		return from, end + n
	}
	return from, len(f.src)
}

func marked(b *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(mark + strings.TrimRight(line, "\r\n") + "\n")
	}
}
