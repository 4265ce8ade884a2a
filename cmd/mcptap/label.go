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
func labelFor(command []string) string {
	words := slices.Clone(command)
	launchers := makeLaunchers()
	for range 8 { // a launcher may launch a launcher
		if len(words) == 0 {
			break
		}
		l, ok := launchers[programName(words[0])]
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

// A launcher is a program whose argument, not itself, is the server.
type launcher struct {
	// skip are words of its own that come before the server's.
	skip []string
	// values are flags that are followed by a value.
	values []string
	// names are flags whose value is the server.
	names []string
	// code are flags whose value is a program's text: no name, and full of what
	// must not be in a file's name.
	code []string
	// assigns says that NAME=VALUE may come first.
	assigns bool
	// words is how many plain words come first.
	words int
	// shell says that the server's command is one string.
	shell bool
}

// makeLaunchers builds the table when a name is needed, not at every start.
func makeLaunchers() map[string]launcher {
	npx := launcher{skip: []string{"exec", "dlx", "x", "run"}, values: []string{"--registry", "--prefix", "--node-options", "--cwd", "-C"}, names: []string{"-p", "--package"}}
	node := launcher{code: []string{"-e", "--eval", "-p", "--print", "-pe"}, skip: []string{"run"}, values: []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file", "-C", "--conditions"}}
	python := launcher{code: []string{"-c"}, values: []string{"-W", "-X"}, names: []string{"-m"}}
	uv := launcher{
		skip:   []string{"tool", "run"},
		values: []string{"--directory", "--project", "--python", "-p", "--with", "--with-editable", "--with-requirements", "--index-url", "--index", "--env-file", "--refresh-package", "--cache-dir"},
		names:  []string{"--from", "-m", "--module"},
	}
	docker := launcher{
		skip: []string{"run", "container"},
		values: []string{"-e", "--env", "--env-file", "-v", "--volume", "--mount", "--name", "--network", "--net", "-p", "--publish", "-u", "--user",
			"-w", "--workdir", "--entrypoint", "--platform", "--pull", "-l", "--label", "-m", "--memory", "--cpus", "--add-host", "-h", "--hostname"},
	}
	shell := launcher{names: []string{"-c", "-lc", "-ic", "-lic"}, shell: true}
	return map[string]launcher{
		"npx": npx, "npm": npx, "pnpm": npx, "pnpx": npx, "yarn": npx, "bunx": npx,
		"node": node, "nodejs": node, "tsx": node, "ts-node": node, "bun": {code: node.code, skip: []string{"run", "x"}, values: node.values},
		"deno":   {skip: []string{"run", "serve"}, values: []string{"-c", "--config", "--import-map", "--env-file"}},
		"python": python, "python3": python, "pypy3": python, "py": python,
		"uvx": uv, "uv": uv, "pipx": {skip: []string{"run"}, values: []string{"--python", "--pip-args"}, names: []string{"--spec"}},
		"docker": docker, "podman": docker, "nerdctl": docker,
		"java":   {values: []string{"-cp", "-classpath", "--class-path", "--module-path"}, names: []string{"-jar"}},
		"dotnet": {skip: []string{"run", "exec", "dnx"}, names: []string{"--project"}},
		"go":     {skip: []string{"run", "tool"}, values: []string{"-C", "-tags", "-ldflags", "-mod", "-modfile"}},
		"cargo":  {skip: []string{"run"}, values: []string{"--manifest-path", "-p", "--features"}, names: []string{"--bin"}},
		"ruby":   {code: []string{"-e"}, values: []string{"-r", "-I"}}, "bundle": {skip: []string{"exec"}}, "php": {code: []string{"-r"}, values: []string{"-d"}}, "perl": {code: []string{"-e", "-E"}},
		"env":     {assigns: true, values: []string{"-u", "--unset", "-C", "--chdir"}},
		"sudo":    {assigns: true, values: []string{"-u", "--user", "-g"}},
		"nice":    {values: []string{"-n"}},
		"timeout": {values: []string{"-s", "-k"}, words: 1},
		"nohup":   {}, "stdbuf": {values: []string{"-i", "-o", "-e"}}, "exec": {}, "command": {}, "time": {}, "setsid": {},
		"sh": shell, "bash": shell, "zsh": shell, "dash": shell,
		"cmd": {skip: []string{"/c", "/C", "/d", "/s"}},
	}
}

// server returns the words from the server on, of those behind the launcher.
func (l launcher) server(words []string) []string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		flag, value, joined := strings.Cut(w, "=")
		isFlag := strings.HasPrefix(w, "-") && len(w) > 1
		switch {
		case isFlag && slices.Contains(l.code, flag):
			return nil
		case isFlag && slices.Contains(l.names, flag):
			if !joined && i+1 < len(words) {
				value = words[i+1]
			}
			if l.shell {
				return shellWords(value)
			}
			return []string{value}
		case isFlag && !joined && slices.Contains(l.values, w):
			i++
		case isFlag, slices.Contains(l.skip, w), l.assigns && joined && !strings.Contains(flag, "/"):
		case l.words > 0:
			l.words--
		default:
			return words[i:]
		}
	}
	return nil
}

// shellWords cuts a shell's command line roughly: as much as a name needs. Of
// several commands the last counts, since the first ones prepare (cd, export).
func shellWords(line string) []string {
	for _, sep := range []string{"&&", ";", "||"} {
		if i := strings.LastIndex(line, sep); i >= 0 && strings.TrimSpace(line[i+len(sep):]) != "" {
			line = line[i+len(sep):]
		}
	}
	words := strings.Fields(line)
	for len(words) > 0 && assigns(words[0]) { // it may be a secret
		words = words[1:]
	}
	for i, w := range words {
		words[i] = strings.Trim(w, `"'`)
	}
	return words
}

// assigns reports whether a word sets a variable for one command.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(strings.ToUpper(name), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
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
	p.scheme = regexp.MustCompile(`^(git\+)?(https?|ssh|file|npm|jsr):(//)?`)
	p.outside = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	return p
})

const maxLabel = 40

// tidyName makes a name of a path, a package or an image.
func tidyName(word string) string {
	re := patterns()
	word = strings.ReplaceAll(word, `\`, "/")
	word = re.scheme.ReplaceAllString(word, "")
	word, _, _ = strings.Cut(word, "?")
	if scoped := strings.HasPrefix(word, "@"); !scoped || strings.Count(word, "@") > 1 || !strings.Contains(word, "/") {
		for range 2 { // name:tag@digest
			if at := re.version.FindStringIndex(word); at != nil && at[0] > 0 {
				word = word[:at[0]]
			}
		}
	}
	parts := strings.Split(strings.TrimRight(word, "/"), "/")
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
