package filter

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// A word is one of the values that a key takes.
type word struct {
	name  string
	alias string // another spelling
	help  string
	needs Needs
	test  func(*Filter, *Item) bool
}

var dirWords = []word{
	onLane(tap.ToServer, "c2s", "from the client to the server"),
	onLane(tap.ToClient, "s2c", "from the server to the client"),
	onLane(tap.Stderr, "", "the server's standard error"),
	onLane(tap.Life, "", "events of the run itself"),
}

func onLane(l tap.Lane, alias, help string) word {
	return word{name: l.String(), alias: alias, help: help, test: func(_ *Filter, it *Item) bool { return it.Frame.Lane == l }}
}

var kindWords = []word{
	ofKind(tap.Request.String(), "", "a request"),
	ofKind(tap.Response.String(), "", "a response with a result"),
	ofKind(tap.ErrorResponse.String(), "", "a response with an error"),
	ofKind(tap.Notification.String(), "notify", "a notification"),
	ofKind(tap.Batch.String(), "", "several messages in one frame"),
	ofKind(tap.Invalid.String(), "", "no JSON-RPC message, where one should be"),
	ofKind(tap.Other.String(), "", "no JSON-RPC message, where none has to be"),
	ofKind(tap.Stderr.String(), "", "what the server wrote to its standard error"),
	{name: tap.Life.String(), help: "any event of the run", test: func(_ *Filter, it *Item) bool { return it.Frame.Lane == tap.Life }},
	ofEvent(tap.EventStart, tap.EventStart, "the server was started"),
	ofEvent(tap.EventSpawnFailed, tap.EventSpawnFailed, "the server could not be started"),
	ofEvent(tap.EventEOF, tap.EventEOF, "one lane ended"),
	ofEvent(tap.EventBroken, tap.EventBroken, "the receiver of one lane went away"),
	ofEvent(tap.EventSignal, tap.EventSignal, "a signal was forwarded to the server"),
	ofEvent(tap.EventExit, tap.EventExit, "the server ended"),
	ofEvent(tap.EventGap, tap.EventGap, "frames crossed while nothing could be recorded"),
	ofEvent(tap.EventConnect, tap.EventConnect, "a client's connection was accepted"),
	ofEvent(tap.EventDisconnect, tap.EventDisconnect, "a client's connection is over"),
	// These two are not what a request and a response are in JSON-RPC.
	ofEvent("http_request", tap.EventRequest, "the head of an HTTP request"),
	ofEvent("http_response", tap.EventResponse, "the head of an HTTP response"),
	ofEvent(tap.EventRewrite, tap.EventRewrite, "the tap changed what it forwarded"),
	ofEvent(tap.EventEnd, tap.EventEnd, "an HTTP exchange is over"),
}

func ofKind(kind, alias, help string) word {
	return word{name: kind, alias: alias, help: help, test: func(_ *Filter, it *Item) bool {
		return it.Kind == kind && it.Frame.Lane != tap.Life
	}}
}

func ofEvent(name, event, help string) word {
	return word{name: name, help: help, test: func(_ *Filter, it *Item) bool {
		return it.Kind == event && it.Frame.Lane == tap.Life
	}}
}

var isWords = []word{
	thatIs(IsError, "error", "failed", NeedPeek, "it tells of a failure: an error, isError, an HTTP status that refuses"),
	{name: "slow", help: "its answer took long, 1s if nothing else is set", needs: NeedPeek | NeedPairing,
		test: func(f *Filter, it *Item) bool { return it.Answered && it.Latency >= f.slow }},
	thatIs(IsPending, "pending", "open", NeedPeek|NeedPairing|NeedFuture, "a request without an answer"),
	thatIs(IsOrphan, "orphan", "", NeedPeek|NeedPairing, "a response to no request that is known"),
	thatIs(IsCancelled, "cancelled", "canceled", NeedPeek|NeedPairing|NeedFuture, "a request that was cancelled"),
	thatIs(IsLate, "late", "", NeedPeek|NeedPairing, "a response after its request was cancelled"),
	thatIs(IsInvalid, "invalid", "", NeedPeek, "no JSON-RPC message, where one should be"),
	thatIs(IsNested, "nested", "", NeedPeek|NeedPairing, "asked within another call: sampling, elicitation, roots"),
	thatIs(IsDuplicate, "duplicate", "", NeedPeek|NeedPairing, "an answer to what was answered before, or sent again on a resumed stream"),
	thatIs(IsUnsolicited, "unsolicited", "", NeedPeek|NeedPairing, "a notification that belongs to no call"),
	thatIs(IsBatch, "batch", "batched", NeedPeek, "a batch, or a message of one"),
	{name: "torn", help: "bytes of it are missing", test: func(_ *Filter, it *Item) bool { return it.Frame.Torn }},
}

func thatIs(is Is, name, alias string, needs Needs, help string) word {
	return word{name: name, alias: alias, help: help, needs: needs, test: func(_ *Filter, it *Item) bool { return it.Is&is != 0 }}
}

// compileWord compiles a value of a key of words.
func compileWord(p *parser, k *key, v *value) (func(*Item) bool, *Error) {
	i := slices.IndexFunc(k.words, func(w word) bool {
		return strings.EqualFold(v.text, w.name) || w.alias != "" && strings.EqualFold(v.text, w.alias)
	})
	if i < 0 || v.form == pattern {
		return nil, p.unknownWord(k, v)
	}
	w := k.words[i]
	p.f.needs |= w.needs
	return func(it *Item) bool { return w.test(p.f, it) }, nil
}

func (p *parser) unknownWord(k *key, v *value) *Error {
	var names []string
	for _, w := range k.words {
		names = append(names, w.name)
	}
	problem := k.name + ": does not know " + shown(v.text)
	help := "it takes " + strings.Join(names, ", ")
	if v.form == pattern || strings.Contains(v.text, "*") {
		problem = k.name + ": takes words, no patterns"
	} else if near := nearest(v.text, names); near != "" {
		help = "did you mean " + k.name + ":" + near + "? " + help
	}
	return p.wrong(v.from, v.to, problem, help)
}
