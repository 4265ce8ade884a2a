package check

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesClient are about roots, sampling and elicitation, and what clients request.
var rulesClient = []Rule{
	{
		ID: "cli-01", Class: "must", In: "A-E", Side: "client", Transport: "any",
		Text:   "The uri of a root begins with file://.",
		Source: "A-E:client/roots#root; schema Root",
		Fix:    "Send file URIs only.",
		New: each(func(m *Message, v *Verdict) {
			for _, root := range m.Member("roots").Each {
				uri := root.Get("uri").Decoded()
				switch {
				case strings.HasPrefix(uri, "file://"):
					v.Hold()
				case isMasked(uri):
					v.Skip("the URI is masked")
				default:
					v.Violate("roots/list", m.root()+".roots[*].uri", describe(root.Get("uri")))
				}
			}
		}, "result roots/list"),
	},
	{
		ID: "cli-02", Class: "must", In: "C-E", Side: "server", Transport: "any",
		Text: "The requestedSchema of a form is an object schema with properties, each of them a string, number, integer or boolean, or (from 2025-11-25) " +
			"an array of choices. Nothing is nested, and there is no $ref.",
		Source: "C:client/elicitation#request-schema; D-E:client/elicitation#requested-schema; schema PrimitiveSchemaDefinition",
		Fix:    "Ask in several steps instead of one nested form.",
		New:    eachElicitation("form", requestedSchema),
	},
	{
		ID: "cli-03", Class: "must", In: "C-E", Side: "client", Transport: "any",
		Text:   "The action of the result of an elicitation is accept, decline or cancel.",
		Source: "C-E:client/elicitation#response-actions; schema ElicitResult",
		Fix:    "Use one of the three actions.",
		New: each(func(m *Message, v *Verdict) {
			if m.final() {
				action := m.Member("action")
				v.Check(slices.Contains([]string{"accept", "decline", "cancel"}, action.Decoded()), m.Subject(), m.root()+".action", describe(action))
			}
		}, "result elicitation/create"),
	},
	{
		ID: "cli-04", Class: "must", In: "D-E", Side: "server", Transport: "any",
		Text:   "An elicitation with mode url has a message and a valid url; in 2025-11-25 also an elicitationId.",
		Source: "D-E:client/elicitation#url-mode-elicitation-requests; schema ElicitRequestURLParams",
		Fix:    "Add the missing member and give an absolute URL.",
		New: eachElicitation("url", func(m *Message, v *Verdict) {
			if m.Revision == jsonrpc.Rev20251125 {
				v.need(m.Param("elicitationId"), aString, m.Method, m.root()+".elicitationId")
			}
			needURL(m.Parameters(), v, m.Method, m.root())
		}),
	},
	{
		ID: "cli-05", Class: "must", In: "D", Side: "server", Transport: "any",
		Text:   "notifications/elicitation/complete has an elicitationId that this client was given in a request or in the error -32042.",
		Source: "D:client/elicitation#completion-notifications-for-url-mode-elicitation",
		Fix:    "Send back the same elicitationId.",
		New:    knownElicitations,
	},
	{
		ID: "cli-06", Class: "must", In: "D", Side: "server", Transport: "any",
		Text:   "The error -32042 has data.elicitations, all with mode url, an elicitationId, a message and a valid url.",
		Source: "D:client/elicitation#url-elicitation-required-error; schema URLElicitationRequiredError",
		Fix:    "List the URL elicitations in data.",
		New: each(func(m *Message, v *Verdict) {
			if m.ErrorCode != "-32042" {
				return
			}
			v.clean(func() {
				list, path := m.Problem().Get("data", "elicitations"), "$.error.data.elicitations"
				if !v.need(list, anArray, m.Subject(), path) {
					return
				}
				for _, e := range list.Each {
					if mode := e.Get("mode"); mode.Decoded() != "url" {
						v.Violate(m.Subject(), path+"[*].mode", describe(mode))
					}
					v.need(e.Get("elicitationId"), aString, m.Subject(), path+"[*].elicitationId")
					needURL(e, v, m.Subject(), path+"[*]")
				}
			})
		}, "error"),
	},
	{
		ID: "cli-07", Class: "must", In: "D", Side: "client", Transport: "any",
		Text:   "A client answers an elicitation in a mode that it did not declare with the error -32602.",
		Source: "D:client/elicitation#error-handling",
		Fix:    "Return -32602.",
		New: each(func(m *Message, v *Verdict) {
			client := m.Session.Client
			switch {
			case client == nil || m.Request.Params == nil:
				v.Skip("the capabilities or the request are not known")
			case declares(client, "elicitation") && !declaresMode(client, modeOf(m.Request.Params)):
				if m.Kind == jsonrpc.Response {
					v.Violate(m.Subject(), "$.result", "a result instead of the error -32602")
				} else {
					v.Check(m.ErrorCode == "-32602", m.Subject(), "$.error.code", m.ErrorCode+" instead of -32602")
				}
			}
		}, "result elicitation/create", "error elicitation/create"),
	},
	{
		ID: "cli-08", Class: "must", In: "D-E", Side: "server", Transport: "any",
		Text: "In sampling messages, a user message with a tool_result has only tool_results, and an assistant message with tool_use is followed by " +
			"a user message with a tool_result for each.",
		Source: "D-E:client/sampling#tool-result-messages, #tool-use-and-result-balance",
		Fix:    "Add the missing tool_result blocks and move other content to a separate message.",
		New:    each(toolBalance, "request sampling/createMessage"),
	},
	{
		ID: "cli-09", Class: "observation", In: "C-E", Side: "server", Transport: "any",
		Text:   "A form does not ask for secrets. This is judged by the names and titles of its text fields.",
		Source: "C:client/elicitation#security-considerations; D-E:client/elicitation#form-mode-security",
		Fix:    "Use URL mode.",
		New: eachElicitation("form", func(m *Message, v *Verdict) {
			eachProperty(m, func(name string, p jsonrpc.Value, path string) {
				if p.Get("type").Decoded() == "string" && p.Get("enum") == nil && (isSecret(name) || isSecret(p.Get("title").Decoded())) {
					v.Violate(name, path, "looks like a secret")
				}
			})
		}),
	},
	{
		ID: "cli-11", Class: "must", In: "D-E", Side: "server", Transport: "any",
		Text:   "mode of an elicitation is form or url. Without it the request is a form: it has a requestedSchema and no url.",
		Source: "D-E:client/elicitation#elicitation-requests, #form-mode-elicitation-requests",
		Fix:    `Add "mode":"url", or a requestedSchema.`,
		New: each(func(m *Message, v *Verdict) {
			params, path := m.Parameters(), m.root()
			mode := params.Get("mode")
			switch {
			case m.Path != "$" && !params.IsObject(): // see mrtr-03
			case mode != nil && mode.Decoded() != "form" && mode.Decoded() != "url":
				v.Violate(m.Method, path+".mode", string(mode))
			case mode == nil && params.Get("url") != nil:
				v.Violate(m.Method, path+".mode", "missing, with a url")
			case mode.Decoded() != "url" && params.Get("requestedSchema") == nil:
				v.Violate(m.Method, path+".requestedSchema", "missing")
			default:
				v.Hold()
			}
		}, "request elicitation/create"),
	},
	{
		ID: "cli-12", Class: "must", In: "C-E", Side: "server", Transport: "any",
		Text:   "In a requestedSchema format is email, uri, date or date-time. A name in required that is not a property is an observation.",
		Source: "C:client/elicitation#supported-schema-types; D-E:client/elicitation#requested-schema; schema StringSchema",
		Fix:    "Use a supported format or none.",
		New: eachElicitation("form", func(m *Message, v *Verdict) {
			names := map[string]bool{}
			eachProperty(m, func(name string, p jsonrpc.Value, path string) {
				names[name] = true
				format := p.Get("format")
				if p.Get("type").Decoded() == "string" && format != nil && !slices.Contains([]string{"email", "uri", "date", "date-time"}, format.Decoded()) {
					v.Violate(name, path+".format", string(format))
				}
			})
			if required := m.Parameters().Get("requestedSchema", "required"); required.IsArray() {
				for _, r := range required.Each {
					if name := whole(r); name != "" && !names[name] {
						v.Observe(name, m.root()+".requestedSchema.required[*]", "not a property: "+string(r))
					}
				}
			}
		}),
	},
	{
		ID: "cli-13", Class: "should", In: "D-E", Side: "server", Transport: "any",
		Text:   "The URL of an elicitation is an https URL, except in development. What looks like credentials in it is an observation.",
		Source: "D-E:client/elicitation#safe-url-handling",
		Fix:    "Link to a page that signs the user in.",
		New:    eachElicitation("url", safeURL),
	},
	{
		ID: "cli-14", Class: "should", In: "D-E", Side: "server", Transport: "any",
		Text:   "A form has no URL to click in its message, titles or descriptions.",
		Source: "D-E:client/elicitation#safe-url-handling",
		Fix:    "Use URL mode for links.",
		New: eachElicitation("form", func(m *Message, v *Verdict) {
			judge := func(text jsonrpc.Value, path string) {
				if found := links.FindString(whole(text)); found != "" && !isExample(found) {
					v.Violate(m.Method, path, "a URL to click: "+found)
				}
			}
			judge(m.Param("message"), m.root()+".message")
			eachProperty(m, func(name string, p jsonrpc.Value, path string) {
				judge(p.Get("title"), path+".title")
				judge(p.Get("description"), path+".description")
			})
		}),
	},
	{
		ID: "cli-15", Class: "must", In: "A-D", Side: "client", Transport: "any",
		Text:   "A client that declared roots.listChanged sends notifications/roots/list_changed when its roots change.",
		Source: "A-D:client/roots#root-list-changes",
		Fix:    "Send the notification.",
		New:    rootChanges,
	},
	{
		ID: "cli-16", Class: "observation", In: "A-E", Side: "client", Transport: "any",
		Text: "A client calls only tools, and gets only prompts, that the server listed. This is judged for calls that fail, if the list is complete " +
			"and no change was announced.",
		Source: "A-E:server/tools#listing-tools, server/prompts#listing-prompts",
		Fix:    "Use the name as it is in the list; a host that adds a prefix, or changes the spelling for a model, must undo it.",
		New:    listedNames,
	},
}

