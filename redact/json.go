package redact

import (
	"encoding/json"
	"strconv"
)

// edits finds the secrets in a content: JSON, or any other text.
func (r *Redactor) edits(content []byte) []edit {
	r.depth++
	defer func() { r.depth-- }()
	if !isJSON(content) {
		return r.textEdits(content)
	}
	w := walker{r: r, src: content}
	w.space()
	w.value(scope{})
	return w.edits
}

// isJSON reports whether a content is an object or an array. The check refuses
// what is nested deeper than 10,000, so a walk may call itself.
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

// A scope is what the names above a value say about it.
type scope struct {
	// secret is the rule that makes it one, "" for none. all says that the rule
	// goes for what is in it too.
	secret string
	all    bool
	// number says that a number is a secret too.
	number bool
	// schema says that it is (part of) a JSON schema, properties that its members
	// are named by the person and are schemas, and prop the rule that the name of
	// the property that it describes fell under.
	schema, properties bool
	prop               string
	// pairs says that it is the fields of a head: pairs of a name and a value.
	pairs bool
	// header is the name of the field that a text is the value of.
	header string
	// scheme says that it may begin with the scheme of an Authorization.
	scheme bool
}

// A walker goes through valid JSON.
type walker struct {
	r     *Redactor
	src   []byte
	at    int
	edits []edit
	// life says that it is an event of the run, whose header is the head of a
	// request or a response.
	life bool
}

func (w *walker) space() {
	for w.at < len(w.src) && w.src[w.at] <= ' ' {
		w.at++
	}
}

// value reads a value and what is behind it up to the next token.
func (w *walker) value(s scope) {
	if rule := w.r.pathRule(); rule != "" {
		s = scope{secret: rule, all: true, number: true}
	}
	switch w.src[w.at] {
	case '{':
		w.object(s)
	case '[':
		w.array(s)
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

// token passes over a string and returns where it stands, without its quotes.
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
	if s.secret != "" && s.number && (token[0] == '-' || token[0]-'0' < 10) && w.r.found(s.secret, token) {
		w.edits = append(w.edits, edit{start, end, w.r.namer.number(token)})
	}
}

func (w *walker) object(s scope) {
	w.at++
	w.space()
	pair := "" // the rule of the name in {"name": …, "value": …}
	for w.src[w.at] != '}' {
		if w.src[w.at] == ',' {
			w.at++
			w.space()
		}
		start, end := w.token()
		name := string(decoded(w.src[start:end]).text)
		w.text(start, end, scope{}) // a name may hold a secret too
		w.space()
		w.at++ // :
		w.space()
		w.r.path = append(w.r.path, crumb{name: w.r.shown(name)})
		in := w.member(name, s)
		if name == "value" && pair != "" && in == (scope{}) {
			in.secret = pair
		}
		if (name == "name" || name == "key") && w.src[w.at] == '"' && !s.schema {
			pair = w.r.named(w.string())
		}
		w.value(in)
		w.r.path = w.r.path[:len(w.r.path)-1]
	}
	w.at++
}

// string returns the string that is next, and stays before it.
func (w *walker) string() string {
	at := w.at
	start, end := w.token()
	w.at = at
	return string(decoded(w.src[start:end]).text)
}

// shown is a name as it may be reported.
func (r *Redactor) shown(name string) string {
	if len(name) > maxName {
		return "…"
	}
	return name
}

func (w *walker) array(s scope) {
	w.at++
	w.space()
	flag := ""
	for i := 0; w.src[w.at] != ']'; i++ {
		if w.src[w.at] == ',' {
			w.at++
			w.space()
		}
		in := s
		if s.pairs {
			w.pair(s)
			continue
		}
		if flag != "" {
			in.secret = flag
		}
		start, depth := w.at, len(w.r.path)
		if depth > 0 || w.r.depth > 1 { // a batch: paths begin at each message
			w.r.path = append(w.r.path, crumb{strconv.Itoa(i), true})
		}
		if flag = ""; w.src[start] == '"' {
			from, to := w.token()
			next, own := w.r.flag(decoded(w.src[from:to]).text)
			if flag = next; own > 0 && in.secret == "" {
				w.assigned(from, to, own)
				w.space()
			} else {
				w.at = start
				w.value(in)
			}
		} else {
			w.value(in)
		}
		w.r.path = w.r.path[:depth]
	}
	w.at++
}

// pair reads [name, value] of a head.
func (w *walker) pair(s scope) {
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
			in.header = name
		}
		w.r.path = append(w.r.path, crumb{name: w.r.shown(name)})
		w.value(in)
		w.r.path = w.r.path[:len(w.r.path)-1]
	}
	w.at++
	w.space()
}

// schemaNames are the members of MCP that are JSON schemas.
var schemaNames = map[string]bool{"inputSchema": true, "outputSchema": true, "requestedSchema": true}

// member says what a member's name and its object mean for the value.
func (w *walker) member(name string, s scope) scope {
	switch {
	case s.all:
		return s
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
	rule := w.r.named(name)
	if rule == "" {
		return scope{}
	}
	own := rule != nameRule
	return scope{secret: rule, all: own, number: own || numberNames[plainName(name)], scheme: isAuthorization(name)}
}

// pathRule returns the path rule that the value in work falls under.
func (r *Redactor) pathRule() string {
	for i := range r.opt.Rules {
		if rule := &r.opt.Rules[i]; rule.path != nil && fits(rule.path, r.path) {
			return rule.text
		}
	}
	return ""
}
