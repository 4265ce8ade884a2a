// Package labels derives the labels of recordings from the command or the URL of a server.
package labels

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// For derives a recording's label from a server's command: the name of the package or program that is
// the server, whatever launches it. It is a guess for people to read; nothing depends on it.
//
// The label appears in lists and file names, so nothing that may be a secret becomes part of it: no
// value of a variable, no code, no user part of an address, no word that may be the value of a flag.
// If it is not certain which word is the server, the launcher's name is used.
func For(command []string) string {
	words := command
	for len(words) > 0 && assigns(words[0]) { // shell-style variables
		words = words[1:]
	}
	for range 8 { // a launcher may launch a launcher
		if len(words) == 0 {
			break
		}
		l, ok := launchers()[programName(words[0])]
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
	return Tidy(words[0])
}

// A launcher is a program whose argument is the server. A word after an unknown flag is not taken for
// the server, because it may be the flag's value.
type launcher struct {
	skip    string // subcommands that precede the server
	letters string // short flags without a value
	flags   string // long flags without a value, in addition to sharedFlags
	values  string // flags that are followed by a value
	names   string // flags whose value is the server
	code    string // flags whose value is source code
	words   int    // the number of plain words that come first
	assigns bool   // NAME=VALUE may come first
	shell   bool   // the value of a flag in names is a command line
}

// sharedFlags never have a value, in any launcher.
const sharedFlags = "--yes --quiet --verbose --interactive --tty --rm --init --offline --frozen --locked --watch --silent"

// launchers is built on first use, not at every start.
var launchers = sync.OnceValue(func() map[string]launcher {
	npx := launcher{letters: "ynqsdg", flags: "--bun --prefer-offline --prefer-online", values: "--registry --prefix --cwd -C --dir --workspace -w --filter -F --node-options",
		names: "-p --package", code: "-c --call"}
	npm := npx
	npm.skip = "exec dlx x run"
	uvx := launcher{letters: "qvnU", flags: "--isolated --refresh", names: "--from -m --module",
		values: "--directory --project --python -p --with --with-editable --with-requirements --extra --group --env-file --index --default-index --index-url -w -i -f"}
	uv := uvx
	uv.skip = "tool run"
	docker := launcher{skip: "run container", letters: "itdPqD", flags: "--privileged --detach --read-only", values: `-e --env --env-file -v --volume --mount --tmpfs
		--name --network --net -p --publish -u --user -w --workdir --entrypoint --platform --pull -l --label -m --memory --cpus --add-host --gpus
		--cap-add --cap-drop --security-opt -h --hostname -c -a -H`}
	node := launcher{skip: "run", letters: "ichvT", flags: "--inspect --inspect-brk --enable-source-maps --experimental-strip-types --transpile-only --hot",
		values: "-r --require --import --loader --experimental-loader --env-file -C --conditions -P --project --tsconfig --cwd --filter --preload -O -F", code: "-e --eval -p --print -pe"}
	bun := node
	bun.skip = "run x"
	python := launcher{letters: "bBdEhiIOPqsSuvVx", values: "-W -X", names: "-m", code: "-c"}
	shell := launcher{letters: "lieuxfa", flags: "--login --noprofile --norc --posix", values: "-o -O --rcfile --init-file", names: "-c", shell: true}
	return map[string]launcher{
		"npx": npx, "pnpx": npx, "bunx": npx, "npm": npm, "pnpm": npm, "yarn": npm, "uvx": uvx, "uv": uv,
		"pipx":   {skip: "run", letters: "vqe", names: "--spec", values: "--python --pip-args --index-url -i --with"},
		"docker": docker, "podman": docker, "nerdctl": docker,
		"node": node, "nodejs": node, "tsx": node, "ts-node": node, "bun": bun,
		"python": python, "pypy3": python, "py": python,
		"deno": {skip: "run serve", letters: "ARWNESIqr", flags: "--allow-all --allow-read --allow-write --allow-net --allow-env --allow-run",
			values: "-c --config --import-map --env-file -L"},
		"dotnet": {skip: "run exec dnx", letters: "y", names: "--project", values: "-c --configuration -f --framework -r --runtime -a -v"},
		"cargo":  {skip: "run", letters: "qrv", flags: "--release", names: "--bin --example", values: "--manifest-path -p --package -F --features -j -Z -C"},
		"go":     {skip: "run tool", letters: "vxan", flags: "-race -trimpath", values: "-C -tags -ldflags -mod -modfile"},
		"java":   {names: "-jar -m --module", values: "-cp -classpath --class-path -p --module-path --add-modules --add-opens -X -D"},
		"ruby":   {letters: "wWvdU", values: "-r -I -C -E", code: "-e"},
		"php":    {letters: "nq", values: "-d -c -z", names: "-f", code: "-r"},
		"perl":   {letters: "wWTtX", values: "-I -M -C", code: "-e -E"},
		"bundle": {skip: "exec"},
		"sh":     shell, "bash": shell, "zsh": shell, "dash": shell,
		"cmd":  {flags: "/d /D /s /S /q /Q /a /A /u /U", names: "/c /C /k /K", shell: true},
		"env":  {letters: "i0v", flags: "- --ignore-environment", values: "-u --unset -C --chdir -P -a", code: "-S --split-string", assigns: true},
		"sudo": {letters: "EHnkSibA", values: "-u --user -g --group -h --host -p --prompt -C -D -r -R -t -T -U", assigns: true},
		"nice": {values: "-n --adjustment"}, "nohup": {}, "command": {letters: "p"}, "exec": {letters: "cl", values: "-a"},
		"timeout": {letters: "fpv", flags: "--foreground --preserve-status", values: "-s --signal -k --kill-after", words: 1},
		"stdbuf":  {values: "-i --input -o --output -e --error"},
		"setsid":  {letters: "cfw", flags: "--ctty --fork --wait"},
		"time":    {letters: "pvaql", values: "-f --format -o --output"},
	}
})

// A flagKind is how a launcher interprets a word.
type flagKind uint8

const (
	notAFlag    flagKind = iota
	flagSwitch           // it has no value, or contains its value
	flagValue            // its value follows
	flagName             // its value is the server
	flagCode             // its value is source code
	flagUnknown          // its value may follow
)

// server returns the words from the server on, of those after the launcher, or nil if it is not
// certain where they start.
func (l *launcher) server(words []string) []string {
	unsure := false // the previous word may be a flag with a value
	ended := false  // the flags have ended
	plain := l.words
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" && !ended {
			ended, unsure = true, false
			continue
		}
		kind, value := notAFlag, ""
		if !ended {
			kind, value = l.flag(w)
		}
		switch {
		case kind == flagCode:
			return nil
		case kind == flagName && value != "":
			return l.named([]string{value})
		case kind == flagName:
			return l.named(words[i+1:])
		case kind == flagValue:
			i++
			unsure = false
		case kind != notAFlag:
			unsure = kind == flagUnknown
		case has(l.skip, w), l.assigns && assigns(w):
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

// named returns the command of the server that a flag names.
func (l *launcher) named(rest []string) []string {
	switch {
	case len(rest) == 0:
		return nil
	case !l.shell:
		return rest[:1]
	case has(l.names, "/c") && !strings.ContainsAny(strings.Join(rest, ""), "&|<>^") && (!strings.ContainsAny(rest[0], " \t") || isProgramPath(rest[0])):
		return rest
	case has(l.names, "/c"): // cmd.exe joins its arguments to one line
		rest = []string{strings.Join(rest, " ")}
	}
	// Of several commands the last one counts, because the others prepare; of a pipeline, the first
	// one. A line with quotes may contain words with spaces.
	if strings.ContainsAny(rest[0], "\"'`$\\()<^%#{}") {
		return nil
	}
	var last []string
	line := strings.NewReplacer("||", ";", ">&", ">").Replace(rest[0])
	for _, line := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\n;&", r) }) {
		line, _, _ = strings.Cut(line, "|")
		line, _, _ = strings.Cut(line, ">")
		words := strings.Fields(line)
		for len(words) > 0 && assigns(words[0]) {
			words = words[1:]
		}
		if len(words) > 0 {
			last = words
		}
	}
	return last
}

// flag classifies a word. If the value of a flag is in the same word, it also returns the value.
func (l *launcher) flag(word string) (kind flagKind, value string) {
	if kind := l.kindOf(word); kind != flagUnknown {
		return kind, ""
	}
	if len(word) < 2 || word[0] != '-' {
		return notAFlag, ""
	}
	if flag, value, ok := strings.Cut(word, "="); ok {
		if kind := l.kindOf(flag); kind == flagName || kind == flagCode {
			return kind, value
		}
		return flagSwitch, ""
	}
	if strings.HasPrefix(word, "--no-") || strings.Trim(word[1:], "0123456789") == "" {
		return flagSwitch, "" // by convention, as in nice -5
	}
	if word[1] == '-' {
		return flagUnknown, ""
	}
	for i := 1; i < len(word); i++ { // several letters; only the last may have a value
		switch kind := l.kindOf("-" + word[i:i+1]); {
		case kind == flagSwitch:
		case kind == flagValue && i < len(word)-1:
			return flagSwitch, ""
		default:
			return kind, word[i+1:]
		}
	}
	return flagSwitch, ""
}

func (l *launcher) kindOf(flag string) flagKind {
	switch {
	case has(l.code, flag):
		return flagCode
	case has(l.names, flag):
		return flagName
	case has(l.values, flag):
		return flagValue
	case has(l.flags, flag), has(sharedFlags, flag), len(flag) == 2 && flag[0] == '-' && strings.Contains(l.letters, flag[1:]):
		return flagSwitch
	}
	return flagUnknown
}

// has reports whether a word is one of several.
func has(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// script returns the first word that is certainly a program file, and therefore not a secret in any
// position.
func script(words []string) []string {
	re := regexp.MustCompile(`(?i)^[\w.~/\\][\w.~/\\:@+-]*\.(js|mjs|cjs|ts|mts|cts|tsx|jsx|py|pyz|rb|php|pl|jar|dll|exe|sh)$`)
	for _, w := range words {
		if re.MatchString(w) {
			return []string{w}
		}
	}
	return nil
}

// assigns reports whether a word sets a variable for a command.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/\\ \t")
}

// programName returns the name of a program without directory, extension and version: python for
// python3.12.
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

// vague lists names of files and directories that do not identify a server. The parent
// directory is examined instead.
var vague = []string{"", ".", "..", "/", "index", "main", "__main__", "server", "mcp", "mcp-server", "cli", "app", "start", "run",
	"dist", "build", "src", "lib", "bin", "out", "target", "release", "debug", "cmd", "node_modules", ".bin"}

// patterns are compiled on first use, not at every start.
var patterns = sync.OnceValue(func() (p struct{ extension, version, scheme, outside *regexp.Regexp }) {
	p.extension = regexp.MustCompile(`(?i)\.(js|mjs|cjs|ts|mts|cts|tsx|jsx|py|pyz|rb|php|pl|jar|dll|exe|cmd|bat|sh|git|csproj)$`)
	// What may follow the name of a package: @1.2, ==1.2, [extra], :tag.
	p.version = regexp.MustCompile(`(@[^/@]*|[=<>~!]=.*|\[.*|:[\w.-]+)$`)
	p.scheme = regexp.MustCompile(`^(git\+)?(file|npm|jsr):(//)?`)
	p.outside = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	return p
})

const maxLabel = 40

// Tidy derives a name from a path, a package, an image or an address.
func Tidy(word string) string {
	re := patterns()
	if strings.ContainsAny(word, " \t\r\n") && (strings.Contains(word, " -") || !isProgramPath(word)) {
		// A whole command line in one word: the rest may be anything.
		word, _, _ = strings.Cut(strings.Join(strings.Fields(word), " "), " ")
	}
	word = strings.ReplaceAll(word, `\`, "/")
	word = re.scheme.ReplaceAllString(word, "")
	word, _, _ = strings.Cut(word, "?")
	deep := true // use parent directories if the name is vague
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

// isProgramPath reports whether a word is the path of a Windows program, which may contain spaces.
func isProgramPath(word string) bool {
	dir, _, _ := strings.Cut(word, " ")
	return strings.ContainsAny(dir, `/\`) && slices.Contains([]string{".exe", ".cmd", ".bat"}, strings.ToLower(path.Ext(word)))
}

// addressName returns the part of an address, given without its scheme, that may be shown: no user or
// password, no fragment.
func addressName(rest string) string {
	rest, _, _ = strings.Cut(rest, "#")
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	if path = strings.Trim(path, "/"); path == "" {
		return host
	}
	return host + "/" + path
}

// ForHost derives a label from the host of a URL. The rest of the URL may be secret.
func ForHost(u *url.URL) string {
	label := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" {
		label += ":" + port
	}
	if len(label) > maxLabel {
		label = strings.ToValidUTF8(label[:maxLabel], "")
	}
	return label
}
