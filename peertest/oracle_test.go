package peertest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// The wire validation of the conformance suite and package check validate the same frames: valid
// messages of four revisions, and each with one change at one place. If only one of them considers the
// last frame of a session valid, the kind of difference must be listed in oracle_differences.tsv, with
// what the specification says. The test also fails if a listed kind does not occur.
//
// For package check, a frame is invalid if it violates a rule of the class must or client-breaking, or
// feat-25, the schema rule.
func TestWireOracle(t *testing.T) {
	needPeers(t)
	node := node22(t)
	var all []wireSession
	for _, seed := range wireSeeds(t) {
		for i := seed.from; i < len(seed.Frames); i++ {
			s := seed
			s.Frames = slices.Clip(seed.Frames[:i+1])
			all = append(all, s)
			for _, m := range changes(t, seed.Frames[i].Message) {
				changed := s
				changed.Frames, changed.change = slices.Clone(s.Frames), m.change
				changed.Frames[i].Message = m.message
				all = append(all, changed)
			}
		}
	}
	theirs, ours := judgedBySuite(t, node, all), judgedByCheck(all)

	known, found := knownDifferences(t), map[string]map[string]int{}
	var verdicts [2][2]int
	for i, s := range all {
		if s.change == "" && len(ours[i]) > 0 {
			t.Errorf("check finds a seed invalid: %s\n%q", s, ours[i])
		}
		verdicts[min(len(ours[i]), 1)][min(len(theirs[i]), 1)]++
		for _, kind := range difference(s, ours[i], theirs[i]) {
			if rule, _, _ := strings.Cut(kind, " "); known[kind] == "" && known[rule+" *"] != "" {
				kind = rule + " *"
			}
			if found[kind] == nil {
				found[kind] = map[string]int{}
			}
			if found[kind][s.letter]++; known[kind] == "" && found[kind][s.letter] == 1 {
				t.Errorf("a difference is not explained: %s, %s\nthe suite: %q\ncheck: %q", kind, s, theirs[i], ours[i])
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(known)) {
		if got := strings.Join(slices.Sorted(maps.Keys(found[kind])), ""); got != known[kind] {
			t.Errorf("a difference is listed for revisions %s but occurs in %q: %s", known[kind], got, kind)
		}
		if testing.Verbose() {
			t.Log(kind, found[kind])
		}
	}
	t.Logf("%d frames: %d valid to both, %d invalid to both, %d invalid only to check, %d only to the suite",
		len(all), verdicts[0][0], verdicts[1][1], verdicts[1][0], verdicts[0][1])
	if len(all) < 10_000 {
		t.Errorf("only %d frames", len(all))
	}
}

// A wireSession is a session whose last frame is validated.
type wireSession struct {
	Revision jsonrpc.Revision `json:"revision"`
	Frames   []wireFrame      `json:"frames"`
	change   string           // the change to the last frame, "" for none
	letter   string           // the letter for the revision
	from     int              // the first frame after the handshake
}

type wireFrame struct {
	Lane    string          `json:"lane"`
	Message json.RawMessage `json:"message"`
}

func (s wireSession) String() string {
	last := s.Frames[len(s.Frames)-1]
	return fmt.Sprintf("%s, %s: %s %.600s", s.Revision, cmp.Or(s.change, "unchanged"), last.Lane, last.Message)
}

// wireSeeds reads oracle_seeds.txt.
func wireSeeds(t *testing.T) (seeds []wireSession) {
	t.Helper()
	const (
		client = `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`
		server = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		legacy = `> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"@rev","capabilities":` + client + `,"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"@rev","capabilities":` + server + `,"serverInfo":{"name":"s","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
`
		modern = `> {"jsonrpc":"2.0","id":"i","method":"server/discover","params":{"_meta":{"progressToken":1@m}}}
< {"jsonrpc":"2.0","id":"i","result":{@c"supportedVersions":["2026-07-28"],"capabilities":` + server + `}}
`
		meta = `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}`
	)
	revisions := map[rune]jsonrpc.Revision{'B': jsonrpc.Rev20250326, 'C': jsonrpc.Rev20250618, 'D': jsonrpc.Rev20251125, 'E': jsonrpc.Rev20260728}
	data, err := os.ReadFile("oracle_seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n= ")[1:] {
		letters, lines, _ := strings.Cut(block, "\n")
		for _, letter := range letters {
			rev, handshake := revisions[letter], legacy
			words := []string{"@rev", string(rev), "@m", "", "@r", "", "@c", ""}
			if rev == jsonrpc.Rev20260728 {
				handshake = modern
				words = []string{"@m", meta, "@r", `"resultType":"complete",`, "@c", `"resultType":"complete","ttlMs":1000,"cacheScope":"public",`}
			}
			s := wireSession{Revision: rev, letter: string(letter)}
			add := func(lines string) {
				for line := range strings.Lines(strings.NewReplacer(words...).Replace(lines)) {
					sign, message, _ := strings.Cut(strings.TrimSpace(line), " ")
					if lane := map[string]string{">": "to_server", "<": "to_client"}[sign]; lane != "" {
						s.Frames = append(s.Frames, wireFrame{lane, json.RawMessage(message)})
					}
				}
			}
			if !strings.Contains(lines, `"initialize"`) && !strings.Contains(lines, `"server/discover"`) {
				add(handshake)
			}
			s.from = len(s.Frames)
			add(lines)
			seeds = append(seeds, s)
		}
	}
	return seeds
}

// A changed is a changed message, with a description and the place of the change.
type changed struct {
	message json.RawMessage
	change  string
}

// changes returns a message with each change at each place.
func changes(t *testing.T, message json.RawMessage) (all []changed) {
	t.Helper()
	var root any
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		t.Fatalf("%v in %s", err, message)
	}
	var walk func(path string, v any, set func(any))
	walk = func(path string, v any, set func(any)) {
		try := func(what string, values ...any) {
			for _, value := range values {
				set(value)
				text, err := json.Marshal(root)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, changed{text, what + " " + path})
			}
			set(v)
		}
		// with returns an object with one more member.
		with := func(o map[string]any, name string, value any) map[string]any {
			o = maps.Clone(o)
			o[name] = value
			return o
		}
		try("null at", nil)
		switch v := v.(type) {
		case map[string]any:
			try("another type at", "x", []any{})
			try("a member in", with(v, "extra", map[string]any{"a": 1}))
			if strings.HasSuffix(path, "._meta") {
				try("a bad key in", with(v, "a b", 1), with(v, "-a.com/x", 1), with(v, "com.example/", 1), with(v, "a/b/c", 1))
			}
			if path == "$" {
				try("both outcomes in", with(v, "result", map[string]any{}), with(v, "error", map[string]any{"code": 1, "message": "m"}), with(v, "error", nil))
				try("an id in", with(v, "id", 99), with(v, "id", true), with(v, "id", 1.5), with(v, "id", "9"))
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				inner := v[name]
				delete(v, name)
				try("no "+name+" in", v)
				v[name] = inner
				walk(path+"."+name, inner, func(x any) { v[name] = x })
			}
		case []any:
			try("another type at", map[string]any{}, "x")
			try("an element in", append(slices.Clone(v), 7), append(slices.Clone(v), map[string]any{}))
			for i, inner := range v {
				walk(path+"[*]", inner, func(x any) { v[i] = x })
			}
		case string:
			try("another type at", 7, true, map[string]any{})
			try("another value at", v+"?", "")
		case json.Number:
			try("another type at", "7", true, []any{})
			try("another value at", json.Number("1.5"), json.Number("-1"), json.Number("1e3"))
		case bool:
			try("another type at", "true", 1)
		}
	}
	walk("$", root, func(x any) { root = x })
	return all
}

