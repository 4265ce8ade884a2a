package wrap

import (
	"errors"
	"fmt"
	"strings"
)

// A Kind says how a client reaches the server of an entry.
type Kind uint8

const (
	// Stdio entries start a command.
	Stdio Kind = iota
	// URL entries name a server on HTTP.
	URL
	// Other entries are neither, such as those that an extension of the client
	// provides.
	Other
)

// String returns stdio, url or other.
func (k Kind) String() string { return [...]string{"stdio", "url", "other"}[k] }

// An Entry is a server in a configuration file.
type Entry struct {
	// Name is the server's, Section what it stands in, such as mcpServers, the
	// words joined by a slash.
	Name, Section string
	Kind          Kind
	// Wrapped says that the tap is in it.
	Wrapped bool
	// Command is what starts the server, without the tap; URL is where it is.
	Command []string
	URL     string
	// Tap is the URL that the client uses in the place of URL, or the program
	// that stands before Command.
	Tap string
	// Problem says why the entry can be neither wrapped nor unwrapped.
	Problem string

	// of is the table with the command or the URL, word the member that has it.
	of   *node
	word *member
	// args has the arguments; skip is how many of them are the tap's own.
	args *node
	skip int
}

// A File is a configuration file as it was read, with the changes to make.
type File struct {
	src     string
	toml    bool
	entries []Entry
	edits   []edit
}

// Parse reads a file, in TOML or else in JSON with comments. In which sections it
// finds entries, sections say; a word * stands for each member.
func Parse(src []byte, toml bool, sections [][]string) (*File, error) {
	f := &File{src: string(src), toml: toml}
	parse := parseJSON
	if toml {
		parse = parseTOML
	}
	root, err := parse(f.src)
	if err != nil {
		return nil, err
	}
	if root.kind != table {
		return nil, errors.New("it is no object")
	}
	for _, s := range sections {
		f.collect(root, s, nil)
	}
	return f, nil
}

// Entries returns the servers in the order in which they stand.
func (f *File) Entries() []Entry { return f.entries }

// collect finds the entries below a table.
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

// urlNames are what clients call the URL of a server: Windsurf has serverUrl,
// and Gemini CLI httpUrl beside the url of an HTTP+SSE server.
var urlNames = []string{"url", "serverUrl", "httpUrl"}

func newEntry(name, section string, n *node) Entry {
	e := Entry{Name: name, Section: section, Kind: Other, of: n}
	words := []string{"command"}
	if c := n.child("command"); c != nil && c.kind == table { // Zed had it like this
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

// readCommand finds out what is started.
func (e *Entry) readCommand() {
	e.Command = []string{e.word.value.text}
	if e.args = e.of.child("args"); e.args != nil {
		if e.args.kind != list {
			e.Problem = "its args are no list"
			return
		}
		for _, a := range e.args.elems {
			if a.kind != text {
				e.Problem = "an argument of it is no text"
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

// isTap reports whether a command is `mcptap stdio`, whatever the path.
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

// A Tap is what is put before a server's command.
type Tap struct {
	// Program is the path of mcptap, Flags what follows its word stdio.
	Program string
	Flags   []string
	// Listen is the address of the `mcptap http` that URL entries are led to;
	// "" when there is none.
	Listen string
}

// Wrap puts the tap into the entry of that index, and reports whether there is
// anything to change: an entry that is wrapped stays as it is.
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

// Unwrap takes the tap out of the entry of that index, and reports whether there
// is anything to change.
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
