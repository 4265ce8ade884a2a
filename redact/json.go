package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// edits finds the secrets in a content, which is JSON or any other text.
func (r *Redactor) edits(content []byte) []edit {
	r.nested++
	defer func() { r.nested-- }()
	if !isJSON(content) {
		return r.textEdits(content)
	}
	w := walker{r: r, src: content}
	w.space()
	w.value(scope{})
	return w.edits
}

// isJSON reports whether a content is a valid object or array. Nesting deeper than 10,000
// is invalid, so a walk may be recursive.
func isJSON(content []byte) bool {
	for _, c := range content {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			return json.Valid(content)
		}
		break
	}
	return false
}

// A walker walks through valid JSON.
type walker struct {
	r     *Redactor
	src   []byte
	at    int
	edits []edit
	// lifecycle reports that the value is a lifecycle event, whose header is that of a request
	// or a response.
	lifecycle bool
}

func (w *walker) space() {
	for w.at < len(w.src) && w.src[w.at] <= ' ' {
		w.at++
	}
}

// value reads a value and the white space after it.
func (w *walker) value(s scope) {
	if rule := w.r.pathRule(); rule != "" {
		s = scope{secret: rule, all: true, number: true}
	}
	switch w.src[w.at] {
	case '{':
		w.object(w.inside(s))
	case '[':
		w.array(w.inside(s))
	case '"':
		start, end := w.token()
		w.text(start, end, s)
	default:
		start := w.at
		for w.at < len(w.src) && w.src[w.at] != ',' && w.src[w.at] != ']' && w.src[w.at] != '}' && w.src[w.at] > ' ' {
			w.at++
		}
		w.scalar(start, w.at, s)
	}
	w.space()
}