// eachElicitation returns New for a rule about elicitations in a mode: form or url.
func eachElicitation(mode string, judge func(m *Message, v *Verdict)) func(*Session) Hooks {
	return each(func(m *Message, v *Verdict) {
		own := modeOf(m.Parameters())
		if m.Revision == jsonrpc.Rev20250618 {
			own = "form" // this revision has no modes
		}
		if own == mode {
			v.clean(func() { judge(m, v) })
		}
	}, "request elicitation/create")
}

// needURL judges the message and the url of an elicitation with mode url.
func needURL(elicitation jsonrpc.Value, v *Verdict, subject, path string) {
	v.need(elicitation.Get("message"), aString, subject, path+".message")
	value := elicitation.Get("url")
	if !v.need(value, aString, subject, path+".url") {
		return
	}
	u, err := url.Parse(whole(value))
	valid := err == nil && u.Scheme != "" && (u.Host != "" || u.Scheme != "https" && u.Scheme != "http")
	if !valid && !isMasked(value) {
		v.Violate(subject, path+".url", string(value))
	}
}

// eachProperty calls judge for each property of a form.
func eachProperty(m *Message, judge func(name string, p jsonrpc.Value, path string)) {
	properties := m.Parameters().Get("requestedSchema", "properties")
	if !properties.IsObject() {
		return // see cli-02
	}
	for name, p := range properties.Each {
		judge(string(name), p, m.root()+".requestedSchema.properties.*")
	}
}

