package streamable

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// maxSecretBody is the most bytes of a body that are kept for masking. Bodies
// with tokens are a few KiB; of one that is larger only the size is recorded.
const maxSecretBody = 64 << 10

// secretNames are the parameters of OAuth, of the sessions of HTTP+SSE and of
// signed URLs whose values are secret: in URLs, in forms and in JSON. Lower case.
var secretNames = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range []string{
		"access_token", "refresh_token", "id_token", "token", "registration_access_token",
		"client_secret", "client_assertion", "assertion", "subject_token", "actor_token",
		"code", "code_verifier", "device_code", "user_code", "state", "password",
		"api_key", "api-key", "apikey", "key", "sessionid", "session_id", "sid",
		"sig", "signature", "x-amz-signature", "x-amz-security-token", "x-goog-signature",
	} {
		set[name] = true
	}
	return set
}()

func isSecretName(name string) bool { return secretNames[strings.ToLower(name)] }

// secretPaths are the last or last but one segments of the paths of endpoints
// whose bodies have such parameters (RFC 6749, 7009, 7591, 7592, 7662, 8628,
// 9126).
var secretPaths = map[string]bool{
	"token": true, "tokens": true, "register": true, "registration": true,
	"revoke": true, "revocation": true, "introspect": true, "introspection": true,
	"par": true, "authorize": true, "authorization": true,
	"device_authorization": true, "login": true, "callback": true,
}

// hasSecretPath reports whether a request's target is such an endpoint.
func hasSecretPath(target string) bool {
	if _, rest, ok := absoluteTarget(target); ok {
		target = rest
	}
	path, _, _ := strings.Cut(target, "?")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for _, s := range segments[max(0, len(segments)-2):] {
		if secretPaths[strings.ToLower(s)] {
			return true
		}
	}
	return false
}

const typeForm = "application/x-www-form-urlencoded"

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// url masks the user and the parameters of a URL, or of a request target, and
// says which.
func (m *masker) url(raw string) (masked string, names []string) {
	if m.keep {
		return raw, nil
	}
	place, params := raw, ""
	if start := strings.IndexAny(raw, "?#") + 1; start > 0 {
		place = raw[:start]
		params, names = m.form(raw[start:])
	}
	if scheme, rest, ok := strings.Cut(place, "//"); ok && (scheme == "" || strings.HasSuffix(scheme, ":")) {
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if at := strings.LastIndexByte(rest[:end], '@'); at > 0 {
			place = scheme + "//" + m.pseudonym(rest[:at]) + rest[at:]
			names = append(names, "user")
		}
	}
	return place + params, names
}

// form masks the values of a list of parameters. Everything else stays as it
// is.
func (m *masker) form(raw string) (masked string, names []string) {
	var b strings.Builder
	for raw != "" {
		end := strings.IndexAny(raw, "&#;")
		separator := ""
		if end < 0 {
			end = len(raw)
		} else {
			separator = raw[end : end+1]
		}
		name, value, _ := strings.Cut(raw[:end], "=")
		if plain := unescape(name); isSecretName(plain) && value != "" {
			b.WriteString(name + "=" + m.pseudonym(unescape(value)))
			names = appendNew(names, plain)
		} else {
			b.WriteString(raw[:end])
		}
		b.WriteString(separator)
		raw = raw[end+len(separator):]
	}
	return b.String(), names
}

// unnamed masks a body of which nobody says whether it is a form or JSON.
func (m *masker) unnamed(p []byte) (masked []byte, names []string) {
	if at := skipSpace(p, 0); at < len(p) && (p[at] == '{' || p[at] == '[') {
		return m.json(p)
	}
	form, names := m.form(string(p))
	return []byte(form), names
}

// unescape is [url.QueryUnescape] that takes what is not escaped by the book as
// it is.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// appendNew appends s unless the list has it, in upper case or lower.
func appendNew(list []string, s string) []string {
	for _, have := range list {
		if strings.EqualFold(have, s) {
			return list
		}
	}
	return append(list, s)
}

// json masks the strings that stand behind secret names, at any depth. It reads
// what is not JSON, or is cut off, just as well, and leaves all else as it is.
func (m *masker) json(p []byte) (masked []byte, names []string) {
	out := make([]byte, 0, len(p)+64)
	for i := 0; i < len(p); {
		quote := bytes.IndexByte(p[i:], '"')
		if quote < 0 {
			return append(out, p[i:]...), names
		}
		end := stringEnd(p, i+quote)
		name, value := p[i+quote:end], skipSpace(p, end)
		out = append(out, p[i:end]...)
		i = end
		if value == len(p) || p[value] != ':' || !isSecretName(plainString(name)) {
			continue
		}
		if value = skipSpace(p, value+1); value == len(p) {
			continue
		}
		if end = secretEnd(p, value); end == value || string(p[value:end]) == `""` {
			continue
		}
		out = append(out, p[i:value]...)
		out = append(out, '"')
		out = append(out, m.pseudonym(plainString(p[value:end]))...)
		out = append(out, '"')
		names = appendNew(names, plainString(name))
		i = end
	}
	return out, names
}

// secretEnd returns where the value at p[i] ends if it can hold a secret: a
// string, or a list or an object with all that is in it. Numbers and words
// cannot; error codes are numbers.
func secretEnd(p []byte, i int) int {
	switch p[i] {
	case '"':
		return stringEnd(p, i)
	case '[', '{':
	default:
		return i
	}
	depth := 0
	for i < len(p) {
		switch p[i] {
		case '"':
			i = stringEnd(p, i)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
	return len(p)
}

// stringEnd returns where the string that begins at p[i] ends, quote included.
func stringEnd(p []byte, i int) int {
	for i++; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p)
}

func skipSpace(p []byte, i int) int {
	for i < len(p) && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n') {
		i++
	}
	return i
}

// plainString returns what a JSON string says. What is none is taken as it is,
// without its quotes.
func plainString(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.Trim(string(raw), `"`)
}
