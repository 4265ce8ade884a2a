package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// labelFor makes a recording's name from a server's command: the name of the
// package or program that is the server, whatever launches it. It is a guess
// for people's eyes; nothing depends on it.
//
// One thing is no guess. The name is seen in lists and file names, so nothing
// that may be a secret gets into it: no variable's value, no code, no user part
// of an address, no word that may be the value of a flag. Where it is not
// certain which word is the server, the launcher gives the name.
func labelFor(command []string) string {
	words := command
	for len(words) > 0 && assigns(words[0]) { // somebody took us for a shell
		words = words[1:]
	}
	for range 8 { // a launcher may launch a launcher
		if len(words) == 0 {
			break
		}
		l, ok := launcherFor(programName(words[0]))
		if !ok {
			break
		}
		rest := l.server(words[1:])
		if len(rest) == 0 {
			break
		}
		words = rest
	}
	if len(words) == 0 {
		return "server"
	}
	return tidyName(words[0])
}

// server returns the words from the server on, of those behind the launcher,
// nil where it is not certain.
func (l *launcher) server(words []string) []string {
	unsure := false // the word before may be a flag with a value
	ended := false  // the flags have
	plain := l.words
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" && !ended {
			ended, unsure = true, false
			continue
		}
		kind, value, joined := notAFlag, "", false
		if !ended {
			kind, value, joined = l.flag(w)
		}
		switch kind {
		case flagSwitch:
			unsure = false
			continue
		case flagUnknown:
			unsure = true
			continue
		case flagValue:
			unsure = false
			i++
			continue
		case flagCode:
			return nil
		case flagName:
			return l.named(value, joined, words[i+1:])
		}
		switch {
		case slices.Contains(l.skip, w), l.assigns && assigns(w):
			unsure = false
		case unsure:
			return script(words[i:])
		case plain > 0:
			plain--
		default:
			return words[i:]
		}
	}
	return nil
}

// named returns the server that a flag names: in its own word, or in the rest.
func (l *launcher) named(value string, joined bool, rest []string) []string {
	if joined {
		rest = []string{value}
	}
	if len(rest) == 0 {
		return nil
	}
	if l.line != nil {
		return l.line(rest)
	}
	return rest[:1]
}

// script returns the first of some words that certainly is a program's file, and
// so no secret, wherever it stands.
func script(words []string) []string {
	re := regexp.MustCompile(`(?i)^[\w.~/\\][\w.~/\\:@+-]*\.(js|mjs|cjs|ts|mts|cts|tsx|jsx|py|pyz|rb|php|pl|jar|dll|exe|sh)$`)
	for _, w := range words {
		if re.MatchString(w) {
			return []string{w}
		}
	}
	return nil
}

// assigns reports whether a word sets a variable for one command.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/\\ \t")
}

// programName is the name of a program without directory, extension and
// version: python3.12 is python.
func programName(word string) string {
	name := path.Base(strings.ReplaceAll(word, `\`, "/"))
	name = strings.ToLower(name)
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ext)
	}
	if strings.HasPrefix(name, "python") && strings.Trim(name[len("python"):], "0123456789.") == "" {
		return "python"
	}
	return name
}

// vague are names of files and directories that say nothing about the server
// in them: then the directory above is looked at.
var vague = []string{"", ".", "..", "/", "index", "main", "__main__", "server", "mcp", "mcp-server", "cli", "app", "start", "run",
	"dist", "build", "src", "lib", "bin", "out", "target", "release", "debug", "cmd", "node_modules", ".bin"}

// patterns are compiled when a name is needed, not at every start.
var patterns = sync.OnceValue(func() (p struct{ extension, version, scheme, outside *regexp.Regexp }) {
	p.extension = regexp.MustCompile(`(?i)\.(js|mjs|cjs|ts|mts|cts|tsx|jsx|py|pyz|rb|php|pl|jar|dll|exe|cmd|bat|sh|git|csproj)$`)
	// What may follow a package's name: @1.2, ==1.2, [extra], :tag.
	p.version = regexp.MustCompile(`(@[^/@]*|[=<>~!]=.*|\[.*|:[\w.-]+)$`)
	p.scheme = regexp.MustCompile(`^(git\+)?(file|npm|jsr):(//)?`)
	p.outside = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	return p
})

const maxLabel = 40

// tidyName makes a name of a path, a package, an image or an address.
func tidyName(word string) string {
	re := patterns()
	if strings.ContainsAny(word, " \t\r\n") && (strings.Contains(word, " -") || !isProgramPath(word)) {
		// A whole command line in one word: what follows may be anything.
		word, _, _ = strings.Cut(strings.Join(strings.Fields(word), " "), " ")
	}
	word = strings.ReplaceAll(word, `\`, "/")
	word = re.scheme.ReplaceAllString(word, "")
	word, _, _ = strings.Cut(word, "?")
	deep := true // the directories above say what a vague name does not
	if _, rest, ok := strings.Cut(word, "://"); ok {
		word, deep = addressName(rest), false
	}
	if scoped := strings.HasPrefix(word, "@"); !scoped || strings.Count(word, "@") > 1 || !strings.Contains(word, "/") {
		for range 2 { // name:tag@digest
			if at := re.version.FindStringIndex(word); at != nil && at[0] > 0 {
				word = word[:at[0]]
			}
		}
	}
	parts := strings.Split(strings.TrimRight(word, "/"), "/")
	if !deep {
		parts = parts[len(parts)-1:]
	}
	name := ""
	for i := len(parts) - 1; i >= 0; i-- {
		part := strings.Trim(re.outside.ReplaceAllString(re.extension.ReplaceAllString(parts[i], ""), "-"), "-.")
		if name == "" {
			name = part // better than nothing
		}
		if part != "" && !slices.Contains(vague, strings.ToLower(part)) && !strings.HasPrefix(parts[i], "@") {
			name = part
			break
		}
	}
	if len(name) > maxLabel {
		name = strings.TrimRight(name[:maxLabel], "-._")
	}
	if name == "" {
		return "server"
	}
	return name
}

// isProgramPath reports whether a word is the path of a program of Windows, which
// may have blanks in it.
func isProgramPath(word string) bool {
	dir, _, _ := strings.Cut(word, " ")
	return strings.ContainsAny(dir, `/\`) && slices.Contains([]string{".exe", ".cmd", ".bat"}, strings.ToLower(path.Ext(word)))
}

// addressName returns of an address without its scheme what may be shown: no
// user or password, no fragment.
func addressName(rest string) string {
	rest, _, _ = strings.Cut(rest, "#")
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	if path = strings.Trim(path, "/"); path == "" {
		return host
	}
	return host + "/" + path
}
