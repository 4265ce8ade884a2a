package check

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

const (
	sourceScopes   = "D:basic/authorization#protected-resource-metadata-discovery-requirements; E:basic/authorization/index#scope-selection-strategy"
	sourceMetadata = "C-D:basic/authorization#authorization-server-location; E:basic/authorization/authorization-server-discovery#authorization-server-location; RFC 9728 s2"
)

// rulesAuth check the part of authorization that is visible in traffic with the MCP server.
var rulesAuth = []Rule{
	{
		ID: "auth-01", Class: "must", In: "A-E", Side: "server", Transport: "http",
		Text:   "A 401 carries WWW-Authenticate with at least one challenge.",
		Source: "RFC 9110 s15.5.2; C:basic/authorization#authorization-server-location",
		Fix:    "Send WWW-Authenticate: Bearer.",
		New: refusals(func(x *Exchange, v *Verdict) {
			if x.Response.Status == 401 {
				v.Check(strings.TrimSpace(strings.Join(field(x.Response, authenticate), "")) != "", authenticate, "", "missing")
			}
		}),
	},
	{
		ID: "auth-02", Class: "must", In: "C-E", Side: "server", Transport: "http",
		Text:   "The metadata of the protected resource has resource and a non-empty array authorization_servers.",
		Source: sourceMetadata,
		Fix:    "Add both members.",
		New: metadata(func(x *Exchange, doc jsonrpc.Value, v *Verdict) {
			resource, servers := doc.Get("resource"), doc.Get("authorization_servers")
			isURL := false
			for _, first := range servers.Each {
				isURL = servers.IsArray() && first.Class() == '"'
				break
			}
			v.clean(func() {
				v.need(resource, aString, "resource", "$.resource")
				if !isURL {
					v.Violate("authorization_servers", "$.authorization_servers", describe(servers))
				}
			})
		}),
	},
	{
		ID: "auth-03", Class: "observation", In: "C-E", Side: "server", Transport: "http",
		Text:   "resource in the metadata of the protected resource has a different origin than the server. Clients then refuse to authorize.",
		Source: "RFC 9728 s3.3",
		Fix:    "Set resource to the public URL of the endpoint.",
		New: metadata(func(x *Exchange, doc jsonrpc.Value, v *Verdict) {
			resource, err := url.Parse(doc.Get("resource").Decoded())
			if err != nil || resource.Host == "" {
				return // see auth-02
			}
			if upstream := x.Session.upstream(v); upstream != nil {
				v.Check(origin(resource) == origin(upstream), "resource", "$.resource", origin(resource)+" instead of "+origin(upstream))
			}
		}),
	},
	{
		ID: "auth-08", Class: "must", In: "B-E", Side: "client", Transport: "http",
		Text:   "Authorization requests have a code_challenge (from 2025-11-25 with code_challenge_method=S256), and token requests for a code have a code_verifier.",
		Source: "B:basic/authorization#implementation-requirements; C-D:basic/authorization#authorization-code-protection; E:basic/authorization/security-considerations#authorization-code-protection",
		Fix:    "Use PKCE with S256.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			switch {
			case q.kind == "authorize" && q.form.Has("code_challenge") && q.form.Get("code_challenge_method") != "S256" && v.revision >= jsonrpc.Rev20251125:
				v.Observe("code_challenge_method", "", q.form.Get("code_challenge_method")) // S256 may not be possible
			case q.kind == "authorize":
				v.Check(q.form.Has("code_challenge"), "code_challenge", "", "missing")
			case q.kind == "token":
				v.Check(q.form.Has("code_verifier"), "code_verifier", "", "missing")
			}
		}),
	},
	{
		ID: "auth-09", Class: "must", In: "C-E", Side: "client", Transport: "http",
		Text:   "Authorization and token requests have resource: an absolute URI of the MCP server, without a fragment.",
		Source: "C-D:basic/authorization#resource-parameter-implementation; E:basic/authorization/index#resource-parameter-implementation",
		Fix:    "Send resource in both requests.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			if q.kind == "register" {
				return
			}
			u, err := url.Parse(q.form.Get("resource"))
			text := q.form.Get("resource")
			if text == "" {
				text = "missing"
			}
			v.Check(err == nil && u.IsAbs() && u.Host != "" && u.Fragment == "", "resource", "", text)
		}),
	},
	{
		ID: "auth-11", Class: "must", In: "B-E", Side: "server", Transport: "http",
		Text:   `A refusal with error="invalid_token" has status 401.`,
		Source: "B-D:basic/authorization#token-handling; E:basic/authorization/index#token-handling; RFC 6750 s3.1",
		Fix:    "Answer 401.",
		New: refusals(func(x *Exchange, v *Verdict) {
			if bearer, _ := x.challenge(); bearer["error"] == "invalid_token" {
				v.Check(x.Response.Status == 401, authenticate, "", fmt.Sprintf("invalid_token with the status %d", x.Response.Status))
			}
		}),
	},
	{
		ID: "auth-12", Class: "should", In: "D-E", Side: "server", Transport: "http",
		Text:   `A refusal with error="insufficient_scope" has status 403 and names scope and resource_metadata.`,
		Source: "D:basic/authorization#runtime-insufficient-scope-errors; E:basic/authorization/index#runtime-insufficient-scope-errors",
		Fix:    "Add the missing parameters.",
		New: refusals(func(x *Exchange, v *Verdict) {
			bearer, _ := x.challenge()
			if bearer["error"] != "insufficient_scope" {
				return
			}
			switch {
			case x.Response.Status != 403:
				v.Violate("status", "", strconv.Itoa(x.Response.Status))
			case bearer["scope"] == "":
				v.Violate("scope", "", "missing")
			case bearer["resource_metadata"] == "":
				v.Violate("resource_metadata", "", "missing")
			default:
				v.Hold()
			}
		}),
	},
	{
		ID: "auth-13", Class: "should", In: "D-E", Side: "server", Transport: "http",
		Text:   "The Bearer challenge of a 401 has scope.",
		Source: sourceScopes,
		Fix:    "Name the scopes that the request needs.",
		New: refusals(func(x *Exchange, v *Verdict) {
			if bearer, whole := x.challenge(); bearer != nil && whole && x.Response.Status == 401 {
				v.Check(bearer["scope"] != "", "scope", "", "missing")
			}
		}),
	},
	{
		ID: "auth-14", Class: "should", In: "E", Side: "server", Transport: "http",
		Text:   "offline_access is not in the scope of a challenge or in scopes_supported of the metadata of the protected resource.",
		Source: "E:basic/authorization/index#refresh-tokens",
		Fix:    "Remove it; refresh tokens do not concern the resource.",
		New: func(s *Session) Hooks {
			hooks := metadata(func(_ *Exchange, doc jsonrpc.Value, v *Verdict) {
				for _, scope := range doc.Get("scopes_supported").Each {
					if scope.Decoded() == offlineAccess {
						v.Violate(offlineAccess, "$.scopes_supported", offlineAccess)
						return
					}
				}
				v.Hold()
			})(s)
			document := hooks.Exchange
			hooks.Exchange = func(x *Exchange, v *Verdict) {
				if document(x, v); !x.answered(4) {
					return
				}
				if bearer, _ := x.challenge(); bearer["scope"] != "" {
					v.Check(!slices.Contains(strings.Fields(bearer["scope"]), offlineAccess), offlineAccess, "", bearer["scope"])
				}
			}
			return hooks
		},
	},
	{
		ID: "auth-15", Class: "should", In: "D-E", Side: "client", Transport: "http",
		Text:   "A refused request is not retried endlessly: there are at most three refusals with 401 or 403 in a row.",
		Source: "D:basic/authorization#step-up-authorization-flow; E:basic/authorization/index#step-up-authorization-flow",
		Fix:    "Count the attempts and give up.",
		New:    retries,
	},
	{
		ID: "auth-16", Class: "observation", In: "C-E", Side: "server", Transport: "http",
		Text:   "resource_metadata is not an absolute https URL, or a Bearer challenge cannot be parsed. Loopback does not need https.",
		Source: "RFC 9728 s5.1; RFC 9110 s11.6.1",
		Fix:    "Give an absolute URL in quotes.",
		New: refusals(func(x *Exchange, v *Verdict) {
			bearer, whole := x.challenge()
			named := bearer["resource_metadata"]
			u, err := url.Parse(named)
			switch {
			case bearer == nil:
			case !whole:
				v.Violate(authenticate, "", fieldText(x.Response, authenticate))
			case named == "":
			default:
				v.Check(err == nil && u.Host != "" && (u.Scheme == "https" || isLoopback(u)), "resource_metadata", "", named)
			}
		}),
	},
	{
		ID: "auth-17", Class: "must", In: "B-E", Side: "client", Transport: "http",
		Text:   "Redirect URIs are HTTPS or on localhost.",
		Source: "B:basic/authorization#security-considerations; C-D:basic/authorization#communication-security; E:basic/authorization/security-considerations#communication-security",
		Fix:    "Use HTTPS, or localhost for the redirect.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			uris := q.form["redirect_uri"]
			for _, uri := range q.doc.Get("redirect_uris").Each {
				uris = append(uris, uri.Decoded())
			}
			for _, uri := range uris {
				u, err := url.Parse(uri)
				v.Check(err == nil && (u.Scheme == "https" || isLoopback(u)), "redirect_uri", "", uri)
			}
		}),
	},
	{
		ID: "auth-18", Class: "should", In: "C-E", Side: "client", Transport: "http",
		Text:   "Authorization requests have state.",
		Source: "C-D:basic/authorization#open-redirection; E:basic/authorization/security-considerations#open-redirection",
		Fix:    "Send and check state.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			if q.kind == "authorize" {
				v.Check(q.form.Has("state"), "state", "", "missing")
			}
		}),
	},
	{
		ID: "auth-19", Class: "must", In: "D-E", Side: "client", Transport: "http",
		Text:   "A URL as client_id is HTTPS and has a path.",
		Source: "D:basic/authorization#implementation-requirements; E:basic/authorization/client-registration#implementation-requirements",
		Fix:    "Host the metadata document under a path on HTTPS.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			if id := q.form.Get("client_id"); strings.HasPrefix(id, "http://") || strings.HasPrefix(id, "https://") {
				u, err := url.Parse(id)
				v.Check(err == nil && u.Scheme == "https" && len(u.Path) > 1, "client_id", "", id)
			}
		}),
	},
	{
		ID: "auth-20", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "Dynamic registration requests have application_type.",
		Source: "E:basic/authorization/client-registration#application-type-and-redirect-uri-constraints",
		Fix:    "Send native or web.",
		New: oauth(func(q oauthRequest, v *Verdict) {
			if q.kind == "register" {
				v.Check(q.doc.Get("application_type") != nil, "application_type", "$.application_type", "missing")
			}
		}),
	},
}

