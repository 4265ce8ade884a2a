package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A key is a name before a colon. It has text, number and unit, words, or, as id:,
// none of them.
type key struct {
	name     string
	help     string   // a line
	examples []string // terms
	needs    Needs
	text     func(*Item) string         // "" matches nothing
	texts    func(*Item) []string       // one of them must match
	number   func(*Item) (uint64, bool) // false matches nothing
	unit     *unit
	words    []word
	seen     func(Seen) []string // for completion
}

var keys = []*key{
	{name: "method", help: "the method; for a response, the method of its request", examples: []string{"method:tools/call", "method:resources/*,prompts/get"},
		text: func(it *Item) string { return it.Method }, seen: seenMethods},
	{name: "tool", help: "the tool, for the request and its response", examples: []string{"tool:forecast", "-tool:*"},
		text: func(it *Item) string { return it.Tool }, seen: func(s Seen) []string { return s.Tools }},
	{name: "prompt", help: "the prompt, likewise", examples: []string{"prompt:summarize"},
		text: func(it *Item) string { return it.Prompt }, seen: func(s Seen) []string { return s.Prompts }},
	{name: "uri", help: "the resource that is read or subscribed to, likewise", examples: []string{"uri:file:///*.md", `uri:/\.md$/`},
		text: func(it *Item) string { return it.URI }, seen: func(s Seen) []string { return s.URIs }},
	{name: "id", help: `the JSON-RPC id; 1 is a number, "1" a string`, examples: []string{"id:1", `id:"1"`, "id:probe-*"}},
	{name: "dir", help: "the direction, or lane", examples: []string{"dir:to_server", "-dir:stderr"}, words: dirWords},
	{name: "kind", help: "the kind of frame, or the name of a lifecycle event", examples: []string{"kind:request", "kind:error,invalid", "kind:exit"},
		words: kindWords},
	{name: "is", help: "the state of the frame or call", examples: []string{"is:error", "is:pending,slow"}, words: isWords},
	{name: "session", help: "the number of the session", examples: []string{"session:2"},
		needs: NeedSession, text: func(it *Item) string { return it.Session }, seen: func(s Seen) []string { return s.Sessions }},
	{name: "rev", help: "the protocol revision", examples: []string{"rev:2025-11-25", "rev:2025-*"},
		needs: NeedSession, text: func(it *Item) string { return it.Revision }, seen: seenRevisions},
	{name: "exchange", help: "the number of the HTTP exchange", examples: []string{"exchange:3", "exchange:3..5"},
		unit: &counts, number: func(it *Item) (uint64, bool) { return it.Frame.Exchange, it.Frame.Exchange != 0 }},
	{name: "status", help: "the HTTP status", examples: []string{"status:404", "status:4xx,5xx", "status:>=400"},
		unit: &statuses, number: func(it *Item) (uint64, bool) { return uint64(it.Status), it.Status > 0 }},
	{name: "latency", help: "the time until the response; of a request without one, how long it waits", examples: []string{"latency:>500ms", "latency:100ms..2s"},
		needs: NeedWait, unit: &durations, number: func(it *Item) (uint64, bool) { return uint64(max(it.Latency, 0)), it.Answered }},
	{name: "size", help: "the size in bytes", examples: []string{"size:>1MB", "size:..64KiB"},
		unit: &sizes, number: func(it *Item) (uint64, bool) { return uint64(max(it.Frame.Size, 0)), true }},
	{name: "at", help: "the time since the start of the recording", examples: []string{"at:>2s", "at:1m..1m30s"},
		unit: &durations, number: func(it *Item) (uint64, bool) { return uint64(max(it.Frame.At, 0)), true }},
	{name: "rule", help: "a rule of `mcptap check` that the frame violates; only in `mcptap show`", examples: []string{"rule:rpc-07", "rule:feat"},
		needs: NeedFindings, texts: rulesAndFamilies, seen: func(s Seen) []string { return s.Rules }},
	{name: "seq", help: "the frame number", examples: []string{"seq:17", "seq:10..20"},
		unit: &counts, number: func(it *Item) (uint64, bool) { return it.Frame.Seq, true }},
}

// rulesAndFamilies returns the rules of an item and their families: feat-01 and feat.
func rulesAndFamilies(it *Item) (names []string) {
	for _, id := range it.Rules {
		family, _, _ := strings.Cut(id, "-")
		names = append(names, id, family)
	}
	return names
}

