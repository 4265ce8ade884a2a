package redact

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// nameRule is the name of the built-in rule for names.
const nameRule = "secret-name"

func isAuthorization(name string) bool { return strings.HasSuffix(plainName(name), "authorization") }

// fieldRule returns the rule that makes the value of a header field a secret.
func (r *Redactor) fieldRule(name string) string {
	for i := range r.opt.Rules {
		if rule := &r.opt.Rules[i]; rule.header != "" && matchName(rule.header, name) {
			return rule.text
		}
	}
	return r.named(name)
}

// fieldHits finds the secrets in the value of a header field: of an Authorization
// what is behind the scheme, of cookies their values, of a URL parameters.
func (r *Redactor) fieldHits(name string, value []byte) (hits []hit) {
	rule := r.fieldRule(name)
	plain := plainName(name)
	switch {
	case rule == "" && locationFields[plain]:
		return append(r.textHits(value), locationHits(value)...)
	case rule == "":
		return r.textHits(value)
	case isAuthorization(name):
		from := 0
		if i := bytes.IndexByte(value, ' '); i > 0 {
			from = i + 1
		}
		return []hit{{start: from, end: len(value), rule: rule}}
	case plain == "cookie" || plain == "setcookie":
		return cookies(value, rule, plain == "setcookie")
	}
	return []hit{{start: 0, end: len(value), rule: rule}}
}

// lineHits finds the secrets in a header field on a line: its name and its value.
func (r *Redactor) lineHits(line []byte) (hits []hit) {
	name, _, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) > maxName || r.fieldRule(string(name)) == "" {
		return r.textHits(line)
	}
	from := len(name) + 1
	for from < len(line) && line[from] == ' ' {
		from++
	}
	for _, h := range r.fieldHits(string(name), line[from:]) {
		h.start, h.end = h.start+from, h.end+from
		hits = append(hits, h)
	}
	return hits
}

// cookies finds the values of cookies; of a Set-Cookie the first alone is one, and
// the others are attributes.
func cookies(value []byte, rule string, one bool) (hits []hit) {
	for at := 0; at < len(value); {
		end := len(value)
		if i := bytes.IndexByte(value[at:], ';'); i >= 0 {
			end = at + i
		}
		from := at
		if i := bytes.IndexByte(value[at:end], '='); i >= 0 {
			from = at + i + 1
		}
		for from < end && value[from] == ' ' {
			from++
		}
		hits = append(hits, hit{start: from, end: end, rule: rule})
		if at = end + 1; one {
			break
		}
	}
	return hits
}

// life rewrites an event of the run: its argument list, target, head and words.
func (r *Redactor) life(raw []byte) []byte {
	if !isJSON(raw) {
		return apply(raw, r.textEdits(raw))
	}
	w := walker{r: r, src: raw, life: true}
	w.space()
	w.value(scope{})
	return apply(raw, w.edits)
}

// fieldFlag stands for the rule of the next word where that is a header field, as
// behind curl's -H.
const fieldFlag = "-H"

// userFlags are flags of curl's, behind which user:password stands.
var userFlags = map[string]bool{"-u": true, "--user": true, "--proxy-user": true}

// userFlag stands for the rule of the next word there.
const userFlag = "-u"

// flag says of a word in a list of arguments which rule makes the next one a
// secret, or how long the NAME= is before one in the word itself.
func (r *Redactor) flag(s []byte) (next string, own int) {
	if string(s) == fieldFlag || string(s) == "--header" {
		return fieldFlag, 0
	}
	if userFlags[string(s)] {
		return userFlag, 0
	}
	if len(s) < 3 || len(s) > 1<<16 {
		return "", 0
	}
	name, value, assigns := bytes.Cut(s, []byte("="))
	if len(name) > maxName || len(bytes.TrimLeft(name, "-")) == 0 {
		return "", 0
	}
	for _, c := range name {
		if !word[c] && c != '.' {
			return "", 0
		}
	}
	rule := r.named(string(bytes.TrimLeft(name, "-")))
	switch {
	case rule == "" || isDir(string(name), value):
		return "", 0
	case assigns && len(name)+1 < len(s):
		return "", len(name) + 1
	case !assigns && s[0] == '-':
		return rule, 0
	}
	return "", 0
}

