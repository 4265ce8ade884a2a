package redact

import "bytes"

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