// requestedSchema judges cli-02.
func requestedSchema(m *Message, v *Verdict) {
	schema, path := m.Param("requestedSchema"), m.root()+".requestedSchema"
	if schema == nil && m.Revision >= jsonrpc.Rev20251125 {
		return // see cli-11
	}
	if !v.need(schema, anObject, m.Method, path) {
		return
	}
	if t := schema.Get("type"); t.Decoded() != "object" {
		v.Violate(m.Method, path+".type", describe(t))
	}
	v.need(schema.Get("properties"), anObject, m.Method, path+".properties")
	eachProperty(m, func(name string, p jsonrpc.Value, path string) {
		kind := p.Get("type")
		switch kind.Decoded() {
		case "string", "number", "integer", "boolean":
			return
		case "array":
			items := p.Get("items")
			if m.Revision >= jsonrpc.Rev20251125 && (items.Get("enum").IsArray() || items.Get("anyOf").IsArray()) {
				return
			}
		}
		if ref := p.Get("$ref"); ref != nil {
			v.Violate(name, path+".$ref", string(ref))
			return
		}
		v.Violate(name, path+".type", describe(kind))
	})
}

// knownElicitations judges cli-05.
func knownElicitations(s *Session) Hooks {
	known, more := bounded.Map[string, bool]{Max: maxKnown}, false
	add := func(value jsonrpc.Value) {
		if id := value.Get("elicitationId"); id.Class() == '"' {
			_, dropped := known.Put(keyOf(id), true)
			more = more || dropped
		}
	}
	watch := func(m *Message) {
		more = more || m.isPartial()
		switch {
		case m.Lane != tap.ToClient:
		case m.Kind == jsonrpc.Request && m.Method == "elicitation/create":
			add(m.Parameters())
		case m.ErrorCode == "-32042":
			for _, e := range m.Problem().Get("data", "elicitations").Each {
				add(e)
			}
		}
	}
	judge := func(m *Message, v *Verdict) {
		id := m.Param("elicitationId")
		_, ok := known.Get(keyOf(id))
		switch {
		case ok:
			v.Hold()
		case id.Class() == '"' && (!s.Start || s.Gap || more || isMasked(id)):
			v.Skip("the elicitation may be older than the recording")
		default:
			v.Violate(m.Method, "$.params.elicitationId", describe(id))
		}
	}
	return Hooks{Watch: watch, Message: judge, On: []string{"notification notifications/elicitation/complete"}}
}

