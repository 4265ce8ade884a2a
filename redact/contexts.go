package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// A context is a construct of SQL, HTML, YAML or another language in which a secret and its
// name are not an assignment. Group 1 of its expression is the name, if there is one, and
// the last group the value.
type context struct {
	// anchors are words. A text without any of them is not searched.
	anchors []string
	at      string
	// sentence reports that the value must look like a secret, as ordinary words may occur
	// in its place.
	sentence bool
	// random reports that the value must look random.
	random bool
}

var contexts = []context{
	// SQL
	{anchors: []string{"IDENTIFIED", "identified"}, at: `(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?()'((?:[^'\\]|\\.|'')+)'`},
	{anchors: []string{"IDENTIFIED BY", "identified by"}, at: `(?i)\b(?:create|alter)\s+user\s+(?:if\s+(?:not\s+)?exists\s+)?\S+\s+identified\s+by\s+()"?([^\s"';,]+)`, sentence: true},
	{anchors: []string{"PASSWORD '", "password '", "SECRET '", "TOKEN '"}, at: `(?i)\b(?:password|secret|session_token)\s+()'((?:[^'\\]|'')+)'`},
	{anchors: []string{"SET PASSWORD", "set password"}, at: `(?i)\bset\s+password\s+for\s+\S+\s*=\s*(?:password\s*\(\s*)?()'((?:[^'\\]|'')+)'`},
	// XML
	{anchors: []string{"<key>"}, at: `<key>([^<>]+)</key>\s*<(?:string|data)>([^<>]+)</`},
	{anchors: []string{"name>"}, at: `<(?:[\w-]+-)?name>\s*([\w:.-]+)\s*</(?:[\w-]+-)?name>\s*<(?:[\w-]+-)?value>([^<>]+)</`},
	{anchors: []string{"AttributeValue", "<value"}, at: `\b(?:[Nn]ame|key)="([\w:.-]+)"[^<>]*>\s*<(?:\w+:)?(?:AttributeValue|value)\b[^<>]*>([^<>]+)<`},
	{anchors: []string{"name=\"", "key=\""}, at: `<(?:string|property|entry|item|param|var)\s[^<>]*?\b(?:name|key)="([\w.-]+)"[^<>]*>([^<>]+)</`},
	{anchors: []string{"</"}, at: `<(?:\w+:)?([\w.-]+)\s[^<>]*>([^<>\s]+)</`},
	// Forms with several parts, and files of cookies
	{anchors: []string{"form-data"}, at: `(?i)content-disposition: *form-data;[^\r\n]*?\bname="([^"\r\n]+)"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n([^\r\n]+)`},
	{anchors: []string{"Signature="}, at: `[?&]Signature=()([^&#\s"'<>\\]{16,})`},
	{anchors: []string{"TRUE\t"}, at: `\t(?:TRUE|FALSE)\t[^\t\r\n]*\t(?:TRUE|FALSE)\t-?\d+\t[^\t\r\n]+\t()([^\t\r\n]+)`},
	// Settings and code
	{anchors: []string{"ENV ", "ARG ", "env ", "setx "}, at: `(?m)^[ \t]*(?:ENV|ARG|setenv|setx)[ \t]+([\w.-]+)[ \t]+([^\s=].*?)[ \t\r]*$`},
	{anchors: []string{"value:"}, at: `(?m)^[ \t]*-[ \t]+name:[ \t]*["']?([\w.-]+)["']?[ \t]*\r?\n[ \t]*value:[ \t]*["']?([^\s"'#&*|>{\[][^"'\r\n]*?)["']?[ \t]*(?:[ \t]#.*)?\r?$`},
	{anchors: []string{"define "}, at: `(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+"([^"\n]+)"`, sentence: true},
	{anchors: []string{"process.env", "getenv(", "environ"}, at: "(?:process\\.env|getenv|environ(?:\\.get)?)[.\\[(][\"']?(\\w+)[\"'\\])]*\\s*(?:\\|\\||\\?\\?|\\bor\\b)\\s*[\"'`]([^\"'`\\n]+)[\"'`]"},
	{anchors: []string{"set -"}, at: `\bset\s+-\w+\s+([\w.-]+)\s+["']?([^\s"']+)`},
	{anchors: []string{"variable \""}, at: `\bvariable\s+"([\w.-]+)"\s*\{[^{}]*?\bdefault\s*=\s*"([^"\n]+)"`},
	{anchors: []string{":="}, at: "([\\w.-]+)\\s*:=\\s*[\"'`]([^\"'`\\n]+)[\"'`]"},
	{anchors: []string{"SecureString"}, at: `\bConvertTo-SecureString\s+(?:-String\s+)?()["']([^"'\n]+)["']`},
	{anchors: []string{"auth=(", "auth = (", "BasicAuth("}, at: `(?:\bauth\s*=\s*|BasicAuth)\(\s*["'][^"'\n]*["']\s*,\s*()["']([^"'\n]+)["']`},
	{anchors: []string{"(\"", "('"}, at: `\(["']([\w.-]+)["']\s*,\s*["']([^"'\s]+)["']`, sentence: true},
	{anchors: []string{".fill(", ".type(", ".pressSequentially("}, at: "(?i)password[^\n]{0,80}?\\)\\.(?:fill|type|pressSequentially)\\(()[\"'`]([^\"'`\\n]+)[\"'`]"},
	{anchors: []string{".fill(", ".type("}, at: "(?i)\\.(?:fill|type)\\(\\s*[\"'`][^\n,]{0,80}?password[^\n,]{0,20}?[\"'`]\\s*,\\s*()[\"'`]([^\"'`\\n]+)[\"'`]"},
	{anchors: []string{"Private-Lines"}, at: `Private-Lines: \d+()\r?\n((?:[A-Za-z0-9+/=]+\r?\n)*[A-Za-z0-9+/=]+)(?:\r?\n|$)`},
	{anchors: []string{"machine ", "default login"}, at: `(?:\bmachine\s+\S+|\bdefault)\s+login\s+\S+\s+(password)\s+(\S+)`},
	{anchors: []string{"oracle:thin"}, at: `\boracle:thin:\w+/()([^\s@"']+)@`},
	{anchors: []string{"@tcp(", "@unix("}, at: "[\\w.-]+:()([^\\s\"'`]+)@(?:tcp|unix)\\("},
	// Commands
	{anchors: []string{"sshpass"}, at: `\bsshpass\s+-p\s*()["']?([^\s"';|&]+)`},
	{anchors: []string{"redis-cli"}, at: `\bredis-cli\b[^\n|;&]*?\s(?:-a|--pass)\s+()["']?([^\s"';|&]+)`},
	{anchors: []string{"mysql"}, at: `\bmysql(?:dump|admin)?\b[^\n|;&]*?\s-p()["']?([^\s"';|&]+)`},
	{anchors: []string{" login "}, at: `\b(?:docker|podman|az|registry|oc)\s+login\b[^\n|;&]*?\s-p\s+()["']?([^\s"';|&]+)`},
	{anchors: []string{"--password-stdin"}, at: `\becho\s+()["']?([^\s"'|]+)["']?\s*\|[^\n]*--password-stdin`},
	{anchors: []string{"sqlcmd"}, at: `\bsqlcmd\b[^\n|;&]*?\s-P\s*()["']?([^\s"';|&]+)`},
	{anchors: []string{"ldap"}, at: `\bldap(?:search|modify|add|whoami)\b[^\n|;&]*?\s-w\s+()["']?([^\s"';|&]+)`},
	{anchors: []string{"configure set", "config set"}, at: `\bconfig(?:ure)? set\s+([\w.-]+)\s+["']?([^\s"']+)`},
	{anchors: []string{"curl "}, at: `\bcurl\b[^\n|;]*?\s-(?:u|[sSkLivfgN]+u ?)()["']?[^\s"':]+:([^\s"']+)`},
	{anchors: []string{"curl "}, at: `\bcurl\b[^\n|]*?\s(?:-b|--cookie)[ =]["']?[\w.-]+=()([^\s"']+(?:;\s*[\w.-]+=[^\s"';]+)*)`},
	{anchors: []string{"--key"}, at: `\s--key[ =]()["']?([^\s"']+)`, random: true},
	{anchors: []string{"_KEY="}, at: `\b[A-Z][A-Z0-9_]*_KEY=()["']?([^\s"'\\]+)`, random: true},
	{anchors: []string{"http -a ", "https -a ", "--auth "}, at: `\bhttps?\s[^\n|;]*?(?:-a|--auth)\s+()["']?[^\s"':]+:([^\s"']+)`},
	{anchors: []string{"mongosh", "cqlsh"}, at: `\b(?:mongosh|cqlsh)\b[^\n|;&]*?\s-p\s+()["']?([^\s"';|&]+)`},
	{anchors: []string{"zip -P"}, at: `\b(?:un)?zip\s+-P\s*()["']?([^\s"';|&]+)`},
	{anchors: []string{"sudo -S"}, at: `\becho\s+()["']?([^\s"'|]+)["']?\s*\|\s*sudo -S`},
	{anchors: []string{"chpasswd"}, at: `\becho\s+()["']?[^\s"':|]+:([^\s"'|]+)["']?\s*\|[^\n]*\bchpasswd`},
	{anchors: []string{"htpasswd -"}, at: `\bhtpasswd -\w*b\w*\s[^\n|;&>]*?\s()["']?([^\s"';|&>]+)["']?[ \t]*(?:[\r\n|;&>]|$)`},
	// Sentences
	{anchors: []string{"**"}, at: "\\*\\*([\\w .-]+?)(?::\\*\\*|\\*\\*[ \\t]*[:=])[ \\t]*[`\"']?([^\\s`\"']+)", sentence: true},
	{anchors: []string{"sword is", "scode is", "phrase is", "oken is", "ey is", "cret is"}, at: "(?i)\\b(password|passcode|passphrase|token|api[ _-]?key|secret|access key)\\s+is:?\\s+[`\"']?([^\\s`\"'<>]{6,200})", sentence: true},
	{anchors: []string{"sword for ", "sword of ", "scode for ", "scode of ", "phrase for ", "phrase of ", "ey for ", "ey of "}, at: "(?i)\\b(password|passcode|passphrase|api[ _-]?key)\\s+(?:for|of)\\s+[^\\s:]{1,60}:\\s+[`\"']?([^\\s`\"'<>]{6,200})", sentence: true},
	{anchors: []string{"code is", "code: "}, at: `(?i)\b(?:one-time|verification|security|login|access|authentication|confirmation|otp|2fa)\s+(?:pass)?code(?:\s+is:?|:)\s+()\*{0,2}([0-9]{4,10}\b)`},
	{anchors: []string{"sword \"", "sword '", "sword `", "phrase \"", "phrase '", "phrase `", "scode \"", "scode '", "scode `"}, at: "(?i)\\b((?:store|key)?password|passcode|passphrase)\\s+[`\"']([^`\"'\\n]{6,200})[`\"']", sentence: true},
	{anchors: []string{"oken \"", "oken '", "oken `", "ey \"", "ey '", "ey `", "cret \"", "cret '", "cret `"}, at: "(?i)\\b(?:invalid|bad|wrong|incorrect|expired|using)\\s+(?:api[ _-]?)?()(?:token|key|secret)\\s+[`\"']([^`\"'\\s]{6,200})[`\"']", sentence: true},
}