const (
	authenticate  = "WWW-Authenticate"
	offlineAccess = "offline_access"
)

// refusals returns New for a rule about requests to the endpoint that the server refuses.
func refusals(judge func(x *Exchange, v *Verdict)) func(*Session) Hooks {
	return eachExchange(func(x *Exchange, v *Verdict) {
		if x.Session.Number != 0 && x.answered(4) {
			judge(x, v)
		}
	})
}

// metadata returns New for a rule about the metadata of a protected resource (RFC 9728).
func metadata(judge func(x *Exchange, doc jsonrpc.Value, v *Verdict)) func(*Session) Hooks {
	return func(s *Session) Hooks {
		docs := bounded.Map[uint64, jsonrpc.Value]{Max: 16}
		return Hooks{
			Frame: func(e *session.Entry, _ *Verdict) {
				x := s.checker.exchangeOf(e)
				if e.Frame.Form == tap.FormBody && e.Frame.Lane == tap.ToClient && x != nil && x.answered(2) && len(e.Frame.Raw) < 64<<10 &&
					x.Request != nil && strings.Contains(x.Request.Target, "/.well-known/oauth-protected-resource") {
					docs.Put(x.Number, slices.Clone(jsonrpc.Value(strings.TrimSpace(string(e.Frame.Raw)))))
				}
			},
			Exchange: func(x *Exchange, v *Verdict) {
				if doc, ok := docs.Get(x.Number); ok && doc.IsObject() {
					judge(x, doc, v)
				}
			},
		}
	}
}