// toolBalance judges cli-08.
func toolBalance(m *Message, v *Verdict) {
	path := m.root() + ".messages[*].content"
	v.clean(func() {
		var open map[string]bool // tool uses of the message before
		for _, message := range m.Param("messages").Each {
			user := message.Get("role").Decoded() == "user"
			uses, results, others := map[string]bool{}, map[string]bool{}, false
			blocksOf(message.Get("content"), path, "prompt", func(b block) { // not the content of tool_results
				switch t := b.Get("type").Decoded(); {
				case t == "tool_use" && !user:
					uses[b.Get("id").Decoded()] = true
				case t == "tool_result" && user:
					results[b.Get("toolUseId").Decoded()] = true
				default:
					others = true
				}
			})
			if len(results) > 0 && others {
				v.Violate(m.Method, path, "a tool_result next to other content")
			}
			for id := range results {
				delete(open, id)
			}
			if len(open) > 0 {
				v.Violate(m.Method, m.root()+".messages", "a tool_use without a tool_result in the next message")
			}
			open = uses
		}
		if len(open) > 0 {
			v.Violate(m.Method, m.root()+".messages", "a tool_use without a tool_result in the next message")
		}
	})
}

// secrets matches names of secrets in lower case without separators.
var secrets = regexp.MustCompile(`password|passwd|passphrase|apikey|secretkey|clientsecret|privatekey|creditcard|cardnumber|` +
	`(?:access|auth|bearer|api|refresh)token$|^(?:token|cvv|cvc)$`)

// isSecret reports whether a name or a title denotes a secret.
func isSecret(name string) bool {
	return secrets.MatchString(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)))
}

// credentials matches parameters of URLs that carry credentials.
var credentials = regexp.MustCompile(`(?i)^(?:access_?token|id_?token|refresh_?token|api_?key|client_?secret|password|passwd|pwd|session_?id|jwt)$`)

// safeURL judges cli-13.
func safeURL(m *Message, v *Verdict) {
	value := m.Param("url")
	u, err := url.Parse(whole(value))
	if err != nil || u.Scheme == "" {
		return // see cli-04
	}
	switch {
	case u.Scheme == "https" || isLoopback(u):
	case isMasked(u.Hostname()):
		v.Skip("the host is masked")
	default:
		v.Violate(m.Method, m.root()+".url", string(value))
	}
	if _, ok := u.User.Password(); ok {
		v.Observe("userinfo", m.root()+".url", "a password before the host")
	}
	for name, values := range u.Query() {
		if credentials.MatchString(name) && values[0] != "" {
			v.Observe(name, m.root()+".url", "a parameter with this name")
		}
	}
}

// links matches the beginning of a URL that people can click.
var links = regexp.MustCompile(`(?i)\bhttps?://[^\s/"'<>)]+`)