// lookupKey returns the key of a name, in any case, or nil.
func lookupKey(name string) *key {
	i := slices.IndexFunc(keys, func(k *key) bool { return strings.EqualFold(k.name, name) })
	if i < 0 {
		return nil
	}
	return keys[i]
}

// keyNames returns the names of the keys with their colons.
func keyNames() (names []string) {
	for _, k := range keys {
		names = append(names, k.name+":")
	}
	return names
}

// otherKeys are the names that other programs have for the keys.
var otherKeys = map[string]string{
	"lane": "dir", "direction": "dir", "type": "kind", "event": "kind", "has": "is",
	"revision": "rev", "version": "rev", "protocol": "rev", "resource": "uri", "url": "uri",
	"duration": "latency", "took": "latency", "time": "at", "offset": "at", "bytes": "size",
	"number": "seq", "frame": "seq", "http": "status", "code": "status", "name": "tool",
}

// nearestKey returns the key that an unknown one probably means, or "".
func nearestKey(name string) string {
	if k := otherKeys[strings.ToLower(name)]; k != "" {
		return k
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return Nearest(name, names)
}

// Seen has the values that a recording is known to have, for [Complete]. The
// lists may be empty.
type Seen struct {
	Methods, Tools, Prompts, URIs, Sessions, Revisions []string
	// Rules are the ids of the rules of package check.
	Rules []string
}

// seenMethods returns all known methods if there are none in the recording.
func seenMethods(s Seen) []string {
	if len(s.Methods) > 0 {
		return s.Methods
	}
	var names []string
	for _, m := range jsonrpc.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// seenRevisions returns all known revisions if there are none in the recording.
func seenRevisions(s Seen) []string {
	if len(s.Revisions) > 0 {
		return s.Revisions
	}
	var names []string
	for _, r := range jsonrpc.Revisions {
		names = append(names, string(r))
	}
	return names
}

// A word is a value of a key of words.
type word struct {
	name  string
	also  []string // other spellings, such as those in listings
	help  string
	needs Needs
	test  func(*Item) bool
}

// named reports whether a text is a name of the word, in any case, with spaces for
// underscores as in listings.
func (w *word) named(text string) bool {
	same := func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(text, " ", "_")) }
	return same(w.name) || slices.ContainsFunc(w.also, same)
}

var dirWords = []word{
	onLane(tap.ToServer, "from the client to the server", "c2s"),
	onLane(tap.ToClient, "from the server to the client", "s2c"),
	onLane(tap.Stderr, "the server's standard error"),
	onLane(tap.Lifecycle, "lifecycle events of the run", "life"),
}

func onLane(l tap.Lane, help string, also ...string) word {
	return word{name: l.String(), also: also, help: help, test: func(it *Item) bool { return it.Frame.Lane == l }}
}

var kindWords = []word{
	ofKind(jsonrpc.Request.String(), "a request"),
	ofKind(jsonrpc.Response.String(), "a response with a result"),
	ofKind(jsonrpc.ErrorResponse.String(), "a response with an error"),
	ofKind(jsonrpc.Notification.String(), "a notification", "notify"),
	ofKind(jsonrpc.Batch.String(), "several messages in one frame"),
	ofKind(jsonrpc.Invalid.String(), "not a JSON-RPC message, where one is required"),
	ofKind(jsonrpc.Other.String(), "not a JSON-RPC message, where none is required: usually one of the next nine"),
	ofSort("body", "an HTTP body", "http_body"),
	ofSort("bytes", "bytes of unknown format"),
	ofSort("ping", "a WebSocket ping", "ws_ping"),
	ofSort("pong", "a WebSocket pong", "ws_pong"),
	ofSort("close", "a WebSocket close frame, with its status", "ws_close"),
	ofSort("event", "a server-sent event", "sse_event"),
	ofSort("priming", "a server-sent event with an id and no data, to resume from", "sse_priming"),
	ofSort("comment", "a comment in an event stream, usually to keep it open", "sse_comment"),
	ofSort("endpoint", "the event of HTTP+SSE with the URL for POST requests", "sse_endpoint"),
	ofKind(tap.Stderr.String(), "output on the server's standard error"),
	{name: tap.Lifecycle.String(), also: []string{"life"}, help: "any lifecycle event", test: func(it *Item) bool { return it.Frame.Lane == tap.Lifecycle }},
	ofEvent(tap.EventStart, tap.EventStart, "the server was started"),
	ofEvent(tap.EventSpawnFailed, tap.EventSpawnFailed, "the server could not be started", "no_start"),
	ofEvent(tap.EventEOF, tap.EventEOF, "a lane ended", "end_of_lane"),
	ofEvent(tap.EventBroken, tap.EventBroken, "the receiver of a lane closed it"),
	ofEvent(tap.EventSignal, tap.EventSignal, "a signal was forwarded to the server"),
	ofEvent(tap.EventExit, tap.EventExit, "the server ended"),
	ofEvent(tap.EventGap, tap.EventGap, "frames were not recorded"),
	ofEvent(tap.EventConnect, tap.EventConnect, "a client connected", "connected"),
	ofEvent(tap.EventDisconnect, tap.EventDisconnect, "a client disconnected", "closed", "disconnected"),
	// Not request and response, which mean JSON-RPC messages.
	ofEvent("http_request", tap.EventRequest, "the header of an HTTP request", "http_req"),
	ofEvent("http_response", tap.EventResponse, "the header of an HTTP response", "http_res"),
	ofEvent(tap.EventRewrite, tap.EventRewrite, "the tap changed forwarded bytes", "rewritten"),
	ofEvent(tap.EventHangUp, tap.EventHangUp, "the client hung up while a response was due"),
	ofEvent(tap.EventEnd, tap.EventEnd, "an HTTP exchange ended", "http_end"),
}

