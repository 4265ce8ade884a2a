package redact

import (
	"bytes"
	"strings"
)

// challengeFields are header fields that ask for credentials (RFC 9110, 11.6 and 11.7).
var challengeFields = map[string]bool{"wwwauthenticate": true, "proxyauthenticate": true}

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

// challengeHits finds what a server says in its challenge in place of parameters: a
// token of its own, as with Negotiate and NTLM (RFC 4559).
func challengeHits(value []byte) (hits []hit) {
	for at := 0; at < len(value); {
		end := len(value)
		if n := bytes.IndexByte(value[at:], ','); n >= 0 {
			end = at + n
		}
		from := at + len(value[at:end]) - len(bytes.TrimLeft(value[at:end], " "))
		if n := bytes.IndexByte(value[from:end], ' '); n > 0 {
			from += n + 1
			if token := bytes.TrimRight(value[from:end], " "); isToken68(token) {
				hits = append(hits, hit{start: from, end: from + len(token), rule: "authorization"})
			}
		}
		at = end + 1
	}
	return hits
}

// isToken68 reports whether a text is the one that may stand behind a scheme (RFC
// 9110, 11.2), and long enough for a secret.
func isToken68(s []byte) bool {
	body := bytes.TrimRight(s, "=")
	return len(body) >= 8 && len(bytes.TrimLeft(body, string(token68))) == 0
}

var token68 = func() (signs []byte) {
	for c := range 256 {
		if alnum[c] || strings.IndexByte("-._~+/", byte(c)) >= 0 {
			signs = append(signs, byte(c))
		}
	}
	return signs
}()

// cookies2 finds the values of the cookies of a Set-Cookie2 (RFC 2965, 3.2.2), which
// may be several, each with attributes.
func cookies2(value []byte, rule string) (hits []hit) {
	first, quoted, from := true, false, -1
	end := func(at int) {
		if from >= 0 {
			v := value[from:at]
			inside := bytes.Trim(v, ` "`)
			start := from + len(v) - len(bytes.TrimLeft(v, ` "`))
			hits = append(hits, hit{start: start, end: start + len(inside), rule: rule})
		}
		first, from = false, -1
	}
	for i, c := range value {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '=' && first && from < 0:
			from = i + 1
		case c == ';':
			end(i)
		case c == ',':
			end(i)
			first = true
		}
	}
	end(len(value))
	return hits
}
