package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// edits finds the secrets in a content: JSON, or any other text.
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
	rule := ""
	switch {
	case token[0] != '-' && token[0]-'0' > 9: // true, false or null
		return
	case s.secret != "" && (s.number || longNumber(token)):
		rule = s.secret
	case w.r.known.number(token):
		rule = knownRule
	default:
		return
	}
	if (!w.r.opt.Check || !maybeMadeNumber(token)) && w.r.found(rule, token) {
		w.r.known.addNumber(token, false)
		w.edits = append(w.edits, edit{start, end, w.r.namer.number(token)})
	}
}

// longNumber reports whether a number is no amount of something.
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
		w.text(start, end, scope{}) // a name may hold a secret too
		w.space()
		w.at++ // :
		w.space()
		w.r.path = append(w.r.path, crumb{name: w.r.shown(name)})
		in := w.member(name, s)
		if in.secret == nameRule && w.src[w.at] == '"' && isDir(name, []byte(w.string())) {
			in = scope{}
		}
		if plain := plainName(name); !s.schema && !s.all && in.secret == "" {
			switch {
			case pairNames[plain] && w.src[w.at] == '"':
				pair = w.paired(w.string(), pair)
			case pairValues[plain]:
				if pair == (scope{}) {
					pair = w.paired(w.nameAhead(object), pair)
				}
				if pair.secret != "" || pair.header != "" {
					in = pair
				}
			}
		}
		if w.src[w.at] == '[' && in == (scope{}) {
			switch plain := plainName(name); {
			case columnLists[plain]:
				table = w.columnsAhead()
			case rowLists[plain] && table != nil:
				in = scope{rows: table}
			}
		}
		w.value(in)
		w.r.path = w.r.path[:len(w.r.path)-1]
	}
	w.at++
}

// paired is the scope of the value that has a name.
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
	next := scope{} // what an element says of the one behind it
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
		}
		start, depth := w.at, len(w.r.path)
		if depth > 0 || w.r.nested > 1 { // a batch: paths begin at each message
			w.r.path = append(w.r.path, crumb{strconv.Itoa(i), true})
		}
		if next = (scope{}); w.src[start] == '"' {
			next = w.element(in)
		} else {
			w.value(in)
		}
		w.r.path = w.r.path[:depth]
	}
	w.at++
}

// element reads a string in an array, which may be one of a list of arguments. It
// returns what it says of the next one.
func (w *walker) element(s scope) scope {
	at := w.at
	from, to := w.token()
	text := decoded(w.src[from:to]).text
	next, own := w.r.flag(text)
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
	}
	return scope{secret: next}
}

// isPair reports whether a value within an array is a pair of a secret's name and
// its value, and nothing else.
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

// blanks are the white space of JSON.
const blanks = " \t\r\n"

// pair reads [name, value] of a head or a list.
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
			in.header = name
		}
		w.r.path = append(w.r.path, crumb{name: w.r.shown(name)})
		w.value(in)
		w.r.path = w.r.path[:len(w.r.path)-1]
	}
	w.at++
	w.space()
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