// judgedBySuite returns the errors that the suite reports for each session.
func judgedBySuite(t *testing.T, node string, all []wireSession) (errors [][]string) {
	t.Helper()
	var in bytes.Buffer
	e := json.NewEncoder(&in)
	for _, s := range all {
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(node, abs("clients/oracle.mjs"), abs("node_modules"))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var found []string
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		errors = append(errors, found)
	}
	if len(errors) != len(all) {
		t.Fatalf("%d verdicts on %d sessions", len(errors), len(all))
	}
	return errors
}

// judgedByCheck returns the rules that the last frame of each session violates, and where. The schemas
// are compiled once: one checker runs feat-25 for all sessions.
func judgedByCheck(all []wireSession) (violations [][]string) {
	violations = make([][]string, len(all))
	isSchema := func(r *check.Rule) bool { return r.ID == "feat-25" }
	rules := slices.DeleteFunc(slices.Clone(check.Rules()), isSchema)
	schema := check.New(slices.DeleteFunc(slices.Clone(check.Rules()), func(r *check.Rule) bool { return !isSchema(r) }))
	var number, judged uint64
	failed := false
	schema.Each(func(_ *check.Rule, frame uint64) { failed = failed || frame == judged })
	for i, s := range all {
		var tracker session.Tracker
		c := check.New(rules)
		judged, failed = number+uint64(len(s.Frames)), false
		for _, f := range s.Frames {
			number++
			lane := map[string]tap.Lane{"to_server": tap.ToServer, "to_client": tap.ToClient}[f.Lane]
			raw := append(slices.Clone(f.Message), '\n')
			e := tracker.Add(&tap.Frame{Seq: number, Lane: lane, Raw: raw, Size: int64(len(raw))})
			c.Add(e)
			e.Session = i + 1
			schema.Add(e)
		}
		for _, f := range c.Report(tracker.Open()).Findings {
			if f.Class >= check.Must && slices.Contains(f.Frames, judged) {
				violations[i] = append(violations[i], f.Rule.ID+" "+f.Path)
			}
		}
		if failed {
			violations[i] = append(violations[i], "feat-25")
		}
	}
	return violations
}

var element = regexp.MustCompile(`/\d+\b`)

// difference returns the kinds of differences between the verdicts on a frame: each rule and path for
// which only check reports a violation, or the first error that only the suite reports; none if the
// verdicts agree.
func difference(s wireSession, ours, theirs []string) (kinds []string) {
	batch := ""
	if s.Frames[len(s.Frames)-1].Message[0] == '[' {
		batch = " (batch)"
	}
	switch {
	case len(ours) > 0 && len(theirs) == 0:
		for _, violation := range ours {
			kinds = append(kinds, "check\t"+violation+batch)
		}
	case len(ours) == 0 && len(theirs) > 0:
		kinds = append(kinds, "suite\t"+element.ReplaceAllString(theirs[0], "/*")+batch)
	}
	return kinds
}

// knownDifferences reads oracle_differences.tsv: the kinds, with the letters of the revisions in which
// they occur.
func knownDifferences(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("oracle_differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 {
			t.Fatalf("oracle_differences.tsv: %q does not have four fields", line)
		}
		known[fields[0]+"\t"+fields[1]] = fields[2]
	}
	return known
}