// The expressions for an element of HTML or XML, for one of its attributes, and for the
// first line of a block of YAML.
const (
	tagExpression       = `<[A-Za-z][^<>]*>`
	attributeExpression = `([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`
	blockExpression     = `(?m)^([ \t]*)(?:-[ \t]+)?["']?([\w.-]+)["']?:[ \t]*(?:[|>][+-]?[0-9]*)?[ \t]*\r?\n`
	secretExpression    = `(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n`
	insertExpression    = `(?i)\binsert\s+into\s+[^\s(]+\s*\(([^()]{1,1000})\)\s*values\s*`
)

// expression compiles an expression when it is first needed, since most programs that use
// this package never need it.
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

// maxWindow is the maximum distance of a secret from the anchor of its context, in bytes.
const maxWindow = 1 << 10

// windows are the lines around the anchors in a text, in order and without overlaps.
type windows []span

// add adds the surroundings of a part of a text. Parts must be added in order.
func (w *windows) add(text []byte, start, end int) {
	if n := len(*w); n > 0 && end <= (*w)[n-1].end-maxWindow/2 {
		return
	}
	from, to := max(0, start-maxWindow), min(len(text), end+maxWindow)
	if from > 0 {
		from += bytes.IndexByte(text[from:start], '\n') + 1
	}
	if to < len(text) {
		if n := bytes.LastIndexByte(text[end:to], '\n'); n >= 0 {
			to = end + n + 1
		}
	}
	if n := len(*w); n > 0 && from <= (*w)[n-1].end {
		(*w)[n-1].end = max(to, (*w)[n-1].end)
		return
	}
	*w = append(*w, span{from, to})
}