// An oauthRequest is a request that reaches an authorization server through the tap.
type oauthRequest struct {
	kind string        // authorize, token (for a code) or register
	form url.Values    // for authorize and token
	doc  jsonrpc.Value // for register
}

// oauth returns New for a rule about OAuth requests.
func oauth(judge func(q oauthRequest, v *Verdict)) func(*Session) Hooks {
	return func(*Session) Hooks {
		bodies := bounded.Map[uint64, string]{Max: 16}
		return Hooks{
			Frame: func(e *session.Entry, _ *Verdict) {
				if e.Frame.Form == tap.FormBody && e.Frame.Lane == tap.ToServer && e.Message.Kind == jsonrpc.Other && len(e.Frame.Raw) < 64<<10 {
					bodies.Put(e.Frame.Exchange, string(e.Frame.Raw))
				}
			},
			Exchange: func(x *Exchange, v *Verdict) {
				if x.Request == nil {
					return
				}
				body, _ := bodies.Get(x.Number)
				_, query, _ := strings.Cut(x.Request.Target, "?")
				doc := jsonrpc.Value(strings.TrimSpace(body))
				asked, _ := url.ParseQuery(query)
				sent, _ := url.ParseQuery(body)
				switch {
				case x.Request.Method == "GET" && asked.Get("response_type") == "code" && asked.Has("client_id"):
					judge(oauthRequest{kind: "authorize", form: asked}, v)
				case x.Request.Method == "POST" && sent.Get("grant_type") == "authorization_code":
					judge(oauthRequest{kind: "token", form: sent}, v)
				case x.Request.Method == "POST" && doc.Get("redirect_uris").IsArray():
					judge(oauthRequest{kind: "register", doc: doc}, v)
				}
			},
		}
	}
}