// isExample reports whether a link is only an example: its host is reserved.
func isExample(link string) bool {
	host := strings.ToLower(link[strings.Index(link, "//")+2:])
	host, _, _ = strings.Cut(host, ":")
	return slices.ContainsFunc([]string{"example.com", "example.org", "example.net", "example", "localhost", "..."}, func(name string) bool {
		return strings.HasSuffix("."+host, "."+name)
	})
}

// rootChanges judges cli-15. A change is a violation if no notification is sent between the two
// lists, nor before the next one.
func rootChanges(s *Session) Hooks {
	var before uint64
	var known, notified bool
	var missed *Verdict // of a change that was not announced yet
	watch := func(m *Message) {
		if m.Kind == jsonrpc.Notification && m.Method == "notifications/roots/list_changed" {
			if notified = true; missed != nil {
				missed.Hold()
				missed = nil
			}
		}
	}
	settle := func() {
		if missed != nil {
			missed.Violate("roots/list", "$.result.roots", "changed without notifications/roots/list_changed")
			missed = nil
		}
	}
	judge := func(m *Message, v *Verdict) {
		if !declares(s.Client, "roots", "listChanged") || !m.Member("roots").IsArray() {
			return
		}
		settle()
		var uris []string
		for _, root := range m.Member("roots").Each {
			uris = append(uris, root.Get("uri").Text())
		}
		slices.Sort(uris)
		now := jsontree.HashString(strings.Join(uris, "\n"))
		switch {
		case known && s.Gap:
			v.Skip("frames are missing")
		case known && now != before && !notified:
			later := *v
			missed = &later
		case known:
			v.Hold()
		}
		before, known, notified = now, true, false
	}
	return Hooks{Watch: watch, On: []string{"result roots/list"}, Message: judge, End: func(*Verdict) { settle() }}
}

// listedNames judges cli-16. If a call succeeds, the server has more than it lists.
func listedNames(s *Session) Hooks {
	tools, prompts := listing{method: "tools/list"}, listing{method: "prompts/list"}
	unlisted := bounded.Map[session.Ref, string]{Max: maxRequests} // what is wrong, by request
	return Hooks{
		Watch: func(m *Message) {
			tools.watch(m)
			prompts.watch(m)
		},
		On: []string{"request tools/call", "request prompts/get"},
		Message: func(m *Message, v *Verdict) {
			list, name := &tools, m.Param("name").Decoded()
			if m.Method == "prompts/get" {
				list = &prompts
			}
			defs := s.Listed[list.method]
			_, listed := defs[name]
			switch member := lists[list.method].member; {
			case defs == nil || m.Part.Role != session.RoleRequest: // nothing was listed, or a retry
			case listed:
				v.Hold()
			case isMasked(name):
				v.Skip("the name is masked")
			case !list.lacks(s, defs, name):
				v.Skip("the list of " + member + " is not complete")
			default:
				unlisted.Put(m.Part.Message, notListed(name, member, defs))
			}
		},
		Call: func(c *session.Call, v *Verdict) {
			wrong, ok := unlisted.Get(c.Ref)
			if !ok {
				return
			}
			unlisted.Delete(c.Ref)
			switch c.Status {
			case session.CallError, session.CallToolError:
				v.Violate(c.Subject, "$.params.name", wrong)
			case session.CallDone:
				v.Hold()
			default:
				v.Skip("the call has no result and no error")
			}
		},
	}
}

// maxSuggested limits the names that are searched for a suggestion.
const maxSuggested = 500

// notListed describes a name that is not in a list, with the name that was probably meant, or
// else the first names in the list.
func notListed(name, member string, defs map[string]jsonrpc.Value) string {
	text := "not in the list of " + member
	switch {
	case len(defs) == 0:
		return text + ", which is empty"
	case len(defs) > maxSuggested:
		return text
	}
	names := slices.Sorted(maps.Keys(defs))
	folded := make([]string, len(names))
	for i, n := range names {
		folded[i] = foldName(n)
	}
	if near := filter.Nearest(foldName(name), folded); near != "" {
		return text + "; did you mean " + names[slices.Index(folded, near)] + "?"
	}
	const shown = 10
	if len(names) > shown {
		names = append(names[:shown], "…")
	}
	return text + ", which has " + strings.Join(names, ", ")
}

// foldName returns a name in lower case and without word separators.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", "/", "", ":", "", " ", "").Replace(name))
}