func ofKind(kind, help string, also ...string) word {
	return word{name: kind, also: also, help: help, test: func(it *Item) bool {
		return it.Kind == kind && it.Frame.Lane != tap.Lifecycle
	}}
}

func ofSort(sort, help string, also ...string) word {
	return word{name: sort, also: also, help: help, test: func(it *Item) bool { return it.Sort == sort }}
}

func ofEvent(name, event, help string, also ...string) word {
	return word{name: name, also: also, help: help, test: func(it *Item) bool {
		return it.Kind == event && it.Frame.Lane == tap.Lifecycle
	}}
}

// slow is the minimum latency for is:slow.
const slow = time.Second

var isWords = []word{
	thatIs(IsError, "error", "an error in the summary: also isError, HTTP failures, invalid frames", "failed"),
	{name: "slow", help: "took at least 1s, or has waited that long for a response", needs: NeedWait,
		test: func(it *Item) bool { return it.Answered && it.Latency >= slow }},
	later(thatIs(IsPending, "pending", "a request or call without a response", "open", "waiting")),
	thatIs(IsOrphan, "orphan", "a response without a known request", "no_such_request"),
	thatIs(IsUnmatched, "unmatched", "a notification about an unknown call, task or subscription", "no_such_call", "stray"),
	later(thatIs(IsCancelled, "cancelled", "a cancelled request", "canceled")),
	thatIs(IsCancel, "cancel", "a message that cancels a call"),
	thatIs(IsLate, "late", "a response to a request that was cancelled before, or a call that is `too late`"),
	thatIs(IsRetry, "retry", "a further request of the same call: after input_required, or about its task", "again"),
	thatIs(IsInterim, "interim", "a response that does not end its call: input_required, a task"),
	thatIs(IsProgress, "progress", "a notification about the progress of a call"),
	thatIs(IsLog, "log", "a log message of the server"),
	thatIs(IsInvalid, "invalid", "not a JSON-RPC message, where one is required"),
	thatIs(IsNested, "nested", "a request within another call: sampling, elicitation, roots"),
	thatIs(IsDuplicate, "duplicate", "a second response to a request, or a repeated event", "repeated", "sent_again"),
	thatIs(IsUnsolicited, "unsolicited", "a notification that belongs to no call"),
	thatIs(IsBatch, "batch", "a batch, or a message of one", "batched"),
	{name: "finding", help: "a violation that `mcptap check` reports; only in `mcptap show`", needs: NeedFindings, test: func(it *Item) bool { return len(it.Rules) > 0 }},
	{name: "truncated", also: []string{"torn"}, help: "bytes are missing", test: func(it *Item) bool { return it.Frame.Truncated }},
}

func thatIs(is Is, name, help string, also ...string) word {
	return word{name: name, also: also, help: help, test: func(it *Item) bool { return it.Is&is != 0 }}
}

// later returns a word whose meaning depends on the frames after an item.
func later(w word) word {
	w.needs = NeedFuture
	return w
}