// contextHits finds the secrets of the contexts in a window of a text. read is the end of
// the blocks and rows that were read past their windows, so that each is read once.
func (r *Redactor) contextHits(all []byte, in span, read *int) (hits []hit) {
	add := func(from, to int, name string, sentence bool) {
		for from < to && to-from > 1 && sentence && bytes.IndexByte([]byte(".,;:!?)"), all[to-1]) >= 0 {
			to--
		}
		for from < to && all[to-1] == '\\' {
			to--
		}
		value := all[from:to]
		if vacant(value) || isStandIn(value) || sentence && !searchable(value) {
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
	text := all[in.start:in.end]
	// each calls fn with the positions of the groups of an expression.
	each := func(expression string, fn func(m []int)) {
		for _, m := range r.expression(expression).FindAllSubmatchIndex(text, -1) {
			for i := range m {
				if m[i] >= 0 {
					m[i] += in.start
				}
			}
			fn(m)
		}
	}
	for i := range contexts {
		if c := &contexts[i]; containsAny(text, c.anchors) {
			each(c.at, func(m []int) {
				if !c.random || LooksRandom(string(all[m[4]:m[5]])) {
					add(m[4], m[5], string(all[m[2]:m[3]]), c.sentence)
				}
			})
		}
	}
	if containsAny(text, []string{"value=", "value =", "content="}) {
		each(tagExpression, func(m []int) { r.tagHits(all, m[0], m[1], add) })
	}
	if containsAny(text, []string{": |", ": >", ":|", ":>", ":\n", ":\r\n"}) {
		each(blockExpression, func(m []int) {
			if name := string(all[m[4]:m[5]]); m[0] >= *read && r.named(name) != "" {
				list := !bytes.ContainsAny(all[m[5]:m[1]], "|>")
				*read = blockHits(all, m[1], m[3]-m[2], name, list, add)
			}
		})
	}
	if containsAny(text, []string{"kind: Secret"}) {
		each(secretExpression, func(m []int) {
			if m[0] >= *read {
				*read = secretData(all, m[1], m[3]-m[2], add)
			}
		})
	}
	if containsAny(text, []string{"insert into", "INSERT INTO", "Insert into"}) {
		each(insertExpression, func(m []int) {
			if m[0] >= *read {
				*read = r.insertHits(all, string(all[m[2]:m[3]]), m[1], add)
			}
		})
	}
	return hits
}

// tagHits finds the value of an element that has the name of a secret or is a password
// field.
func (r *Redactor) tagHits(text []byte, start, end int, add func(from, to int, name string, sentence bool)) {
	name, from, to := "", 0, 0
	for _, m := range r.expression(attributeExpression).FindAllSubmatchIndex(text[start:end], -1) {
		at := 4
		if m[4] < 0 {
			at = 6
		}
		value := string(text[start+m[at] : start+m[at+1]])
		switch string(bytes.ToLower(text[start+m[2] : start+m[3]])) {
		case "value", "content":
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

// blockHits finds the lines of a YAML block: those that are indented further than its name,
// or at least as far for a list. It returns the end of the text that it read.
func blockHits(text []byte, at, indent int, name string, list bool, add func(from, to int, name string, sentence bool)) int {
	for at < len(text) {
		end := lineEnd(text, at)
		line := text[at:end]
		body := len(line) - len(bytes.TrimLeft(line, " \t"))
		if len(bytes.TrimSpace(line)) > 0 {
			element := bytes.HasPrefix(line[body:], []byte("- "))
			if list && !element || body < indent || body == indent && !list {
				return at
			}
			from, to := at+body, at+len(bytes.TrimRight(line, " \t\r\n"))
			if list {
				from = min(from+2, to)
				if bytes.IndexByte(text[from:to], ':') >= 0 || bytes.IndexByte(text[from:to], ' ') >= 0 {
					return at
				}
			}
			add(from, to, name, list)
		}
		at = end + 1
	}
	return at
}

// secretData finds the values of a Secret of Kubernetes below its data at an offset. It returns the end of the
// text that it read.
func secretData(text []byte, at, indent int, add func(from, to int, name string, sentence bool)) int {
	for at < len(text) {
		end := endOfLine(text, at)
		line := bytes.TrimRight(text[at:end], " \t\r")
		body := bytes.TrimLeft(line, " ")
		name, value, ok := bytes.Cut(body, []byte(": "))
		if len(body) > 0 && len(line)-len(body) <= indent {
			return at
		}
		if quoted := bytes.Trim(value, " \"'"); ok && !describing[plainName(string(name))] && len(quoted) > 1 {
			from := at + len(line) - len(value) + bytes.Index(value, quoted)
			add(from, from+len(quoted), "", false)
		}
		at = end + 1
	}
	return at
}

// maxColumns is the maximum number of columns of an INSERT that are read.
const maxColumns = 100

// insertHits finds the quoted values of an INSERT in the columns of secrets, in the rows
// that begin at an offset. It returns the end of the text that it read.
func (r *Redactor) insertHits(text []byte, columns string, at int, add func(from, to int, name string, sentence bool)) int {
	names := strings.Split(columns, ",")
	secret := false
	for i, n := range names {
		names[i] = strings.Trim(n, " \t\r\n\"`[]")
		secret = secret || r.named(names[i]) != ""
	}
	if !secret || len(names) > maxColumns {
		return at
	}
	column, depth := 0, 0
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\'' && depth == 1:
			from := at + 1
			for at = from; at < len(text) && (text[at] != '\'' || at+1 < len(text) && text[at+1] == '\''); at++ {
				if text[at] == '\'' || text[at] == '\\' {
					at++
				}
			}
			if at = min(at, len(text)); column < len(names) && r.named(names[column]) != "" {
				add(from, at, names[column], false)
			}
		case c == '(':
			if depth++; depth == 1 {
				column = 0
			}
		case c == ')':
			depth--
		case c == ',' && depth == 1:
			column++
		case depth == 0 && c != ',' && c != ' ' && c != '\n' && c != '\r' && c != '\t':
			return at
		}
	}
	return at
}

func containsAny(text []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(text, []byte(w)) {
			return true
		}
	}
	return false
}