// token skips a string and returns its range, without the quotes.
func (w *walker) token() (start, end int) {
	w.at++
	for start = w.at; w.src[w.at] != '"'; w.at++ {
		if w.src[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return start, w.at - 1
}

func (w *walker) scalar(start, end int, s scope) {
	token := w.src[start:end]
	rule := ""
	switch {
	case token[0] != '-' && token[0]-'0' > 9: // true, false or null
		w.r.used[s.secret] = true
		return
	case s.secret != "" && (s.number || longNumber(token) && !s.random):
		rule = s.secret
	case w.r.known.number(token):
		rule = knownRule
	default:
		return
	}
	if (!w.r.opt.Check || !likePseudonym(token)) && w.r.found(rule, token) {
		w.r.known.addNumber(token, false)
		w.edits = append(w.edits, edit{start, end, w.r.namer.number(token)})
	}
}

// longNumber reports whether a number is unlikely to be a quantity.
func longNumber(token []byte) bool {
	return len(token) >= 6 && len(bytes.Trim(token, "0123456789")) == 0
}

func (w *walker) object(s scope) {
	object := w.at
	w.at++
	w.space()
	pair := scope{} // of the value in {"name": …, "value": …}
	var table *columns
	if s.weak {
		pair, s = s, scope{}
	}
	for w.src[w.at] != '}' {
		if w.src[w.at] == ',' {
			w.at++
			w.space()
		}
		start, end := w.token()
		name := string(decoded(w.src[start:end]).text)
		noted := w.r.noted
		w.r.name = true
		w.text(start, end, scope{}) // a name may hold a secret too
		w.r.name = false
		shown := w.r.shown(name)
		if w.r.noted > noted { // the list of findings must not have it
			shown = "…"
		}
		w.space()
		w.at++ // :
		w.space()
		w.r.path = append(w.r.path, crumb{name: shown})
		in := w.member(name, s)
		if in.secret == nameRule && (w.src[w.at] == '"' && isDir(name, []byte(w.string())) || w.src[w.at] == '{' && !in.all && strings.HasPrefix(name, "/")) { // a path of OpenAPI
			in = scope{}
		}
		if plain := plainName(name); !s.schema && !s.all && in.secret == "" {
			switch {
			case pairNames[plain] && w.src[w.at] == '"':
				pair = w.paired(w.string(), pair)
			case (plain == "text" || plain == "value") && w.isPasswordField(object):
				in = scope{secret: nameRule}
			case pairValues[plain]:
				if pair == (scope{}) {
					pair = w.paired(w.nameAhead(object), pair)
				}
				if pair == (scope{}) && plain == "value" && w.isCookie(object) {
					pair = scope{secret: nameRule}
				}
				if pair.secret != "" || pair.header != "" {
					in = pair
				}
			}
		}
		if w.src[w.at] == '{' && (name == "data" || name == "stringData") && in == (scope{}) && w.isSecretKind(object) {
			in = scope{secret: nameRule, all: true, but: true}
		}
		if w.src[w.at] == '"' && in == (scope{}) && privateMembers[name] && w.isKey(object) {
			in = scope{secret: nameRule, all: true}
		}
		if w.src[w.at] == '[' && in == (scope{}) {
			switch plain := plainName(name); {
			case plain == "tokens":
				in = scope{secret: nameRule, weak: true, random: true}
			case columnLists[plain]:
				table = w.columnsAhead()
			case rowLists[plain] && table != nil:
				in = scope{rows: table}
			case plain == "rawheaders":
				in = scope{flat: true}
			}
		}
		w.value(in)
		w.r.path = w.r.path[:len(w.r.path)-1]
	}
	w.at++
}

// paired returns the scope of the value of a name in a pair.
func (w *walker) paired(name string, otherwise scope) scope {
	rule := w.r.named(name)
	if rule == "" {
		return otherwise
	}
	if plain := plainName(name); plain == "cookie" || plain == "setcookie" {
		return scope{header: name}
	}
	s := w.r.secretScope(rule, name)
	s.number = s.number && (rule != nameRule || figureNames[plainName(name)])
	return s
}

// string returns the next string without advancing.
func (w *walker) string() string {
	at := w.at
	start, end := w.token()
	w.at = at
	return string(decoded(w.src[start:end]).text)
}

// shown returns a name as reported in findings.
func (r *Redactor) shown(name string) string {
	if len(name) > maxName {
		return "…"
	}
	return name
}

func (w *walker) array(s scope) {
	w.at++
	w.space()
	next := scope{} // set by an element for the next one
	name := ""      // of the next value in a flat list
	mysql := false  // the list is a command with the program
	for i := 0; w.src[w.at] != ']'; i++ {
		if w.src[w.at] == ',' {
			w.at++
			w.space()
		}
		if s.pairs || s.secret == "" && !s.schema && w.isPair() {
			w.pair()
			continue
		}
		in := s
		if next != (scope{}) {
			in = next
		}
		switch {
		case s.rows != nil:
			in = scope{cells: s.rows}
		case s.cells != nil:
			in = s.cells.at(w.r, i)
		case s.flat && i%2 == 0 && w.src[w.at] == '"':
			name = w.string()
		case s.flat && w.r.fieldRule(name) != "":
			in = scope{header: name}
		}
		start, depth := w.at, len(w.r.path)
		if depth > 0 || w.r.nested > 1 { // a batch: paths begin at each message
			w.r.path = append(w.r.path, crumb{strconv.Itoa(i), true})
		}
		if next = (scope{}); w.src[start] == '"' {
			next = w.element(in, &mysql)
		} else {
			w.value(in)
		}
		w.r.path = w.r.path[:depth]
	}
	w.at++
}

// element reads a string in an array, which may be an argument list. It returns the scope
// of the next element.
func (w *walker) element(s scope, mysql *bool) scope {
	at := w.at
	from, to := w.token()
	text := decoded(w.src[from:to]).text
	next, own := w.r.flag(text)
	if *mysql = *mysql || isMySQL(text); *mysql && own == 0 {
		own = ownPassword(text)
	}
	if own > 0 && s.secret == "" {
		w.assigned(from, to, own)
		w.space()
	} else {
		w.at = at
		w.value(s)
	}
	switch {
	case next == fieldFlag:
		return scope{field: true}
	case next == userFlag:
		return scope{user: true}
	case next == keyFlag:
		return scope{secret: nameRule, random: true, weak: true}
	}
	return scope{secret: next}
}

// isPair reports whether an array in an array consists of the name of a secret and its
// value.
func (w *walker) isPair() bool {
	if w.src[w.at] != '[' {
		return false
	}
	src := bytes.TrimLeft(w.src[w.at+1:min(len(w.src), w.at+maxPeek)], blanks)
	name, after := peeked(src)
	if name == "" || len(name) > maxName || w.r.fieldRule(name) == "" {
		return false
	}
	src, ok := bytes.CutPrefix(bytes.TrimLeft(src[after:], blanks), []byte(","))
	src = bytes.TrimLeft(src, blanks)
	_, after = peeked(src)
	src = bytes.TrimLeft(src[after:], blanks)
	return ok && after > 0 && (len(src) == 0 || src[0] == ']')
}

// blanks is the white space of JSON.
const blanks = " \t\r\n"

// pair reads [name, value] of a header or a list.
func (w *walker) pair() {
	if w.src[w.at] != '[' {
		w.value(scope{})
		return
	}
	w.at++
	w.space()
	name := ""
	for i := 0; w.src[w.at] != ']'; i++ {
		if w.src[w.at] == ',' {
			w.at++
			w.space()
		}
		in := scope{}
		if w.src[w.at] == '"' && i == 0 {
			name = w.string()
		} else if i == 1 {
			if in.header = name; w.lifecycle && w.r.fieldRule(name) == "" && SecretField(name) {
				in = scope{secret: nameRule, all: true}
			}
		}
		w.r.path = append(w.r.path, crumb{name: w.r.shown(name)})
		w.value(in)
		w.r.path = w.r.path[:len(w.r.path)-1]
	}
	w.at++
	w.space()
}

// pathRule returns the path rule of the current value, "" for none.
func (r *Redactor) pathRule() string {
	for i := range r.opt.Rules {
		if rule := &r.opt.Rules[i]; rule.path != nil && fits(rule.path, r.path) {
			return rule.text
		}
	}
	return ""
}

// text finds the secrets of the string whose encoding is src[start:end].
func (w *walker) text(start, end int, s scope) {
	if start == end {
		return
	}
	if s.secret == "" && s.header == "" && !s.field && !s.user && !w.lifecycle && len(w.r.opt.Rules) == 0 && w.r.harmless(w.src[start:end]) {
		return
	}
	d := decoded(w.src[start:end])
	if s.random && (!LooksRandom(string(d.text)) || bytes.HasPrefix(d.text, []byte("0x"))) {
		s = scope{}
	}
	var edits []edit
	switch {
	case s.header != "":
		edits = w.r.replaced(d.text, w.r.fieldHits(s.header, d.text))
	case s.field:
		edits = w.r.replaced(d.text, w.r.lineHits(d.text))
	case s.user:
		edits = w.r.replaced(d.text, w.r.userHits(d.text))
	case s.object && isJSON(d.text):
		in := walker{r: w.r, src: d.text}
		in.space()
		in.value(scope{secret: s.secret, all: true, but: true})
		edits = in.edits
	case s.secret != "":
		from := 0
		if i := bytes.IndexByte(d.text, ' '); s.scheme && i > 0 && isScheme(d.text[:i]) {
			from = i + 1
		}
		if s.secret != nameRule || !s.explained(d.text[from:]) {
			edits = w.r.replaced(d.text, []hit{{start: from, end: len(d.text), rule: s.secret}})
		}
	case w.lifecycle && !isJSON(d.text):
		edits = w.r.replaced(d.text, w.r.argumentHits(d.text))
	default:
		edits = w.r.edits(d.text)
	}
	for _, e := range edits {
		from, to := d.spelled(e.start, e.end)
		w.edits = append(w.edits, edit{start + from, start + to, e.text})
	}
}

// assigned replaces the rest of an argument after NAME=, whose length is own.
func (w *walker) assigned(start, end, own int) {
	d := decoded(w.src[start:end])
	hits := []hit{{start: own, end: len(d.text), rule: w.r.ownRule(string(d.text))}}
	for _, e := range w.r.replaced(d.text, hits) {
		from, to := d.spelled(e.start, e.end)
		w.edits = append(w.edits, edit{start + from, start + to, e.text})
	}
}

// A scope describes a value by the names of the values that contain it.
type scope struct {
	// secret is the rule that makes the value a secret, "" for none. If all is set, it
	// applies to the values inside too, except, if but is set, to those that a built-in rule
	// considers descriptions of the secret.
	secret   string
	all, but bool
	// weak reports that the name is ambiguous, so that an object of that name has no
	// secrets.
	weak bool
	// number reports that all numbers are secrets, not only long ones.
	number bool
	// schema reports that the value is part of a JSON schema, properties that its members
	// are named by the user and are schemas. prop is the rule of the name of the property
	// that it describes.
	schema, properties bool
	prop               string
	// pairs reports that the value is a list of header fields, which are pairs of a name
	// and a value.
	pairs bool
	// flat reports that the value is a list of names and values in turn, as in Node.js.
	flat bool
	// header is the name of the header field whose value it is. field reports that it has
	// both name and value, user that it is user:password.
	header      string
	field, user bool
	// rows are the columns of the table whose rows the array has, cells those of a single
	// row.
	rows, cells *columns
	// scheme reports that the value may begin with an authentication scheme.
	scheme bool
	// object reports that the text may be an object with the secrets, as in AWS.
	object bool
	// word reports that a short word with this name is not a secret.
	word bool
	// random reports that only texts that look random are secrets, as tokens may be words or
	// addresses of coins.
	random bool
}

// explained reports whether a text with the name of a secret is only a description.
func (s scope) explained(text []byte) bool {
	return isStandIn(text) || plainTypes[lower(text)] || isVersion(text, s.weak) || s.word && isShortWord(text)
}

// schemaNames are the members of MCP that are JSON schemas.
var schemaNames = map[string]bool{"inputSchema": true, "outputSchema": true, "requestedSchema": true}

// member returns the scope of the value of a member.
func (w *walker) member(name string, s scope) scope {
	switch {
	case s.all && !s.but:
		return s
	case w.lifecycle && len(w.r.path) == 1 && name == targetField:
		return scope{header: targetField}
	case w.lifecycle && len(w.r.path) == 1:
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

// secretScope returns the scope of a value whose name has a rule.
func (r *Redactor) secretScope(rule, name string) scope {
	if rule != nameRule {
		return scope{secret: rule, all: true, number: true}
	}
	weak := weakName(name)
	plain := plainName(unqualified(name))
	count := singular(plain) != plain && !wholeNames[plain] // several keys, or their number
	return scope{secret: rule, number: !weak && !count, weak: weak, scheme: isAuthorization(name), word: plain == "token", object: strings.HasSuffix(plainName(name), "secretstring")}
}

// inside returns the scope of the values in an object or array that has the name of a
// secret.
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

// describing are the names of members that describe a secret in an object whose other
// members are secrets.
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

// maxPeek is the maximum lookahead into an object, in bytes.
const maxPeek = 4 << 10

// peek calls fn with the first members of the object at an offset.
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

// peeked returns the string at the beginning of a value and its end: 0 for another type,
// the length of the value if the string is truncated.
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

// schemaTypes are the types of a JSON schema.
var schemaTypes = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "object": true, "array": true, "null": true}

// likeSchema reports whether the next object is the schema of a property with the name of a
// secret, and not a secret. An object with a value is not a schema, such as an output of Terraform.
func (w *walker) likeSchema() bool {
	found, valued := false, false
	w.peek(w.at, func(name string, value []byte) {
		switch name {
		case "value":
			valued = true
		case "type":
			kind, _ := peeked(value)
			found = found || schemaTypes[kind] || bytes.HasPrefix(value, []byte("["))
		case "$ref", "anyOf", "oneOf", "allOf", "enum":
			found = true
		}
	})
	return found && !valued
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

// isCookie reports whether the object at an offset, which has a value, is a cookie of a browser.
func (w *walker) isCookie(object int) bool {
	seen := map[string]bool{}
	w.peek(object, func(name string, _ []byte) { seen[plainName(name)] = true })
	return seen["name"] && (seen["httponly"] || seen["samesite"] || seen["domain"] && (seen["path"] || seen["secure"] || seen["hostonly"] || seen["expires"]))
}

// isPasswordField reports whether the object at an offset, which has a text, types it into the
// password field of a page.
func (w *walker) isPasswordField(object int) (found bool) {
	w.peek(object, func(name string, value []byte) {
		if name == "element" || name == "selector" || name == "locator" {
			field, _ := peeked(value)
			found = found || strings.Contains(plainName(field), "password")
		}
	})
	return found
}

// isSecretKind reports whether the object at an offset is a Secret of Kubernetes.
func (w *walker) isSecretKind(object int) (found bool) {
	w.peek(object, func(name string, value []byte) {
		found = found || name == "kind" && bytes.HasPrefix(value, []byte(`"Secret"`))
	})
	return found
}

// privateMembers are the private members of a JSON Web Key (RFC 7518, 6).
var privateMembers = setOf("d p q dp dq qi k")

// isKey reports whether the object at an offset is a JSON Web Key.
func (w *walker) isKey(object int) (found bool) {
	w.peek(object, func(name string, _ []byte) { found = found || name == "kty" })
	return found
}

// columns are the names of the columns of a table, as in
// {"columns": ["user", "password"], "rows": [["me", "…"]]}.
type columns struct{ names []string }

// columnLists and rowLists are the plain names of lists of columns and of rows.
var (
	columnLists = map[string]bool{"columns": true, "fields": true, "header": true, "headers": true, "columnnames": true, "schema": true}
	rowLists    = map[string]bool{"rows": true, "data": true, "values": true, "records": true, "results": true, "items": true}
)

// columnsAhead reads the next array without advancing. It returns nil if no column has the
// name of a secret.
func (w *walker) columnsAhead() *columns {
	var list []json.RawMessage
	if json.NewDecoder(bytes.NewReader(w.src[w.at:min(len(w.src), w.at+maxPeek)])).Decode(&list) != nil {
		return nil
	}
	c, secret := &columns{}, false
	for _, raw := range list {
		var name string
		if json.Unmarshal(raw, &name) != nil {
			var column struct{ Name string }
			_ = json.Unmarshal(raw, &column)
			name = column.Name
		}
		c.names = append(c.names, name)
		secret = secret || w.r.named(name) != ""
	}
	if !secret {
		return nil
	}
	return c
}

// at returns the scope of the cell in a column.
func (c *columns) at(r *Redactor, i int) scope {
	if i >= len(c.names) {
		return scope{}
	}
	rule := r.named(c.names[i])
	if rule == "" {
		return scope{}
	}
	s := r.secretScope(rule, c.names[i])
	s.number = s.number && rule != nameRule // a short number may be a count
	return s
}
