package redact

import (
	"bytes"
	"regexp"
)

// A context is a place where a secret and its name do not stand as an assignment does:
// in SQL, HTML, YAML and the like. Group 1 of its expression is the name, if there is
// one, and the last group the value.
type context struct {
	// anchors are words. A text that has none of them is not searched.
	anchors []string
	at      string
	// sentence reports that a value has to look like a secret, as words may stand there.
	sentence bool
}

var contexts = []context{
	{anchors: []string{"IDENTIFIED", "identified"}, at: `(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?()'((?:[^'\\]|\\.|'')+)'`},
	{anchors: []string{"PASSWORD '", "password '"}, at: `(?i)\bpassword\s+()'((?:[^'\\]|'')+)'`},
	{anchors: []string{"<key>"}, at: `<key>([^<>]+)</key>\s*<(?:string|data)>([^<>]+)</`},
	{anchors: []string{"ENV ", "ARG ", "env "}, at: `(?m)^[ \t]*(?:ENV|ARG|setenv)[ \t]+([\w.-]+)[ \t]+([^\s=].*?)[ \t\r]*$`},
	{anchors: []string{"**"}, at: "\\*\\*([\\w .-]+?)(?::\\*\\*|\\*\\*[ \\t]*[:=])[ \\t]*[`\"']?([^\\s`\"']+)", sentence: true},
	{anchors: []string{":="}, at: "([\\w.-]+)\\s*:=\\s*[\"'`]([^\"'`\\n]+)[\"'`]"},
	{anchors: []string{"machine "}, at: `\bmachine\s+\S+\s+login\s+\S+\s+(password)\s+(\S+)`},
	{anchors: []string{"sshpass"}, at: `\bsshpass\s+-p\s*()["']?([^\s"';|&]+)`},
	{anchors: []string{"redis-cli"}, at: `\bredis-cli\b[^\n|;&]*?\s(?:-a|--pass)\s+()["']?([^\s"';|&]+)`},
	{anchors: []string{"mysql"}, at: `\bmysql(?:dump|admin)?\b[^\n|;&]*?\s-p()["']?([^\s"';|&]+)`},
	{anchors: []string{" is ", " is: ", " is:\n"}, at: "(?i)\\b(password|passcode|passphrase|token|api[ _-]?key|secret|access key)\\s+is:?\\s+[`\"']?([^\\s`\"'<>]{6,200})", sentence: true},
}

// The expressions for an element of HTML or XML, for one of its attributes, and for the
// first line of a block of YAML.
const (
	tagExpression       = `<[A-Za-z][^<>]*>`
	attributeExpression = `([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`
	blockExpression     = `(?m)^([ \t]*)(?:-[ \t]+)?["']?([\w.-]+)["']?:[ \t]*[|>][+-]?[0-9]*[ \t]*\r?\n`
)

// expression compiles an expression when the first text needs it: most programs that
// have this package never do.
func (r *Redactor) expression(text string) *regexp.Regexp {
	x := r.expressions[text]
	if x == nil {
		x = regexp.MustCompile(text)
		if r.expressions == nil {
			r.expressions = map[string]*regexp.Regexp{}
		}
		r.expressions[text] = x
	}
	return x
}

// contextHits finds the secrets of a text that stand in a context.
func (r *Redactor) contextHits(text []byte) (hits []hit) {
	add := func(from, to int, name string, sentence bool) {
		for from < to && to-from > 1 && sentence && bytes.IndexByte([]byte(".,;:!?)"), text[to-1]) >= 0 {
			to--
		}
		value := text[from:to]
		if vacant(value) || isStandIn(value) || sentence && !telling(value) {
			return
		}
		rule := nameRule
		if name != "" {
			rule = r.named(name)
		}
		if rule != "" {
			hits = append(hits, hit{start: from, end: to, rule: rule})
		}
	}
	for i := range contexts {
		c := &contexts[i]
		if !containsAny(text, c.anchors) {
			continue
		}
		for _, m := range r.expression(c.at).FindAllSubmatchIndex(text, -1) {
			add(m[4], m[5], string(text[m[2]:m[3]]), c.sentence)
		}
	}
	if bytes.Contains(text, []byte("value=")) || bytes.Contains(text, []byte("value =")) {
		for _, m := range r.expression(tagExpression).FindAllIndex(text, -1) {
			r.tagHits(text, m[0], m[1], add)
		}
	}
	if containsAny(text, []string{": |", ": >", ":|", ":>"}) {
		for _, m := range r.expression(blockExpression).FindAllSubmatchIndex(text, -1) {
			blockHits(text, m[1], m[3]-m[2], string(text[m[4]:m[5]]), add)
		}
	}
	return hits
}

// tagHits finds the value of an element that has the name of a secret, or is a field for
// a password.
func (r *Redactor) tagHits(text []byte, start, end int, add func(from, to int, name string, sentence bool)) {
	name, from, to := "", 0, 0
	for _, m := range r.expression(attributeExpression).FindAllSubmatchIndex(text[start:end], -1) {
		at := 4
		if m[4] < 0 {
			at = 6
		}
		value := string(text[start+m[at] : start+m[at+1]])
		switch string(bytes.ToLower(text[start+m[2] : start+m[3]])) {
		case "value":
			from, to = start+m[at], start+m[at+1]
		case "type":
			if value == "password" {
				name = value
			}
		case "name", "key", "id":
			if r.named(value) != "" {
				name = value
			}
		}
	}
	if name != "" && from < to {
		add(from, to, name, false)
	}
}

// blockHits finds the lines of a block of YAML: those that are indented further than its
// name.
func blockHits(text []byte, at, indent int, name string, add func(from, to int, name string, sentence bool)) {
	for at < len(text) {
		end := lineEnd(text, at)
		line := text[at:end]
		body := len(line) - len(bytes.TrimLeft(line, " \t"))
		if len(bytes.TrimSpace(line)) > 0 {
			if body <= indent {
				return
			}
			add(at+body, at+len(bytes.TrimRight(line, " \t\r\n")), name, false)
		}
		at = end + 1
	}
}

func containsAny(text []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(text, []byte(w)) {
			return true
		}
	}
	return false
}
