package filter

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A word is one of the values that a key takes.
type word struct {
	name string
	// also are other spellings, such as those that lists show where there is little
	// room, or where what is told apart stands elsewhere; see [word.named].
	also  []string
	help  string
	needs Needs
	test  func(*Filter, *Item) bool
}

// named reports whether a text means the word: in any case, and with spaces as
// lists show it, kind:"SSE priming" for kind:sse_priming.
func (w *word) named(text string) bool {
	text = strings.ReplaceAll(text, " ", "_")
	return strings.EqualFold(w.name, text) || slices.ContainsFunc(w.also, func(s string) bool { return strings.EqualFold(s, text) })
}

var dirWords = []word{
	onLane(tap.ToServer, "from the client to the server", "c2s"),
	onLane(tap.ToClient, "from the server to the client", "s2c"),
	onLane(tap.Stderr, "the server's standard error"),
	onLane(tap.Lifecycle, "events of the run itself"),
}

func onLane(l tap.Lane, help string, also ...string) word {
	return word{name: l.String(), also: also, help: help, test: func(_ *Filter, it *Item) bool { return it.Frame.Lane == l }}
}

var kindWords = []word{
	ofKind(jsonrpc.Request.String(), "a request"),
	ofKind(jsonrpc.Response.String(), "a response with a result"),
	ofKind(jsonrpc.ErrorResponse.String(), "a response with an error"),
	ofKind(jsonrpc.Notification.String(), "a notification", "notify"),
	ofKind(jsonrpc.Batch.String(), "several messages in one frame"),
	ofKind(jsonrpc.Invalid.String(), "no JSON-RPC message, where one should be"),
	ofKind(jsonrpc.Other.String(), "no JSON-RPC message, where none has to be: one of the next nine, as a rule"),
	ofSort("body", "a body of HTTP", "http_body"),
	ofSort("bytes", "bytes that nobody can tell apart"),
	ofSort("ping", "a ping of a WebSocket", "ws_ping"),
	ofSort("pong", "a pong of a WebSocket", "ws_pong"),
	ofSort("close", "the end of a WebSocket, with its status", "ws_close"),
	ofSort("event", "a server-sent event", "sse_event"),
	ofSort("priming", "one with an id and no data, to resume from", "sse_priming"),
	ofSort("comment", "comments in an event stream, which keep it open", "sse_comment"),
	ofSort("endpoint", "the event that says where to post, of HTTP+SSE", "sse_endpoint"),
	ofKind(tap.Stderr.String(), "what the server wrote to its standard error"),
	{name: tap.Lifecycle.String(), help: "any event of the run", test: func(_ *Filter, it *Item) bool { return it.Frame.Lane == tap.Lifecycle }},
	ofEvent(tap.EventStart, tap.EventStart, "the server was started"),
	ofEvent(tap.EventSpawnFailed, tap.EventSpawnFailed, "the server could not be started", "no_start"),
	ofEvent(tap.EventEOF, tap.EventEOF, "one lane ended", "end_of_lane"),
	ofEvent(tap.EventBroken, tap.EventBroken, "the receiver of one lane went away"),
	ofEvent(tap.EventSignal, tap.EventSignal, "a signal was forwarded to the server"),
	ofEvent(tap.EventExit, tap.EventExit, "the server ended"),
	ofEvent(tap.EventGap, tap.EventGap, "frames crossed while nothing could be recorded"),
	ofEvent(tap.EventConnect, tap.EventConnect, "a client's connection was accepted", "connected"),
	ofEvent(tap.EventDisconnect, tap.EventDisconnect, "a client's connection is over", "closed", "disconnected"),
	// These two are not what a request and a response are in JSON-RPC.
	ofEvent("http_request", tap.EventRequest, "the head of an HTTP request", "http_req"),
	ofEvent("http_response", tap.EventResponse, "the head of an HTTP response", "http_res"),
	ofEvent(tap.EventRewrite, tap.EventRewrite, "the tap changed what it forwarded", "rewritten"),
	ofEvent(tap.EventEnd, tap.EventEnd, "an HTTP exchange is over", "http_end"),
}

func ofKind(kind, help string, also ...string) word {
	return word{name: kind, also: also, help: help, test: func(_ *Filter, it *Item) bool {
		return it.Kind == kind && it.Frame.Lane != tap.Lifecycle
	}}
}

func ofSort(sort, help string, also ...string) word {
	return word{name: sort, also: also, help: help, test: func(_ *Filter, it *Item) bool { return it.Sort == sort }}
}

func ofEvent(name, event, help string, also ...string) word {
	return word{name: name, also: also, help: help, test: func(_ *Filter, it *Item) bool {
		return it.Kind == event && it.Frame.Lane == tap.Lifecycle
	}}
}

const paired = NeedPeek | NeedPairing

var isWords = []word{
	thatIs(IsError, "error", NeedPeek, "it tells of a failure: an error, isError, an HTTP status, a broken exchange", "failed"),
	{name: "slow", help: "it took long, 1s if nothing else is set; a call also without a response", needs: paired,
		test: func(f *Filter, it *Item) bool { return it.Answered && it.Latency >= f.slow }},
	thatIs(IsPending, "pending", paired|NeedFuture, "a request without a response; a call that waits", "open", "waiting"),
	thatIs(IsOrphan, "orphan", paired, "a response to no request that is known"),
	thatIs(IsStray, "stray", paired, "a notification about a call, a task or a subscription that is not known"),
	thatIs(IsCancelled, "cancelled", paired|NeedFuture, "a request that was cancelled", "canceled"),
	thatIs(IsCancel, "cancel", paired, "it asks for the end of a call"),
	thatIs(IsLate, "late", paired, "a response after its request was cancelled"),
	thatIs(IsRetry, "retry", paired, "a further request of the same call: after input_required, or about its task", "again"),
	thatIs(IsInterim, "interim", paired, "a response that does not end its call: input_required, a task"),
	thatIs(IsProgress, "progress", paired, "a notification about the progress of a call"),
	thatIs(IsLog, "log", paired, "a log message of the server"),
	thatIs(IsInvalid, "invalid", NeedPeek, "no JSON-RPC message, where one should be"),
	thatIs(IsNested, "nested", paired, "asked within another call: sampling, elicitation, roots"),
	thatIs(IsDuplicate, "duplicate", paired, "an answer to what was answered before, or what was sent again", "repeated", "sent_again"),
	thatIs(IsUnsolicited, "unsolicited", paired, "a notification that belongs to no call"),
	thatIs(IsBatch, "batch", NeedPeek, "a batch, or a message of one", "batched"),
	{name: "torn", help: "bytes of it are missing", test: func(_ *Filter, it *Item) bool { return it.Frame.Truncated }},
}

func thatIs(is Is, name string, needs Needs, help string, also ...string) word {
	return word{name: name, also: also, help: help, needs: needs, test: func(_ *Filter, it *Item) bool { return it.Is&is != 0 }}
}

// compileWord compiles a value of a key of words.
func compileWord(p *parser, k *key, v *value) (func(*Item) bool, *Error) {
	i := slices.IndexFunc(k.words, func(w word) bool { return w.named(v.text) })
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