// words compiles a value of a key of words.
func (p *parser) words(k *key, v *value) (*node, *Error) {
	i := slices.IndexFunc(k.words, func(w word) bool { return w.named(v.text) })
	if i >= 0 && v.form != pattern {
		p.f.needs |= k.words[i].needs
		return testNode(k.words[i].test), nil
	}
	var names []string
	for _, w := range k.words {
		names = append(names, w.name)
	}
	problem, help := k.name+": unknown word "+shown(v.text), "the words are "+strings.Join(names, ", ")
	if k.name == "is" && v.text == "timeout" {
		help = "for a timeout: is:cancelled or is:pending; " + help
	}
	if v.form == pattern || strings.Contains(v.text, "*") {
		problem = k.name + ": does not support patterns"
	} else if near := Nearest(v.text, names); near != "" {
		help = "did you mean " + k.name + ":" + near + "? " + help
	}
	return nil, p.wrong(v.from, v.to, problem, help)
}

// Nearest returns the first of the words with the fewest typing errors, or else one
// that begins with what was typed or has it after an underscore, or "".
func Nearest(typed string, words []string) string {
	typed = strings.ToLower(typed)
	most := 2
	if len(typed) < 5 {
		most = 1
	}
	for n := range most + 1 {
		for _, w := range words {
			if within(typed, w, n) {
				return w
			}
		}
	}
	for _, w := range words {
		if len(typed) > 1 && (strings.HasPrefix(w, typed) || strings.HasSuffix(w, "_"+typed)) {
			return w
		}
	}
	return ""
}

// within reports whether a becomes b if at most n letters are inserted, removed,
// replaced, or swapped with the next.
func within(a, b string, n int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case n == 0 || len(a) > len(b)+n || len(b) > len(a)+n:
		return a == b
	case a == "" || b == "":
		return true
	case len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && within(a[2:], b[2:], n-1):
		return true
	}
	return within(a[1:], b[1:], n-1) || within(a[1:], b, n-1) || within(a, b[1:], n-1)
}

// A HelpSection is a section of the help on the language.
type HelpSection struct {
	Title string     `json:"title"`
	Lines []HelpLine `json:"lines"`
}

// A HelpLine explains one form in one line.
type HelpLine struct {
	Form     string   `json:"form"`     // a term, or a key with its colon
	Means    string   `json:"means"`    // its meaning
	Examples []string `json:"examples"` // queries
}

// Help returns the help on the language: its terms, its keys, and the words of
// keys. The command line, the viewer and the documentation show it.
func Help() []HelpSection {
	sections := []HelpSection{{"Terms", termHelp}}
	all := HelpSection{Title: "Keys"}
	for _, k := range keys {
		all.Lines = append(all.Lines, HelpLine{k.name + ":", k.help, k.examples})
	}
	sections = append(sections, all)
	for _, k := range keys {
		if k.words == nil {
			continue
		}
		s := HelpSection{Title: "Words of " + k.name + ":"}
		for _, w := range k.words {
			means := w.help
			if len(w.also) > 0 {
				means += "; also " + strings.Join(w.also, ", ")
			}
			s.Lines = append(s.Lines, HelpLine{w.name, means, []string{k.name + ":" + w.name}})
		}
		sections = append(sections, s)
	}
	return sections
}

var termHelp = []HelpLine{
	{"text", "the payload contains it, ignoring case and JSON escapes", []string{"timeout", "naïve"}},
	{`"text"`, `the same, with spaces and commas; \" is a quote, \\ a backslash`, []string{`"not found"`, `"say \"hi\""`}},
	{"te*xt", "a star matches any text", []string{"city*name"}},
	{"/regexp/", "the payload matches the expression (RE2); (?i) ignores case", []string{`/id=\d+/`, "/(?i)not found/"}},
	{"key:value", "a property of the frame, see the keys", []string{"method:tools/call", `tool:"my tool"`}},
	{"a b", "both a and b", []string{"kind:request dir:to_client", "kind:request AND dir:to_client"}},
	{"a,b", "a or b", []string{"method:tools/call,prompts/get", "timeout,refused"}},
	{"-a", "not a", []string{"-method:ping", "-(is:error timeout)", "NOT method:ping"}},
	{"a OR b", "a or b, which may be any terms; ( and ) group", []string{"is:error OR latency:>1s", "(is:slow OR is:pending) tool:forecast"}},
}