// userHits finds the password in a word behind a flag for user:password.
func (r *Redactor) userHits(s []byte) []hit {
	if from, to := userSecret(s, 0); to > from {
		return []hit{{start: from, end: to, rule: nameRule}}
	}
	return r.textHits(s)
}

// Header returns what a recording says of itself, with pseudonyms.
func (r *Redactor) Header(h tap.Header) tap.Header {
	r.seq, r.where, r.path, r.depth = 0, "header", r.path[:0], 0
	text := func(s string) string { return string(apply([]byte(s), r.textEdits([]byte(s)))) }
	if len(h.Command) > 0 { // first: the label may be made of it
		h.Command = r.Args(h.Command)
	}
	r.path = r.path[:0]
	h.Label, h.Upstream, h.Dir = text(h.Label), text(h.Upstream), text(h.Dir)
	return h
}

// Args returns a list of arguments with pseudonyms.
func (r *Redactor) Args(args []string) []string {
	r.seq, r.where, r.path, r.depth = 0, "header", append(r.path[:0], crumb{name: "command"}), 0
	out := make([]string, len(args))
	rule := ""
	for i, a := range args {
		next, own := r.flag([]byte(a))
		var hits []hit
		switch {
		case rule == fieldFlag:
			hits = r.lineHits([]byte(a))
		case rule == userFlag:
			hits = r.userHits([]byte(a))
		case rule != "":
			hits = []hit{{start: 0, end: len(a), rule: rule}}
		case own > 0:
			name, _, _ := strings.Cut(a, "=")
			hits = []hit{{start: own, end: len(a), rule: r.named(strings.TrimLeft(name, "-"))}}
		default:
			hits = r.textHits([]byte(a))
		}
		out[i] = string(apply([]byte(a), r.replaced([]byte(a), hits)))
		rule = next
	}
	return out
}

// locationFields are header fields that hold a URL to which somebody is sent, or from
// which he comes. What a person logs in with passes through them.
var locationFields = map[string]bool{"location": true, "contentlocation": true, "referer": true, "refresh": true, targetField: true}

// targetField is the name under which the target of a request is looked into.
const targetField = "target"

// passingParameters are the parameters of a URL that are as good as a password for a
// while, and mean something else in other places: of OAuth (RFC 6749, 8628), CAS and
// SAML.
var passingParameters = map[string]bool{
	"code": true, "state": true, "usercode": true, "assertion": true, "ticket": true, "samlresponse": true, "samlart": true, "sid": true,
}

// locationHits finds the parameters of a URL that only pass through, also of one that
// is a parameter of another.
func locationHits(value []byte) []hit {
	hits := parameterHits(value)
	if d, ok := loosely(value); ok {
		for _, h := range parameterHits(d.text) {
			h.value = d.text[h.start:h.end]
			h.start, h.end = d.spelled(h.start, h.end)
			hits = append(hits, h)
		}
	}
	return hits
}

func parameterHits(value []byte) (hits []hit) {
	for at := 0; at < len(value); {
		n := bytes.IndexAny(value[at:], "?&#;")
		if n < 0 {
			break
		}
		at += n + 1
		end := len(value)
		if n := bytes.IndexAny(value[at:], "?&#;,\"'<> "); n >= 0 {
			end = at + n
		}
		name, param, ok := bytes.Cut(value[at:end], []byte("="))
		if ok && len(name) <= maxName && passingParameters[plainName(string(name))] && passes(param) {
			hits = append(hits, hit{start: end - len(param), end: end, rule: nameRule})
		}
		at = end
	}
	return hits
}

// passes reports whether a parameter may be a secret: a country's code, the number of
// an error and the state of an issue are shorter, or words.
func passes(param []byte) bool {
	return len(param) >= 20 || len(param) >= 8 && bytes.ContainsAny(param, figureSigns)
}
