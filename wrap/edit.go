package wrap

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// An edit replaces src[start:end] by text.
type edit struct {
	start, end int
	text       string
}

// Bytes returns the file with its changes applied.
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

// wrapCommand replaces the command with the tap.
func (f *File) wrapCommand(e *Entry, t Tap) {
	word := e.word.value
	server := f.src[word.start:word.end]
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

// newArgs returns the args for an entry without any, and their offset: in JSON after the command, in
// TOML before it, where no comma or comment follows.
func (f *File) newArgs(e *Entry, words string) (at int, text string) {
	switch {
	case !f.toml:
		return e.word.value.end, `,"args":[` + words + `]`
	case !e.word.line:
		return e.word.key, e.word.prefix + `args=[` + words + `],`
	}
	return e.word.key, e.word.prefix + `args=[` + words + `]` + f.lineEnd(e.word.key)
}

// lineEnd returns the line ending at an offset.
func (f *File) lineEnd(at int) string {
	if end := strings.IndexByte(f.src[at:], '\n'); end > 0 && f.src[at+end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unwrapCommand restores the command of the server.
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

// ownArgs finds args that wrapCommand added to an entry without any.
func (f *File) ownArgs(e *Entry) (start, end int, ok bool) {
	if e.skip < len(e.args.elems) {
		return 0, 0, false
	}
	var words []string
	for _, a := range e.args.elems {
		words = append(words, f.src[a.start:a.end])
	}
	// The text that newArgs would have written, and its offset.
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

// urlMark precedes the original URL in the fragment of a wrapped one.
const urlMark = "#mcptap:"

// readURL reads the URL.
func (e *Entry) readURL() {
	e.URL = e.word.value.text
	if tap, server, ok := strings.Cut(e.URL, urlMark); ok {
		e.Wrapped, e.Tap, e.URL = true, tap, server
		return
	}
	if _, _, err := splitURL(e.URL); err != nil {
		e.Problem = err.Error()
	}
}

// Origin returns the scheme and host of a URL entry. One tap serves one origin.
func (e *Entry) Origin() string {
	origin, _, _ := splitURL(e.URL)
	return origin
}

// splitURL splits a URL after its host. It refuses a host with variables in it.
func splitURL(s string) (origin, rest string, err error) {
	scheme := strings.Index(s, "://")
	if scheme < 0 {
		return "", "", fmt.Errorf("%s is not an http or https URL", quote(s))
	}
	end := len(s)
	if i := strings.IndexAny(s[scheme+3:], "/?#"); i >= 0 {
		end = scheme + 3 + i
	}
	origin, rest = s[:end], s[end:]
	if strings.ContainsAny(origin, "${}") {
		return "", "", fmt.Errorf("the host in %s is a variable", quote(s))
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", "", fmt.Errorf("%s is not an http or https URL", quote(s))
	case u.User != nil:
		return "", "", errors.New("its URL has a password, which `mcptap http` refuses")
	}
	return origin, rest, nil
}

// quotes returns the length of the opening quotes of a spelled text. In TOML, a line ending after three
// quotes is not part of the text.
func quotes(spelled string) int {
	if len(spelled) < 6 || spelled[:3] != strings.Repeat(spelled[:1], 3) {
		return 1
	}
	for _, ending := range []string{"\n", "\r\n"} {
		if strings.HasPrefix(spelled[3:], ending) {
			return 3 + len(ending)
		}
	}
	return 3
}

// wrapURL replaces the origin with the tap's. It keeps the spelling of the URL.
func (f *File) wrapURL(e *Entry, listen string) error {
	if listen == "" {
		return fmt.Errorf("%s has a URL, but no address for the tap was given", quote(e.Name))
	}
	v := e.word.value
	_, rest, err := splitURL(e.URL)
	if err != nil {
		return err
	}
	rest, _, _ = strings.Cut(rest, "#")
	if quote(rest) != `"`+rest+`"` || strings.Contains(rest, "'") {
		return fmt.Errorf("%s has a URL that cannot be wrapped: %s", quote(e.Name), quote(e.URL))
	}
	at := v.start + quotes(f.src[v.start:v.end])
	f.replace(at, at, "http://"+listen+rest+urlMark)
	return nil
}

// unwrapURL restores the server's URL.
func (f *File) unwrapURL(e *Entry) error {
	v := e.word.value
	spelled := f.src[v.start:v.end]
	mark := strings.Index(spelled, urlMark)
	if mark < 0 {
		return fmt.Errorf("%s cannot be unwrapped: mcptap spells URLs differently", quote(e.Name))
	}
	f.replace(v.start+quotes(spelled), v.start+mark+len(urlMark), "")
	return nil
}

// Diff returns the changed lines, before and after, or "".
func (f *File) Diff() string {
	now := string(f.Bytes()) // this sorts the edits
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

// lines extends a range to whole lines, without the last line ending.
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
