package redact

import (
	"bytes"
	"strings"
)

// A scope is what the names above a value say about it.
type scope struct {
	// secret is the rule that makes it one, "" for none. all says that the rule
	// goes for what is in it too, and but that it does not for what a built-in
	// rule says that only describes the secret.
	secret   string
	all, but bool
	// weak says that the name has other meanings, and that an object of that name
	// is of none.
	weak bool
	// number says that every number is a secret too, and not long ones alone.
	number bool
	// schema says that it is (part of) a JSON schema, properties that its members
	// are named by the person and are schemas, and prop the rule that the name of
	// the property that it describes fell under.
	schema, properties bool
	prop               string
	// pairs says that it is the fields of a head: pairs of a name and a value.
	pairs bool
	// header is the name of the field that a text is the value of, field that it
	// is both, user that it is user:password.
	header      string
	field, user bool
	// rows are the columns of the table whose rows an array holds, cells those of the one
	// row that it is.
	rows, cells *columns
	// scheme says that it may begin with the scheme of an Authorization.
	scheme bool
	// word says that short words under the name are something else.
	word bool
}

// explained reports whether a text under the name of a secret is none.
func (s scope) explained(text []byte) bool {
	return isStandIn(text) || plainTypes[lower(text)] || isVersion(text, s.weak) || s.word && isShortWord(text)
}

// schemaNames are the members of MCP that are JSON schemas.
var schemaNames = map[string]bool{"inputSchema": true, "outputSchema": true, "requestedSchema": true}

// member says what a member's name and its object mean for the value.
func (w *walker) member(name string, s scope) scope {
	switch {
	case s.all && !s.but:
		return s
	case w.life && len(w.r.path) == 1 && name == targetField:
		return scope{header: targetField}
	case w.life && len(w.r.path) == 1:
		return scope{pairs: name == "header" || name == "trailer"}
	case s.properties:
		return scope{schema: true, prop: w.r.named(name)}
	case s.schema:
		switch name {
		case "properties", "patternProperties", "$defs", "definitions":
			return scope{schema: true, properties: true}
		case "default", "examples", "example":
			if s.prop != "" {
				return scope{secret: s.prop, all: true, number: true}
			}
		}
		return scope{schema: true, prop: s.prop}
	case schemaNames[name]:
		return scope{schema: true}
	}
	plain := plainName(name)
	rule := w.r.named(name)
	switch {
	case rule == "" && s.all && !describing[plain]:
		return s
	case rule == "":
		return scope{}
	}
	return w.r.secretScope(rule, name)
}

// secretScope is the scope of a value whose name falls under a rule.
func (r *Redactor) secretScope(rule, name string) scope {
	if rule != nameRule {
		return scope{secret: rule, all: true, number: true}
	}
	weak := weakName(name)
	return scope{secret: rule, number: !weak, weak: weak, scheme: isAuthorization(name), word: strings.EqualFold(name, "token")}
}

// inside says what the scope of an object or an array under a secret name means for
// what is in it.
func (w *walker) inside(s scope) scope {
	switch {
	case s.secret == "" || s.all || s.schema:
	case w.src[w.at] == '[':
	case w.likeSchema():
		return scope{schema: true, prop: s.secret}
	case !s.weak:
		s.all, s.but, s.number = true, true, false
	}
	return s
}

// describing are the names of what tells about a secret and is none, where all that
// an object holds is taken for one.
var describing = func() map[string]bool {
	names := map[string]bool{}
	for _, n := range []string{
		"type", "kind", "name", "id", "title", "label", "description", "placeholder", "format", "method", "scheme", "username",
		"user", "login", "clientid", "url", "uri", "href", "host", "hostname", "port", "domain", "path", "in", "location", "region",
		"provider", "issuer", "audience", "scope", "scopes", "role", "roles", "status", "version", "alg", "algorithm", "environment",
		"expires", "expiresat", "expiresin", "expiry", "created", "createdat", "updated", "updatedat", "issuedat", "samesite", "timestamp",
	} {
		names[n] = true
	}
	return names
}()

// The names that a pair has in a list of variables, fields or parameters.
var (
	pairNames = map[string]bool{"name": true, "key": true, "header": true, "field": true, "variable": true, "param": true, "parameter": true, "property": true, "env": true, "option": true,
		"label": true, "column": true, "attribute": true, "setting": true, "parameterkey": true, "parametername": true, "variablename": true}
	pairValues = map[string]bool{"value": true, "values": true, "val": true, "default": true, "defaultvalue": true, "currentvalue": true, "parametervalue": true}
)

// maxPeek is how far is looked ahead into an object.
const maxPeek = 4 << 10

// peek calls fn with the members of the object at an offset, as far as it looks.
func (w *walker) peek(at int, fn func(name string, value []byte)) {
	src := w.src[at:min(len(w.src), at+maxPeek)]
	depth, name, isName := 0, "", false
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '{', '[':
			depth++
			isName = depth == 1
		case '}', ']':
			if depth--; depth == 0 {
				return
			}
		case ',':
			isName = depth == 1
		case ':':
			if depth == 1 {
				fn(name, bytes.TrimLeft(src[i+1:], blanks))
			}
		case '"':
			start := i + 1
			for i = start; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			if i >= len(src) {
				return
			}
			if isName {
				name, isName = string(decoded(src[start:i]).text), false
			}
		}
	}
}

// peeked is the string that a value begins with, and where it ends: 0 for anything
// else, and the end of all where that is not to be seen.
func peeked(value []byte) (text string, end int) {
	if len(value) == 0 || value[0] != '"' {
		return "", 0
	}
	for i := 1; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return string(decoded(value[1:i]).text), i + 1
		}
	}
	return "", len(value)
}

// schemaTypes are the types that a JSON schema has.
var schemaTypes = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "object": true, "array": true, "null": true}

// likeSchema reports whether the object that is next is a schema of a property with
// the name of a secret, rather than one.
func (w *walker) likeSchema() (found bool) {
	w.peek(w.at, func(name string, value []byte) {
		switch name {
		case "type":
			kind, _ := peeked(value)
			found = found || schemaTypes[kind] || bytes.HasPrefix(value, []byte("["))
		case "$ref", "anyOf", "oneOf", "allOf", "enum":
			found = true
		}
	})
	return found
}

// nameAhead returns the name of a pair whose value comes first.
func (w *walker) nameAhead(object int) (found string) {
	w.peek(object, func(name string, value []byte) {
		if pairNames[plainName(name)] && found == "" {
			found, _ = peeked(value)
		}
	})
	return found
}
