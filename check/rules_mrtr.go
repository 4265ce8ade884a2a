package check

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesMRTR are about input_required results and retries.
var rulesMRTR = []Rule{
	{
		ID: "mrtr-01", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "input_required answers only tools/call, prompts/get and resources/read.",
		Source: "E:basic/patterns/mrtr#supported-requests",
		Fix:    "Ask for input in one of these three methods.",
		New: eachInputRequired(func(m *Message, v *Verdict) {
			v.Check(mayRequireInput(m.Request.Method), m.Request.Method, "$.result.resultType", "input_required for this method")
		}),
	},
	{
		ID: "mrtr-02", Class: "client-breaking", In: "E", Side: "server", Transport: "any",
		Text:   "An input_required result has inputRequests, requestState or both.",
		Source: "E:basic/patterns/mrtr#server-requirements-basic-workflow; schema InputRequiredResult; observed: TypeScript SDK fails the call",
		Fix:    "Add what the client must do.",
		New: eachInputRequired(func(m *Message, v *Verdict) {
			v.Check(m.Member("inputRequests") != nil || m.Member("requestState") != nil, m.Subject(), "$.result.inputRequests", "missing, and requestState too")
		}),
	},
	{
		ID: "mrtr-03", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "The values of inputRequests are elicitation/create, sampling/createMessage or roots/list objects with method and, except for roots/list, params.",
		Source: "E:basic/patterns/mrtr#inputrequests; schema InputRequest",
		Fix:    "Use one of the three methods.",
		New: eachInputRequired(func(m *Message, v *Verdict) {
			const path = "$.result.inputRequests"
			asked := m.Member("inputRequests")
			if asked != nil && !asked.IsObject() {
				v.Violate(m.Subject(), path, string(asked))
				return
			}
			for _, request := range asked.Each {
				found := request.Members("method", "params")
				switch method := found["method"].Decoded(); {
				case !request.IsObject():
					v.Violate(m.Subject(), path+"[*]", string(request))
				case method != "elicitation/create" && method != "sampling/createMessage" && method != "roots/list":
					v.Violate(m.Subject(), path+"[*].method", describe(found["method"]))
				default:
					v.Check(found["params"].IsObject() || found["params"] == nil && method == "roots/list", m.Subject(), path+"[*].params", describe(found["params"]))
				}
			}
		}),
	},
	{
		ID: "mrtr-04", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "Each input request is covered by the clientCapabilities of that very request: elicitation and its mode, sampling, roots.",
		Source: "E:basic/patterns/mrtr#server-requirements-basic-workflow; E:client/elicitation#capabilities; E:client/sampling#tools-in-sampling",
		Fix:    "Check the capabilities in _meta; otherwise return -32021.",
		New: eachInputRequired(func(m *Message, v *Verdict) {
			declared := metaOf(m.Request.Param("_meta"), "clientCapabilities")
			if !declared.IsObject() {
				v.Skip("the capabilities of the client are not known")
				return
			}
			for _, request := range m.Member("inputRequests").Each {
				method := request.Get("method").Decoded()
				needed, ok := map[string]string{"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}[method]
				if !ok {
					continue // mrtr-03
				}
				has := declared.Get(needed)
				covered := has.IsObject()
				if needed == "elicitation" && covered {
					modes := has.Members("form", "url")
					if needed = "elicitation.form"; request.Get("params", "mode").Decoded() == "url" {
						needed, covered = "elicitation.url", modes["url"] != nil
					} else {
						covered = modes["form"] != nil || modes["url"] == nil // {} means form
					}
				}
				v.Check(covered, m.Subject(), "$.result.inputRequests[*].method", method+" without "+needed)
			}
		}),
	},
	{
		ID: "mrtr-05", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "The retry has a different id than the first request.",
		Source: "E:basic/patterns/mrtr#client-requirements-basic-workflow",
		Fix:    "Use a new id.",
		New: eachRetry(func(m *Message, w *wait, v *Verdict) {
			v.CheckValue(keyOf(m.ID) != w.id, m.Subject(), "$.id", "the id of the first request", m.ID)
		}),
	},
	{
		ID: "mrtr-06", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "The retry repeats requestState exactly, and has none if the server sent none.",
		Source: "E:basic/patterns/mrtr#client-requirements-basic-workflow",
		Fix:    "Send the string back unchanged.",
		New: eachRetry(func(m *Message, w *wait, v *Verdict) {
			state := m.Param("requestState")
			v.Check(keyOf(state) == w.state, m.Subject(), "$.params.requestState", "not what the server sent: "+describe(state))
		}),
	},
	{
		ID: "mrtr-07", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "A retry after inputRequests answers them: inputResponses has their keys, each with a result of the right type. A key that the server did not use is only an observation.",
		Source: "E:basic/patterns/mrtr#client-requirements-basic-workflow, #inputresponses",
		Fix:    "Answer every key, with decline if necessary.",
		New:    eachRetry(inputIsComplete),
	},
	{
		ID: "mrtr-08", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "inputResponses and requestState appear only on the retry of the request that they belong to, with the same method and name or URI.",
		Source: "E:basic/patterns/mrtr#client-requirements-basic-workflow",
		Fix:    "Keep the state with its request.",
		New: func(*Session) Hooks {
			var c chains
			return Hooks{Watch: c.watch, On: []string{"request"}, Message: func(m *Message, v *Verdict) {
				if !answersInput(m) || m.Method == "tasks/update" {
					return
				}
				key := keyOf(m.Param("requestState"))
				w, candidates, othersState := c.take(m, key)
				switch {
				case !mayRequireInput(m.Method):
					v.Violate(m.Method, "$.params", "no retry has this method")
				case w != nil || candidates > 0:
					v.Hold()
				case othersState && !c.gave(m, key):
					v.Violate(m.Subject(), "$.params.requestState", "that of another request: "+describe(m.Param("requestState")))
				default:
					v.Skip("the result that requires the input is not known")
				}
			}}
		},
	},
	{
		ID: "mrtr-09", Class: "should", In: "E", Side: "server", Transport: "any",
		Text:   "When needed input is missing in the retry, the server asks again instead of returning the error -32602.",
		Source: "E:basic/patterns/mrtr#error-handling",
		Fix:    "Return another input_required.",
		New:    asksAgain,
	},
	{
		ID: "mrtr-10", Class: "observation", In: "E", Side: "server", Transport: "any",
		Text:   "An input_required result has no ttlMs or cacheScope.",
		Source: "E:server/utilities/caching#cacheable-results",
		Fix:    "Leave the cache hints out.",
		New: eachInputRequired(func(m *Message, v *Verdict) {
			for _, name := range []string{"ttlMs", "cacheScope"} {
				v.CheckValue(m.Member(name) == nil, m.Subject(), "$.result."+name, "", m.Member(name))
			}
		}),
	},
	{
		ID: "mrtr-11", Class: "observation", In: "E", Side: "server", Transport: "any",
		Text:   "requestState is readable (plain or base64 JSON) and shows no signature: state that controls access must be protected against tampering.",
		Source: "E:basic/patterns/mrtr#server-requirements-basic-workflow, #security-considerations",
		Fix:    "Sign or encrypt the state (HMAC, AEAD) and give it an expiry.",
		New: eachInputRequired(func(m *Message, v *Verdict) {
			state := m.Member("requestState")
			if state.Class() != '"' || len(state) > maxParams {
				return
			}
			switch readable, signed := readState(state); {
			case isMasked(state):
				v.Skip("the state is masked")
			case signed:
				v.Skip("a member looks like a signature")
			default:
				v.CheckValue(!readable, m.Subject(), "$.result.requestState", "readable and not signed", state)
			}
		}),
	},
}

// mayRequireInput reports whether a method may have an input_required result.
func mayRequireInput(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// answersInput reports whether a request has members that only retries have.
func answersInput(m *Message) bool {
	return m.Path == "$" && (m.Param("inputResponses") != nil || m.Param("requestState") != nil)
}

// eachInputRequired returns New for a rule about input_required results.
func eachInputRequired(judge func(m *Message, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		if m.ResultType == "input_required" && m.Request != nil && m.Path == "$" {
			judge(m, v)
		}
	}, "result")
}

// maxWaits limits the remembered calls that wait for input.
const maxWaits = 256

// A wait is a call whose last result requires input.
type wait struct {
	method, name string
	id, state    string // keys of the last request's id and of the result's state
	// asked has the methods of the input requests; more reports that there were others.
	asked map[string]string
	more  bool
}

// chains tracks which retry belongs to which call.
type chains struct {
	waits  bounded.Map[session.Ref, *wait] // by first request
	issued bounded.Map[string, bool]       // states in results, with their method and name
}

// gave reports whether any result of the same method and name had this state.
func (c *chains) gave(m *Message, state string) bool {
	ok, _ := c.issued.Get(m.Method + "\x00" + nameOf(m.Parameters()) + "\x00" + state)
	return ok
}

func (c *chains) watch(m *Message) {
	if m.Request == nil || m.Path != "$" || m.Request.Lane != tap.ToServer || m.Entry.Message.Unread {
		return
	}
	if m.ResultType != "input_required" {
		c.waits.Delete(m.Part.Call)
		return
	}
	w := &wait{
		method: m.Request.Method, name: nameOf(m.Request.Params), id: keyOf(m.Request.ID),
		state: keyOf(m.Member("requestState")), asked: map[string]string{},
	}
	for name, request := range m.Member("inputRequests").Each {
		if w.more = len(w.asked) == maxCarried || len(name) > jsonrpc.MaxSubject; w.more {
			break
		}
		w.asked[string(name)] = request.Get("method").Decoded()
	}
	c.waits.Max, c.issued.Max = maxWaits, maxRequests
	c.waits.Put(m.Part.Call, w)
	c.issued.Put(w.method+"\x00"+w.name+"\x00"+w.state, true)
}

// nameOf returns a key for the tool, prompt or resource in params.
func nameOf(params jsonrpc.Value) string {
	found := params.Members("name", "uri")
	return string(jsonrpc.AppendKey(jsonrpc.AppendKey(nil, found["name"]), found["uri"]))
}

// take removes and returns the wait that a retry with a state belongs to, or nil if that is not
// certain. candidates is the number of waits with its method and name; othersState reports that
// another wait has its state. On HTTP several clients may share the session: a wait with another
// state may belong to another client.
func (c *chains) take(m *Message, state string) (found *wait, candidates int, othersState bool) {
	var ref session.Ref
	name, shared := nameOf(m.Parameters()), m.Entry.Frame.Exchange != 0
	exact := false
	for r, w := range c.waits.All {
		same := state != "" && w.state == state
		switch {
		case w.method != m.Method || w.name != name:
			othersState = othersState || same
			continue
		case shared && state != "" && !same:
		case same:
			exact = true
			ref, found = r, w
		case !exact:
			ref, found = r, w
		}
		candidates++
	}
	if !exact && candidates > 1 {
		return nil, candidates, othersState
	}
	c.waits.Delete(ref)
	return found, candidates, othersState
}

// eachRetry returns New for a rule about retries whose call is known.
func eachRetry(judge func(m *Message, w *wait, v *Verdict)) func(*Session) Hooks {
	return func(*Session) Hooks {
		var c chains
		return Hooks{Watch: c.watch, On: []string{"request"}, Message: func(m *Message, v *Verdict) {
			if !answersInput(m) || !mayRequireInput(m.Method) {
				return
			}
			state := keyOf(m.Param("requestState"))
			w, candidates, _ := c.take(m, state)
			switch {
			case w != nil && w.state != state && c.gave(m, state):
				v.Skip("the state is that of an earlier result")
			case w != nil:
				judge(m, w, v)
			case candidates > 1:
				v.Skip("several calls wait for input")
			case candidates == 1:
				v.Skip("the retry may be that of another client")
			default:
				v.Skip("the result that requires the input is not known")
			}
		}}
	}
}

// inputIsComplete judges mrtr-07.
func inputIsComplete(m *Message, w *wait, v *Verdict) {
	const path = "$.params.inputResponses"
	answers := m.Param("inputResponses")
	switch {
	case w.more:
		v.Skip("too many requests for input")
		return
	case len(w.asked) == 0:
		return
	case !answers.IsObject():
		v.Violate(m.Subject(), path, describe(answers))
		return
	}
	given := map[string]bool{}
	for name, answer := range answers.Each {
		method, asked := w.asked[string(name)]
		if !asked {
			v.Observe(string(name), path, "not a key of inputRequests")
			continue
		}
		given[string(name)] = true
		isForm := method == "elicitation/create" && answer.IsObject() && m.asked(string(name)) != nil // see cli-03
		v.CheckValue(isForm || fitsInput(method, answer), m.Subject(), path+"[*]", "not a result of the method", answer)
	}
	for name := range w.asked {
		if !given[name] {
			v.Violate(m.Subject(), path, "an answer is missing")
			return
		}
	}
}

// asksAgain judges mrtr-09.
func asksAgain(*Session) Hooks {
	var c chains
	var incomplete bounded.Map[session.Ref, bool] // retries that lack some input
	incomplete.Max = maxWaits
	watch := func(m *Message) {
		c.watch(m)
		if m.Kind != jsonrpc.Request || !answersInput(m) {
			return
		}
		w, _, _ := c.take(m, keyOf(m.Param("requestState")))
		if w == nil || w.more {
			return
		}
		missing := len(w.asked)
		for name := range m.Param("inputResponses").Each {
			if _, asked := w.asked[string(name)]; asked {
				missing--
			}
		}
		if missing > 0 {
			incomplete.Put(m.Part.Message, true)
		}
	}
	return Hooks{Watch: watch, On: []string{"result", "error"}, Message: func(m *Message, v *Verdict) {
		if missing, _ := incomplete.Get(m.Part.Request); !missing || m.Path != "$" {
			return
		}
		if m.Kind == jsonrpc.ErrorResponse && m.ErrorCode != "-32602" {
			v.Skip("the error may have another cause")
			return
		}
		v.Check(m.Kind == jsonrpc.Response, m.Subject(), "$.error", "does not ask again: "+m.ErrorMessage)
	}}
}

// fitsInput reports whether an input response has the members of a result of method.
func fitsInput(method string, answer jsonrpc.Value) bool {
	switch method {
	case "elicitation/create":
		action := answer.Get("action").Decoded()
		return action == "accept" || action == "decline" || action == "cancel"
	case "sampling/createMessage":
		found := answer.Members("role", "content", "model")
		return found["role"].Class() == '"' && (found["content"].IsObject() || found["content"].IsArray()) && found["model"].Class() == '"'
	case "roots/list":
		return answer.Get("roots").IsArray()
	}
	return true // mrtr-03
}

// readState reports whether a requestState is JSON, plain or in base64, and whether one of its
// members looks like a signature.
func readState(state jsonrpc.Value) (readable, signed bool) {
	text := whole(state)
	plain := []byte(text)
	if unpadded := strings.TrimRight(text, "="); !strings.HasPrefix(text, "{") {
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(text, "-_") {
			encoding = base64.RawURLEncoding
		}
		plain, _ = encoding.DecodeString(unpadded)
	}
	value := jsonrpc.Value(bytes.TrimSpace(plain))
	if !value.IsObject() || !jsonrpc.Valid(value, maxWalk) {
		return false, false
	}
	for name := range value.Each {
		switch strings.ToLower(string(name)) {
		case "sig", "signature", "mac", "hmac", "tag":
			return true, true
		}
	}
	return true, false
}