var (
	// bearerScheme begins a Bearer challenge.
	bearerScheme = regexp.MustCompile(`(?i)(?:^|,)\s*Bearer(?:\s+|$)`)
	// nextScheme begins another challenge after it.
	nextScheme = regexp.MustCompile(`,\s*[A-Za-z][\w-]*\s+[A-Za-z]`)
	// challengeParam is a parameter of a challenge.
	challengeParam = regexp.MustCompile("([\\w-]+)\\s*=\\s*(\"(?:[^\"\\\\]|\\\\.)*\"|[!#$%&'*+.^_`|~\\w-]+)\\s*(?:,|$)\\s*")
)

// challenge returns the parameters of the first Bearer challenge, nil if there is none, and
// reports whether all of it could be parsed.
func (x *Exchange) challenge() (params map[string]string, whole bool) {
	text := strings.Join(field(x.Response, authenticate), ", ")
	at := bearerScheme.FindStringIndex(text)
	if at == nil {
		return nil, false
	}
	text = text[at[1]:]
	if next := nextScheme.FindStringIndex(text); next != nil {
		text = text[:next[0]]
	}
	params = map[string]string{}
	for _, p := range challengeParam.FindAllStringSubmatch(text, -1) {
		value := p[2]
		if value[0] == '"' {
			value = strings.ReplaceAll(value[1:len(value)-1], `\`, "")
		}
		if name := strings.ToLower(p[1]); params[name] == "" {
			params[name] = value
		}
	}
	return params, strings.TrimSpace(challengeParam.ReplaceAllString(text, "")) == ""
}

// retries judges auth-15.
func retries(s *Session) Hooks {
	row, last, about := 0, uint64(0), ""
	return streamable(func(x *Exchange, v *Verdict) {
		if !x.byServer() || !x.carriesRequest() {
			return
		}
		refused := x.Response.Status == 401 || x.Response.Status == 403
		switch own := x.about(); {
		case !refused:
			row = 0
			v.Hold()
		case own != about || row == 0:
			row, last, about = 1, x.Heads[1], own
		case x.Heads[0] > last: // others were sent at the same time
			last = x.Heads[1]
			if row++; row > 3 {
				v.Violate(own, "", fmt.Sprintf("refused %d times in a row", row))
			}
		}
	})(s)
}
