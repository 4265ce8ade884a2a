package filter

import (
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A key is what can stand before a colon.
type key struct {
	name     string
	help     string   // in one line
	examples []string // whole terms
	needs    Needs
	compile  func(*parser, *key, *value) (func(*Item) bool, *Error)

	// Of a key of text:
	text func(*Item) string
	// Of a key of numbers: the number, and whether there is one.
	number func(*Item) (uint64, bool)
	unit   *unit
	// Of a key of words:
	words []word
	// seen are the values that a recording is known to have.
	seen func(Seen) []string
}

// compares reports whether > and < mean something to the key.
func (k *key) compares() bool { return k.number != nil }

func (k *key) example() string { return k.examples[0] }

var keys []*key

// init breaks what would be a cycle: compiling leads to errors that name keys.
func init() {
	peeked := NeedPeek | NeedPairing
	keys = []*key{
		{name: "method", help: "the method; of a response, the method that it answers", examples: []string{"method:tools/call", "method:resources/*,prompts/get"},
			needs: peeked, compile: compileText, text: func(it *Item) string { return it.Method }, seen: seenMethods},
		{name: "tool", help: "the tool that is called, of the request and of its response", examples: []string{"tool:forecast", "-tool:*"},
			needs: peeked, compile: compileText, text: func(it *Item) string { return it.Tool }, seen: func(s Seen) []string { return s.Tools }},
		{name: "prompt", help: "the prompt that is asked for, likewise", examples: []string{"prompt:summarize"},
			needs: peeked, compile: compileText, text: func(it *Item) string { return it.Prompt }, seen: func(s Seen) []string { return s.Prompts }},
		{name: "uri", help: "the resource that is read or subscribed to, likewise", examples: []string{"uri:file:///*.md", `uri:/\.md$/`},
			needs: peeked, compile: compileText, text: func(it *Item) string { return it.URI }, seen: func(s Seen) []string { return s.URIs }},
		{name: "id", help: `the id; 1 is the number, "1" the string`, examples: []string{"id:1", `id:"1"`, "id:probe-*"},
			needs: NeedPeek, compile: compileID},
		{name: "dir", help: "where it went: the lane", examples: []string{"dir:to_server", "-dir:stderr"},
			compile: compileWord, words: dirWords},
		{name: "kind", help: "what it is, or the name of an event of the run", examples: []string{"kind:request", "kind:error,invalid", "kind:exit"},
			needs: NeedPeek, compile: compileWord, words: kindWords},
		{name: "is", help: "what else is known of it", examples: []string{"is:error", "is:pending,slow"},
			compile: compileWord, words: isWords},
		{name: "session", help: "the session", examples: []string{"session:2"},
			needs: NeedSession, compile: compileText, text: func(it *Item) string { return it.Session }, seen: func(s Seen) []string { return s.Sessions }},
		{name: "rev", help: "the revision of the protocol", examples: []string{"rev:2025-11-25", "rev:2025-*"},
			needs: NeedSession, compile: compileText, text: func(it *Item) string { return it.Revision }, seen: seenRevisions},
		{name: "exchange", help: "the number of the HTTP exchange", examples: []string{"exchange:3", "exchange:3..5"},
			compile: compileNumber, unit: &counts, number: func(it *Item) (uint64, bool) { return it.Frame.Exchange, it.Frame.Exchange != 0 }},
		{name: "status", help: "the HTTP status", examples: []string{"status:404", "status:4xx,5xx", "status:>=400"},
			needs: NeedHTTP, compile: compileNumber, unit: &statuses, number: func(it *Item) (uint64, bool) { return unsigned(int64(it.Status)), it.Status > 0 }},
		{name: "latency", help: "how long the answer took, of the response", examples: []string{"latency:>500ms", "latency:100ms..2s"},
			needs: peeked, compile: compileNumber, unit: &durations, number: func(it *Item) (uint64, bool) { return unsigned(int64(it.Latency)), it.Answered }},
		{name: "size", help: "how many bytes crossed", examples: []string{"size:>1MB", "size:..64KiB"},
			compile: compileNumber, unit: &sizes, number: func(it *Item) (uint64, bool) { return unsigned(it.Frame.Size), true }},
		{name: "at", help: "when it crossed, from the start of the recording", examples: []string{"at:>2s", "at:1m..1m30s"},
			compile: compileNumber, unit: &durations, number: func(it *Item) (uint64, bool) { return unsigned(int64(it.Frame.At)), true }},
		{name: "seq", help: "the number of the frame", examples: []string{"seq:17", "seq:10..20"},
			compile: compileNumber, unit: &counts, number: func(it *Item) (uint64, bool) { return it.Frame.Seq, true }},
	}
}

func unsigned(n int64) uint64 { return uint64(max(n, 0)) }

// lookupKey finds a key, in whatever case it is written.
func lookupKey(name string) *key {
	for _, k := range keys {
		if strings.EqualFold(k.name, name) {
			return k
		}
	}
	return nil
}

func keyNames() (names []string) {
	for _, k := range keys {
		names = append(names, k.name+":")
	}
	return names
}

// otherKeys are names that other programs have for our keys.
var otherKeys = map[string]string{
	"lane": "dir", "direction": "dir", "type": "kind", "event": "kind", "has": "is",
	"revision": "rev", "version": "rev", "protocol": "rev", "resource": "uri", "url": "uri",
	"duration": "latency", "took": "latency", "time": "at", "offset": "at", "bytes": "size",
	"number": "seq", "frame": "seq", "http": "status", "code": "status", "name": "tool",
}

// nearestKey returns the key that was probably meant, "" if none is near.
func nearestKey(name string) string {
	if k := otherKeys[strings.ToLower(name)]; k != "" {
		return k
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return nearest(name, names)
}

// Seen are the values that a recording is known to have, for [Complete]. Any
// of the lists may be empty.
type Seen struct {
	Methods, Tools, Prompts, URIs, Sessions, Revisions []string
}

// seenMethods are all known methods where no recording says which there are.
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
