package main

import (
	"strings"
)

// shellWords returns the words of the command that a shell's line runs as the
// server, roughly: as much as a name needs. Of several commands the last
// counts, since the first ones prepare (cd, export); of a pipeline the first. It
// returns nil for what it does not understand, since a value with a blank in it
// must not be taken for two words.
func shellWords(args []string) []string {
	s := shellScanner{line: args[0], posix: true}
	words := s.words()
	for len(words) > 0 && assigns(words[0]) {
		words = words[1:]
	}
	return words
}

// windowsWords does the same for cmd.exe, which makes one line of all its
// arguments.
func windowsWords(args []string) []string {
	if !strings.ContainsAny(strings.Join(args, ""), "&|<>^") &&
		(!strings.ContainsAny(args[0], " \t") || isProgramPath(args[0])) {
		return args
	}
	s := shellScanner{line: strings.Join(args, " ")}
	return s.words()
}

// A shellScanner cuts a line into words.
type shellScanner struct {
	line  string
	posix bool
	at    int

	word   []byte
	inWord bool
	piped  bool // behind a |
	now    []string
	last   []string // the last command that was not empty
}

func (s *shellScanner) words() []string {
	for ; s.at < len(s.line); s.at++ {
		if !s.char(s.line[s.at]) {
			return nil
		}
	}
	s.endCommand()
	return s.last
}

// char takes the character at s.at, and what belongs to it. It reports whether
// it understands it.
func (s *shellScanner) char(c byte) bool {
	switch {
	case c == '"', s.posix && c == '\'':
		return s.quoted(c)
	case s.posix && c == '\\', !s.posix && c == '^':
		if s.at++; s.at < len(s.line) && s.line[s.at] != '\n' {
			s.add(s.line[s.at])
		}
	case s.posix && c == '$':
		return s.dollar()
	case s.posix && c == '`':
		return false
	case c == ' ', c == '\t', c == '\r', s.posix && !s.inWord && (c == '(' || c == ')'):
		s.endWord()
	case c == ')' && s.posix:
		s.endWord()
	case c == '(' && s.posix: // an array, a function, a pattern
		return false
	case c == '<', c == '>':
		return s.redirection()
	case c == '|' && !strings.HasPrefix(s.line[s.at:], "||"):
		s.endWord()
		s.piped = true
	case c == '\n', c == '&', c == '|', s.posix && c == ';':
		s.endCommand()
	case s.posix && c == '#' && !s.inWord:
		for s.at+1 < len(s.line) && s.line[s.at+1] != '\n' {
			s.at++
		}
	default:
		s.add(c)
	}
	return true
}

// quoted takes what stands between quotes.
func (s *shellScanner) quoted(quote byte) bool {
	s.inWord = true
	for s.at++; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; {
		case c == quote:
			return true
		case s.posix && quote == '"' && c == '\\':
			if s.at++; s.at < len(s.line) {
				s.add(s.line[s.at])
			}
		case s.posix && quote == '"' && c == '`':
			return false
		case s.posix && quote == '"' && c == '$':
			if !s.dollar() {
				return false
			}
		default:
			s.add(c)
		}
	}
	return false
}

// dollar takes a plain variable. What a shell would compute has rules of its own
// for what a word is.
func (s *shellScanner) dollar() bool {
	s.add('$')
	rest := s.line[s.at+1:]
	if rest == "" {
		return true
	}
	switch rest[0] {
	case '(', '\'', '"', '[':
		return false
	case '{':
		end := strings.IndexByte(rest, '}')
		if end < 0 || !isVariable(rest[1:end]) {
			return false
		}
		for range end + 1 {
			s.at++
			s.add(s.line[s.at])
		}
	}
	return true
}

// redirection takes an operator such as 2>&1, and leaves what is read or written
// as a word of its own behind the command's name.
func (s *shellScanner) redirection() bool {
	if strings.HasPrefix(s.line[s.at:], "<<") || s.at+1 < len(s.line) && s.line[s.at+1] == '(' {
		return false
	}
	if !s.inWord && len(s.now) == 0 {
		return false // before the command
	}
	s.add(s.line[s.at])
	for s.at+1 < len(s.line) && strings.IndexByte("<>&|", s.line[s.at+1]) >= 0 {
		s.at++
		s.add(s.line[s.at])
	}
	return true
}

func (s *shellScanner) add(c byte) {
	s.word, s.inWord = append(s.word, c), true
}

func (s *shellScanner) endWord() {
	if s.inWord && !s.piped {
		s.now = append(s.now, string(s.word))
	}
	s.word, s.inWord = s.word[:0], false
}

func (s *shellScanner) endCommand() {
	s.endWord()
	if len(s.now) > 0 {
		s.last = s.now
	}
	s.now, s.piped = nil, false
}

// isVariable reports whether s is the name of a variable.
func isVariable(s string) bool {
	return s != "" && strings.Trim(strings.ToUpper(s), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
