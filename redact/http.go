package redact

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// nameRule is the name of the built-in rule for names.
const nameRule = "secret-name"

func isAuthorization(name string) bool { return strings.HasSuffix(plainName(name), "authorization") }

// fieldRule returns the rule that makes the value of a header field a secret, "" for none.
func (r *Redactor) fieldRule(name string) string {
	for i := range r.opt.Rules {
		if rule := &r.opt.Rules[i]; rule.header != "" && matchName(rule.header, name) {
			return rule.text
		}
	}
	return r.named(name)
}

// fieldHits finds the secrets in the value of a header field: the credentials after an
// authentication scheme, the values of cookies, the parameters of a URL.
func (r *Redactor) fieldHits(name string, value []byte) (hits []hit) {
	rule := r.fieldRule(name)
	plain := plainName(name)
	switch {
	case rule == "" && locationFields[plain]:
		return r.urlHits(value)
	case rule == "" && plain == "secwebsocketprotocol":
		return append(r.textHits(value), protocolHits(value)...)
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

// lineHits finds the secrets in a line with the name and value of a header field.
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

// cookies finds the values of cookies. If one is set, the text is a Set-Cookie: only the
// first pair is a cookie, the others are attributes.
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

// lifecycle redacts a lifecycle event: its argument list, target, header and texts.
func (r *Redactor) lifecycle(raw []byte) []byte {
	if !isJSON(raw) {
		return apply(raw, r.textEdits(raw))
	}
	w := walker{r: r, src: raw, lifecycle: true}
	w.space()
	w.value(scope{})
	return apply(raw, w.edits)
}

// fieldFlag stands for the rule of an argument that is a header field, as after curl's -H.
const fieldFlag = "-H"

// userFlags are the flags of curl that take user:password.
var userFlags = map[string]bool{"-u": true, "--user": true, "--proxy-user": true}

// isUserFlag reports whether an argument is such a flag, also after others as in -su.
func isUserFlag(s string) bool {
	others, ok := strings.CutSuffix(s, "u")
	return userFlags[s] || ok && len(others) > 1 && s[0] == '-' && strings.Trim(others[1:], "sSkLivfgN") == ""
}

// userFlag stands for the rule of an argument that is user:password.
const userFlag = "-u"

// keyFlag stands for the rule of an argument that is a key if it looks random, as after --key.
const keyFlag = "--key"

// mysqlPrograms are programs whose flag -p has the password without a space.
var mysqlPrograms = setOf("mysql mysqldump mysqladmin mysqlsh mariadb mariadb-dump")

// ownPassword returns the offset of the password in an argument such as -psecret of a program.
func ownPassword(s []byte) int {
	if len(s) > 2 && string(s[:2]) == "-p" && s[2] != '-' {
		return 2
	}
	return 0
}

// isMySQL reports whether an argument is the path of such a program.
func isMySQL(s []byte) bool { return mysqlPrograms[string(s[bytes.LastIndexByte(s, '/')+1:])] }

// flag returns the rule that a word in an argument list sets for the next one, or the
// length of NAME= if the word itself has the secret.
func (r *Redactor) flag(s []byte) (next string, own int) {
	if string(s) == fieldFlag || string(s) == "--header" {
		return fieldFlag, 0
	}
	if isUserFlag(string(s)) {
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
	plain := string(bytes.TrimLeft(name, "-"))
	rule := r.named(plain)
	switch {
	case rule == "" && assigns && IsKey(plain) && LooksRandom(string(value)):
		return "", len(name) + 1
	case rule == "" && !assigns && s[0] == '-' && IsKey(plain):
		return keyFlag, 0
	case rule == "" || isDir(string(name), value):
		return "", 0
	case assigns && len(name)+1 < len(s):
		return "", len(name) + 1
	case !assigns && s[0] == '-':
		return rule, 0
	}
	return "", 0
}

// userHits finds the password in an argument that is user:password.
func (r *Redactor) userHits(s []byte) []hit {
	if from, to := userSecret(s, 0); to > from {
		return []hit{{start: from, end: to, rule: nameRule}}
	}
	return r.textHits(s)
}

// Header returns the header of a recording with pseudonyms.
func (r *Redactor) Header(h tap.Header) tap.Header {
	r.seq, r.where, r.path, r.depth = 0, "header", r.path[:0], 0
	text := func(s string) string { return string(apply([]byte(s), r.textEdits([]byte(s)))) }
	if len(h.Command) > 0 { // first, as the label may be derived from it
		h.Command = r.Args(h.Command)
	}
	r.path = r.path[:0]
	h.Upstream = string(apply([]byte(h.Upstream), r.replaced([]byte(h.Upstream), r.argumentHits([]byte(h.Upstream)))))
	h.Label, h.Dir = text(h.Label), text(h.Dir)
	return h
}

// ownRule returns the rule of an argument that has its secret after its name.
func (r *Redactor) ownRule(argument string) string {
	name, _, _ := strings.Cut(argument, "=")
	return cmp.Or(r.named(strings.TrimLeft(name, "-")), nameRule)
}

// Args returns a list of arguments with pseudonyms.
func (r *Redactor) Args(args []string) []string {
	r.seq, r.where, r.path, r.depth = 0, "header", append(r.path[:0], crumb{name: "command"}), 0
	out := make([]string, len(args))
	rule, mysql := "", false
	for i, a := range args {
		next, own := r.flag([]byte(a))
		if mysql = mysql || isMySQL([]byte(a)); mysql && own == 0 {
			own = ownPassword([]byte(a))
		}
		var hits []hit
		switch {
		case rule == fieldFlag:
			hits = r.lineHits([]byte(a))
		case rule == userFlag:
			hits = r.userHits([]byte(a))
		case rule != "" && (rule != keyFlag || LooksRandom(a)):
			hits = []hit{{start: 0, end: len(a), rule: cmp.Or(strings.TrimPrefix(rule, keyFlag), nameRule)}}
		case own > 0:
			hits = []hit{{start: own, end: len(a), rule: r.ownRule(a)}}
		default:
			hits = r.argumentHits([]byte(a))
		}
		out[i] = string(apply([]byte(a), r.replaced([]byte(a), hits)))
		rule = next
	}
	return out
}

// locationFields are the header fields with URLs of redirects and referrers, through which
// credentials of a login pass.
var locationFields = map[string]bool{"location": true, "contentlocation": true, "referer": true, "refresh": true, targetField: true}

// targetField stands for the request target among the names of header fields.
const targetField = "target"

// passingParameters are the URL parameters of OAuth (RFC 6749, 8628), CAS and SAML that
// serve as credentials for a short time, and the keys of services. In other places the names
// have other meanings.
var passingParameters = map[string]bool{
	"code": true, "state": true, "usercode": true, "assertion": true, "ticket": true, "samlresponse": true, "samlart": true, "sid": true,
	"key": true,
}

// locationHits finds such parameters in a URL, also in a URL that is a parameter of
// another.
func locationHits(value []byte) []hit {
	hits := parameterHits(value, false)
	if d, ok := loosely(value); ok {
		for _, h := range parameterHits(d.text, false) {
			h.value = d.text[h.start:h.end]
			h.start, h.end = d.spelled(h.start, h.end)
			hits = append(hits, h)
		}
	}
	return hits
}

// parameterHits finds such parameters in a URL or a form, which begins with one.
func parameterHits(value []byte, form bool) (hits []hit) {
	for at := 0; at < len(value); {
		if n := bytes.IndexAny(value[at:], "?&#;"); at > 0 || !form {
			if n < 0 {
				break
			}
			at += n + 1
		}
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

// passes reports whether a parameter may be a secret. Country codes, error numbers and
// states of issues are shorter, or words.
func passes(param []byte) bool {
	return len(param) >= 20 || len(param) >= 8 && bytes.ContainsAny(param, figureSigns)
}
