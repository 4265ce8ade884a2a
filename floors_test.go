package mcptap_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcptap/mcptap"

// A floor lists what a package may import. Every package must be listed.
type floor struct {
	ours  []string // packages of this module
	third []string // third-party modules, each with one door
	never map[string]string
}

var (
	noClock = "it is pure: times are arguments, so that every view can be tested from text"
	noIO    = "it is pure: no I/O, so that recorder, command line, mock and viewer can share it"
	noLocks = "it is pure: single goroutine; callers synchronize"
	pure    = map[string]string{"os": noIO, "net": noIO, "net/http": noIO, "sync": noLocks, "time.Now": noClock, "time.Since": noClock, "time.Sleep": noClock}
)

var floors = map[string]floor{
	"tap": {never: pure},
	// The only reader of JSON-RPC.
	"tap/jsonrpc": {
		ours:  []string{"internal/jsontree", "tap"},
		third: []string{"github.com/tidwall/gjson"},
		never: pure,
	},
	// The only place where messages are paired and frames are assigned to sessions.
	"tap/session": {
		ours:  []string{"internal/bounded", "tap", "tap/jsonrpc"},
		never: pure,
	},
	// Makes recorded text safe to print. There is one package, so that terminal, text files and viewer
	// escape the same characters.
	"internal/term/escape": {never: pure},
	// Errors with hints, which every command prints in the same way.
	"internal/hint": {never: pure},
	// Everything printed for a terminal.
	"internal/term": {
		ours: []string{"internal/hint", "internal/term/escape"},
		// The width of a terminal and of characters.
		third: []string{"golang.org/x/term", "github.com/mattn/go-runewidth"},
		never: map[string]string{"net/http": "it prints for a terminal"},
	},
	// The text formats, each read and written by the same package.
	"tap/text": {
		ours:  []string{"internal/term/escape", "tap"},
		third: []string{"golang.org/x/tools/txtar"},
		never: pure,
	},
	"tap/filter": {
		ours:  []string{"internal/term/escape", "tap", "tap/jsonrpc"},
		never: pure,
	},
	"tap/view": {
		ours:  []string{"internal/bounded", "internal/jsontree", "tap", "tap/filter", "tap/jsonrpc", "tap/session"},
		never: pure,
	},
	"tap/stdio": {
		ours: []string{"tap"},
		// System calls that package syscall lacks.
		third: []string{"golang.org/x/sys"},
		never: map[string]string{
			"net/http": "this is the transport over pipes",
			"net":      "this is the transport over pipes",
			"os/exec":  "it copies between pipes itself, and looks up commands differently from execvp",
		},
	},
	"tap/streamable": {
		ours: []string{"tap"},
		// One door for each content coding that is decoded for the recording, and gjson for the document in
		// which --rewrite-auth changes a member.
		third: []string{
			"github.com/klauspost/compress/flate", "github.com/klauspost/compress/gzip",
			"github.com/klauspost/compress/zlib", "github.com/klauspost/compress/zstd",
			"github.com/andybalholm/brotli", "github.com/tidwall/gjson",
		},
		never: map[string]string{
			"net/http": "it is a tap of connections: reading and rewriting HTTP would change it",
			"os/exec":  "it sits between connections",
		},
	},
	// Raw conversations, for the tests of everything that handles an HTTP tap's recording.
	"internal/rawtalk": {},
	// How much of a long test runs.
	"internal/longtest": {},
	// Bounded state about a recording.
	"internal/bounded": {never: pure},
	"store": {
		ours: []string{"tap", "tap/session"},
		// S2 is the store's second door: segments are compressed, because the disk is the bottleneck of a
		// recording tap. S2 was three times as fast on JSON-RPC as zstd from the same module, at twice the
		// size.
		third: []string{"go.etcd.io/bbolt", "github.com/klauspost/compress/s2"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	"replay": {
		ours:  []string{"internal/jsonpath", "internal/jsontree", "tap", "tap/jsonrpc", "tap/session"},
		never: pure,
	},
	"replay/client": {
		ours: []string{"tap", "tap/jsonrpc", "tap/session", "tap/stdio", "replay"},
		// One file uses WebSocket.
		third: []string{"github.com/gorilla/websocket"},
		never: map[string]string{
			"os/exec": "package tap/stdio starts servers, as execvp finds them",
		},
	},
	"replay/report": {
		ours: []string{"internal/listing", "internal/term", "internal/term/escape", "replay/client", "tap/jsonrpc", "tap/session", "tap/text", "tap/view"},
		never: map[string]string{
			"net/http": "it reports what a replay did",
			"os/exec":  "it reports what a replay did",
		},
	},
	// The only place where JSON values are compared.
	"internal/jsontree": {
		ours:  []string{"internal/term/escape"},
		third: []string{"github.com/tidwall/gjson"},
		never: pure,
	},
	// The one dialect of paths that users write.
	"internal/jsonpath": {
		ours: []string{"internal/jsontree"},
		// It inserts a value into a text and keeps the rest, and tests whether a value exists.
		third: []string{"github.com/tidwall/gjson", "github.com/tidwall/sjson"},
		never: pure,
	},
	"check": {
		ours: []string{"tap", "tap/filter", "tap/jsonrpc", "tap/session", "internal/bounded", "internal/jsontree", "internal/term/escape", "diff", "redact"},
		// A validator that reports the place and the kind of each error.
		third: []string{"github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text"},
		never: without(pure, "sync"), // the list of rules is built once, on first use
	},
	// It reads what package check judges.
	"check/load": {
		ours: []string{"check", "check/report", "internal/hint", "internal/term", "recording", "store", "tap", "tap/filter", "tap/session", "tap/view"},
		// The file of settings sets flags.
		third: []string{"github.com/spf13/pflag", "go.yaml.in/yaml/v3"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	"check/report": {
		ours:  []string{"check", "internal/junit", "internal/term", "internal/term/escape", "tap/view"},
		never: pure,
	},
	"diff": {
		ours:  []string{"tap", "tap/jsonrpc", "tap/session", "internal/jsonpath", "internal/jsontree"},
		never: pure,
	},
	"internal/junit": {never: pure},
	// It reads what package diff compares.
	"diff/load": {
		ours: []string{"diff", "diff/report", "internal/hint", "internal/term", "recording", "store", "tap", "tap/filter", "tap/jsonrpc", "tap/session", "tap/view"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	"diff/report": {
		ours:  []string{"internal/junit", "internal/term", "internal/term/escape", "tap", "tap/jsonrpc", "tap/session", "diff", "internal/jsontree"},
		never: pure,
	},
	"mock": {
		ours:  []string{"tap", "tap/jsonrpc", "tap/session", "replay", "replay/client"},
		third: []string{"github.com/gorilla/websocket"},
		never: map[string]string{
			"os/exec": "it is the server: its caller starts processes",
		},
	},
	// The only package that opens the recordings that a user names. It is above the store and
	// the file formats, and below the packages that play and serve recordings.
	"recording": {
		ours: []string{"internal/wholefile", "tap", "tap/session", "tap/text", "tap/view", "store", "export", "bundle"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	// Frames and calls as lines, as text and as JSON.
	"internal/listing": {
		ours:  []string{"internal/hint", "internal/term", "internal/term/escape", "recording", "store", "tap", "tap/filter", "tap/jsonrpc", "tap/session", "tap/text", "tap/view"},
		third: []string{"github.com/tidwall/pretty"},
		never: map[string]string{
			"net/http": "it prints recordings",
			"os/exec":  "it prints recordings",
		},
	},
	"internal/stats": {
		ours: []string{"check", "internal/listing", "internal/term", "internal/term/escape", "recording", "store", "tap", "tap/session", "tap/text", "tap/view"},
		never: map[string]string{
			"net/http": "it measures recordings",
			"os/exec":  "it measures recordings",
		},
	},
	"internal/labels": {never: without(pure, "sync")}, // the table of launchers is built once
	"mock/report": {
		ours: []string{"internal/junit", "internal/term", "internal/term/escape", "mock", "replay", "tap/text"},
		never: map[string]string{
			"net/http": "it reports what a mock did",
			"os/exec":  "it reports what a mock did",
		},
	},
	"internal/prune": {
		ours: []string{"internal/listing", "internal/term", "internal/term/escape", "store", "tap/text", "tap/view"},
		never: map[string]string{
			"net/http": "it selects recordings",
			"os/exec":  "it chooses among recordings",
		},
	},
	"web/source": {
		ours: []string{"diff", "diff/load", "diff/report", "internal/wholefile", "recording", "store", "web"},
		never: map[string]string{
			"net/http": "it reads files",
			"os/exec":  "it reads files",
		},
	},
	// Atomic replacement of files, for recordings and reports.
	"internal/wholefile": {never: map[string]string{"net/http": "it writes files", "os/exec": "it writes files"}},
	// For tests in Go. It is not part of the program, so neither is package testing.
	"mock/mocktest": {ours: []string{"internal/term/escape", "replay", "mock", "recording"}},
	"demo": {
		// The demo's server and client use what users use: the official SDK.
		third: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"web": {
		ours:  []string{"check", "internal/bounded", "internal/term/escape", "tap", "tap/filter", "tap/jsonrpc", "tap/session", "tap/view", "store", "export", "recording", "diff/report"},
		third: []string{"github.com/gorilla/websocket"},
		never: map[string]string{
			"os":      "recordings come from a web.Source",
			"os/exec": "the viewer only reads",
		},
	},
	"export": {
		ours:  []string{"internal/term/escape", "tap", "tap/jsonrpc", "tap/session", "tap/text", "tap/view"},
		never: pure,
	},
	// Without OpenTelemetry's SDK, which would only queue the spans.
	"export/otlp": {
		ours: []string{"export", "internal/term/escape"},
		never: map[string]string{
			"os":      "spans come from the reader of a recording",
			"os/exec": "it sends spans",
		},
	},
	"redact": {
		ours:  []string{"tap"},
		never: pure,
	},
	"bundle": {
		ours:  []string{"check", "internal/term/escape", "tap", "tap/jsonrpc", "tap/session", "tap/view"},
		never: pure,
	},
	// Adds the locks that a tap's goroutines need.
	"redact/record": {
		ours: []string{"tap", "redact"},
		never: map[string]string{
			"os":       "the recorder behind it writes to the disk",
			"net/http": "it sees frames",
		},
	},
	// It reads and writes client configuration files, and starts nothing.
	"wrap": {
		// Parsers that report the position of each value.
		third: []string{"github.com/tailscale/hujson", "github.com/pelletier/go-toml/v2"},
		never: map[string]string{
			"net/http": "it edits files",
			"os/exec":  "it edits files",
			"time":     "its output depends only on the file",
		},
	},
	// User input about HTTP, and the connection to a server at a URL.
	"internal/endpoint": {
		ours:  []string{"internal/hint", "internal/term", "internal/term/escape", "redact/record", "replay/client", "tap", "tap/streamable"},
		never: map[string]string{"os/exec": "a server that is a command has no URL"},
	},
	"internal/settings": {
		ours:  []string{"export/otlp", "internal/endpoint", "internal/hint", "internal/term", "tap/filter"},
		third: []string{"github.com/spf13/pflag"},
		never: map[string]string{
			"net/http": "it reads flags and variables",
			"os/exec":  "it reads flags and variables",
		},
	},
	"internal/doctor": {
		ours:  []string{"internal/settings", "internal/term", "internal/term/escape", "internal/wholefile", "store", "tap", "tap/text", "tap/view", "wrap", "wrap/config"},
		never: map[string]string{"net/http": "it checks this machine"},
	},
	// Frames or calls of recordings, including several live ones.
	"internal/show": {
		ours: []string{"check", "check/load", "internal/hint", "internal/listing", "internal/term", "recording", "store", "tap", "tap/filter", "tap/session", "tap/view"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	// Processes that read a recording, so that they cannot slow down the tap.
	"internal/beside": {
		ours:  []string{"export", "export/otlp", "store"},
		never: map[string]string{"net": "package otlp sends"},
	},
	"wrap/config": {
		ours: []string{"internal/hint", "internal/term", "internal/term/escape", "redact", "tap/text", "wrap"},
		never: map[string]string{
			"net/http": "it edits files",
			"os/exec":  "it edits files",
		},
	},
	// A replay, from the recording argument to the report.
	"replay/run": {
		ours: []string{
			"diff", "diff/load", "diff/report", "internal/endpoint", "internal/hint", "internal/jsonpath", "internal/term", "internal/term/escape",
			"recording", "replay/client", "replay/report", "store", "tap", "tap/jsonrpc", "tap/session", "tap/streamable",
		},
		never: map[string]string{
			"net/http": "package client connects",
			"os/exec":  "package client starts the server",
		},
	},
	"redact/file": {
		ours: []string{"internal/hint", "internal/term", "internal/term/escape", "recording", "redact", "store", "tap", "tap/text"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	// It is above the viewer, whose page is part of a bundle.
	"bundle/file": {
		ours: []string{"bundle", "recording", "redact", "redact/file", "store", "web"},
		never: map[string]string{
			"net/http": "recordings are files",
			"os/exec":  "recordings are files",
		},
	},
	"mock/record": {
		ours: []string{
			"internal/endpoint", "internal/hint", "internal/labels", "internal/term", "internal/wholefile", "mock", "recording", "replay/client",
			"store", "tap", "tap/jsonrpc", "tap/streamable",
		},
		never: map[string]string{
			"net/http": "package client connects",
			"os/exec":  "package client starts the server",
		},
	},
	"cmd/mcptap": {
		ours: []string{
			"bundle", "bundle/file", "check", "check/load", "check/report", "demo", "diff", "diff/load", "diff/report", "export", "export/otlp",
			"internal/beside", "internal/doctor", "internal/endpoint", "internal/hint", "internal/labels", "internal/listing", "internal/prune",
			"internal/settings", "internal/show", "internal/stats", "internal/term", "internal/term/escape", "internal/wholefile", "mock",
			"mock/record", "mock/report", "recording", "redact", "redact/file", "redact/record", "replay", "replay/client", "replay/run", "store",
			"tap", "tap/filter", "tap/jsonrpc", "tap/session", "tap/stdio", "tap/streamable", "tap/text", "tap/view", "web", "web/source", "wrap",
			"wrap/config",
		},
		third: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
	"bench": {ours: []string{"tap", "store"}},
}

// without returns bans without the one for a package.
func without(bans map[string]string, name string) map[string]string {
	rest := maps.Clone(bans)
	delete(rest, name)
	return rest
}

// stdioWindows is what Windows needs: there only the standard library can start a process with pipes.
var stdioWindows = map[string]bool{"os/exec": true}

func TestEveryPackageKeepsToItsFloor(t *testing.T) {
	seen := map[string]bool{}
	eachGoFile(t, func(dir, file string) {
		fl, ok := floors[dir]
		if !ok {
			t.Errorf("%s: package %s has no floor: list in floors_test.go what it may import, and why", file, dir)
			return
		}
		seen[dir] = true
		checkFile(t, dir, file, fl)
	})
	for dir := range floors {
		if !seen[dir] {
			t.Errorf("floor for %s, which does not exist", dir)
		}
	}
}

// eachGoFile calls fn for each file of this module that is part of its build.
func eachGoFile(t *testing.T, fn func(dir, file string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			nested, _ := filepath.Glob(filepath.Join(path, "go.mod"))
			if path != "." && (len(nested) > 0 || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			fn(filepath.ToSlash(filepath.Dir(path)), filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, dir, file string, fl floor) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if why, banned := fl.never[path]; banned && !(dir == "tap/stdio" && stdioWindows[path] && portable(file)) {
			t.Errorf("%s imports %s: %s", file, path, why)
		}
		ours, isOurs := strings.CutPrefix(path, module+"/")
		first, _, _ := strings.Cut(path, "/")
		switch {
		case isOurs && !oneOf(ours, fl.ours, false):
			t.Errorf("%s imports %s: package %s may import %v", file, path, dir, fl.ours)
		case !isOurs && strings.Contains(first, ".") && !oneOf(path, fl.third, true):
			t.Errorf("%s imports %s: %s may import only the third-party modules %v", file, path, dir, fl.third)
		}
	}
	checkCalls(t, file, f, fl)
}

// portable reports whether the file is built for systems without fork.
func portable(file string) bool {
	return strings.HasSuffix(file, "_windows.go") || strings.HasSuffix(file, "_portable.go")
}

func oneOf(path string, list []string, below bool) bool {
	for _, p := range list {
		if path == p || below && strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}
