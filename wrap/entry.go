package wrap

import (
	"errors"
	"fmt"
	"strings"
)

// A Kind is the way in which a client reaches the server of an entry.
type Kind uint8

const (
	// Stdio entries start a command.
	Stdio Kind = iota
	// URL entries have the URL of a server on HTTP.
	URL
	// Other entries have neither: a client extension provides the server.
	Other
)

// String returns stdio, url or other.
func (k Kind) String() string { return [...]string{"stdio", "url", "other"}[k] }

// An Entry is a server in a configuration file.
type Entry struct {
	// Name is the server's name, and Section the path of its table, joined by slashes, such as
	// mcpServers.
	Name, Section string
	Kind          Kind
	// Wrapped reports whether the entry uses the tap.
	Wrapped bool
	// Command and URL are those of the server, without the tap.
	Command []string
	URL     string
	// Tap is the URL that the client uses instead of URL, or the program that runs Command.
	Tap string
	// Problem is why the entry can be neither wrapped nor unwrapped.
	Problem string

	// of is the table with the command or the URL, and word the member that holds it.
	of   *node
	word *member
	// args is the list of arguments; the first skip of them belong to the tap.
	args *node
	skip int
}

// A File is a configuration file with pending changes.
type File struct {
	place   Place
	src     string
	toml    bool
	entries []Entry
	edits   []edit
}

// parse parses the file of a place, and finds its entries.
func parse(src []byte, p Place) (*File, error) {
	f := &File{place: p, src: string(src), toml: isTOML(p.Path)}
	read := parseJSON
	if f.toml {
		read = parseTOML
	}
	root, err := read(f.src)
	if err != nil {
		return nil, err
	}
	if root.kind != table {
		return nil, errors.New("not an object")
	}
	for _, s := range p.Sections {
		f.collect(root, s, nil)
	}
	return f, nil
}

// Entries returns the servers in file order.
func (f *File) Entries() []Entry { return f.entries }

// collect finds the entries under a table.
func (f *File) collect(n *node, section, before []string) {
	if n == nil || n.kind != table {
		return
	}
	if len(section) == 0 {
		for i := range n.members {
			m := &n.members[i]
			if m.value.kind == table && n.get(m.name) == m {
				f.entries = append(f.entries, newEntry(m.name, strings.Join(before, "/"), m.value))
			}
		}
		return
	}
	for i := range n.members {
		m := &n.members[i]
		if (section[0] == "*" || section[0] == m.name) && n.get(m.name) == m {
			f.collect(m.value, section[1:], append(before[:len(before):len(before)], m.name))
		}
	}
}

// urlNames are the members with the URL of a server: Windsurf uses serverUrl; Gemini CLI uses httpUrl for
// Streamable HTTP and url for HTTP+SSE.
var urlNames = []string{"url", "serverUrl", "httpUrl"}

func newEntry(name, section string, n *node) Entry {
	e := Entry{Name: name, Section: section, Kind: Other, of: n}
	words := []string{"command"}
	if c := n.child("command"); c != nil && c.kind == table { // in older versions of Zed
		e.of, words = c, []string{"path"}
	}
	for i, w := range append(words, urlNames...) {
		if m := e.of.get(w); m != nil && m.value.kind == text {
			if e.word = m; i > 0 {
				e.Kind = URL
				e.readURL()
				return e
			}
			e.Kind = Stdio
			e.readCommand()
			return e
		}
	}
	e.Problem = "it has neither a command nor a URL"
	return e
}

// readCommand reads the command and its arguments.
func (e *Entry) readCommand() {
	e.Command = []string{e.word.value.text}
	if e.args = e.of.child("args"); e.args != nil {
		if e.args.kind != list {
			e.Problem = "args is not a list"
			return
		}
		for _, a := range e.args.elems {
			if a.kind != text {
				e.Problem = "an argument is not a string"
				return
			}
			e.Command = append(e.Command, a.text)
		}
	}
	if !isTap(e.Command) {
		return
	}
	e.Wrapped = true
	for i, word := range e.Command[1:] {
		if word == "--" && i+2 < len(e.Command) {
			e.Tap, e.Command, e.skip = e.Command[0], e.Command[i+2:], i+2
			return
		}
	}
	e.Problem = "it runs mcptap without -- before the server's command"
}

// isTap reports whether a command is `mcptap stdio`, with any path.
func isTap(command []string) bool {
	program := strings.ToLower(command[0][strings.LastIndexAny(command[0], `/\`)+1:])
	if strings.TrimSuffix(program, ".exe") != "mcptap" {
		return false
	}
	for _, word := range command[1:] {
		if word == "stdio" || word == "--" {
			return word == "stdio"
		}
	}
	return false
}

// A Tap is the tap that Wrap adds.
type Tap struct {
	// Program is the path of mcptap, and Flags are the flags after stdio.
	Program string
	Flags   []string
	// Listen is the address of the `mcptap http` that URL entries will use, or "".
	Listen string
}

// Wrap adds the tap to entry i, and reports whether that changes the file: a wrapped entry is not
// changed.
func (f *File) Wrap(i int, t Tap) (bool, error) {
	e := &f.entries[i]
	switch {
	case e.Wrapped:
		return false, nil
	case e.Problem != "":
		return false, fmt.Errorf("%s cannot be wrapped: %s", quote(e.Name), e.Problem)
	case e.Kind == URL:
		return true, f.wrapURL(e, t.Listen)
	}
	f.wrapCommand(e, t)
	return true, nil
}

// Unwrap removes the tap from entry i, and reports whether that changes the file.
func (f *File) Unwrap(i int) (bool, error) {
	e := &f.entries[i]
	switch {
	case !e.Wrapped:
		return false, nil
	case e.Problem != "":
		return false, fmt.Errorf("%s cannot be unwrapped: %s", quote(e.Name), e.Problem)
	case e.Kind == URL:
		return true, f.unwrapURL(e)
	}
	f.unwrapCommand(e)
	return true, nil
}
