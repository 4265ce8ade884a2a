package record

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/redact"
)

// passingNames are parameters of OAuth, of HTTP+SSE sessions and of signed URLs that are
// secret in URLs, forms and OAuth JSON, in addition to those of [redact.SecretName]. In
// other contexts the names have other meanings. They are in lower case.
var passingNames = map[string]bool{
	"assertion": true, "code": true, "user_code": true, "state": true, "sid": true, "sig": true, "signature": true,
}

func isSecretName(name string) bool {
	lower := strings.ToLower(name)
	return passingNames[lower] || strings.HasSuffix(lower, ".sid") || redact.SecretName(name) || redact.IsKey(name)
}

// secretPaths are the last or second last path segments of endpoints whose bodies have such
// parameters (RFC 6749, 7009, 7591, 7592, 7662, 8628, 9126).
var secretPaths = map[string]bool{
	"token": true, "tokens": true, "register": true, "registration": true,
	"revoke": true, "revocation": true, "introspect": true, "introspection": true,
	"par": true, "authorize": true, "authorization": true,
	"device_authorization": true, "login": true, "callback": true,
	"access_token": true, "accesstoken": true, "refresh": true, "oauth": true, "signin": true, "sign-in": true, "bc-authorize": true,
	"refresh_token": true, "revoke_token": true, "device": true, "clients-registrations": true,
	"authenticate": true, "session": true, "sessions": true, "signup": true, "sign-up": true,
}

// hasSecretPath reports whether a request target is such an endpoint.
func hasSecretPath(target string) bool {
	if u, err := url.Parse(target); err == nil {
		target = u.EscapedPath()
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

const (
	typeForm      = "application/x-www-form-urlencoded"
	typeMultipart = "multipart/form-data"
)

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// url masks the user, the parameters and the random-looking path segments of a URL or
// request target, and returns their names.
func (m *Masker) url(raw string) (masked string, names []string) { return m.urlIn(raw, 0) }

// urlIn is url for a URL inside of depth others.
func (m *Masker) urlIn(raw string, depth int) (masked string, names []string) {
	place, params := raw, ""
	if start := strings.IndexAny(raw, "?#") + 1; start > 0 {
		place = raw[:start]
		params, names = m.formIn(raw[start:], depth)
	}
	authority, path := "", place
	if scheme, rest, ok := strings.Cut(place, "//"); ok && (scheme == "" || strings.HasSuffix(scheme, ":")) {
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		authority, path = scheme+"//"+rest[:end], rest[end:]
		if at := strings.LastIndexByte(rest[:end], '@'); at > 0 {
			authority = scheme + "//" + m.pseudonym(rest[:at]) + rest[at:end]
			names = append(names, "user")
		}
	}
	path = pathParameter.ReplaceAllStringFunc(path, func(s string) string {
		name, value, _ := strings.Cut(s[1:], "=")
		if !isSecretName(unescape(name)) {
			return s
		}
		names = append(names, unescape(name))
		return ";" + name + "=" + m.named(unescape(name), unescape(value))
	})
	path, random := m.path(path)
	if random {
		names = append(names, "path")
	}
	return authority + path + params, names
}

// path masks the random-looking segments of a path. Some servers have a key in their path.
func (m *Masker) path(path string) (out string, masked bool) {
	segments := strings.FieldsFunc(path, isSlash)
	if !slices.ContainsFunc(segments, redact.LooksRandom) {
		return path, false
	}
	var b strings.Builder
	for path != "" {
		end := strings.IndexFunc(path, isSlash)
		if end < 0 {
			end = len(path)
		}
		if redact.LooksRandom(path[:end]) {
			b.WriteString(m.pseudonym(unescape(path[:end])))
		} else {
			b.WriteString(path[:end])
		}
		if path = path[end:]; path != "" {
			b.WriteByte(path[0])
			path = path[1:]
		}
	}
	return b.String(), true
}

// isSlash reports whether a rune ends a path segment, which includes ? and #.
func isSlash(r rune) bool { return r == '/' || r == '?' || r == '#' }

// pathParameter matches a parameter of a path, such as ;jsessionid=….
var pathParameter = regexp.MustCompile(`;[\w.%-]+=[^;/?#]+`)

// form masks the values of a list of parameters. Everything else is unchanged.
func (m *Masker) form(raw string) (masked string, names []string) { return m.formIn(raw, 0) }

func (m *Masker) formIn(raw string, depth int) (masked string, names []string) {
	var b strings.Builder
	for raw != "" {
		end := strings.IndexAny(raw, "&#;")
		separator := ""
		if end < 0 {
			end = len(raw)
		} else {
			separator = raw[end : end+1]
		}
		name, value, ok := strings.Cut(raw[:end], "=")
		sign := ""
		if ok {
			sign = "="
		}
		plain, text := unescape(name), unescape(value)
		switch {
		case value != "" && (isSecretName(plain) || isObject(text) || ticketNames[strings.ToLower(plain)] && passes(text)):
			value = m.named(plain, text)
			names = appendNew(names, plain)
		default:
			open := m.parameter(value, text, depth)
			if open != value {
				names = appendNew(names, plain)
			}
			value = open
		}
		b.WriteString(name + sign + value)
		b.WriteString(separator)
		raw = raw[end+len(separator):]
	}
	return b.String(), names
}

// ticketNames are parameters that are secret if their value is long.
var ticketNames = map[string]bool{"ticket": true, "session": true}

func passes(value string) bool {
	return len(value) >= 8 && strings.ContainsAny(value, "0123456789") || len(value) >= 20
}

// maxURLs is the maximum depth of URLs in parameters of URLs.
const maxURLs = 3

// parameter masks the secrets in a parameter, whose text has no escapes: those of a URL, and keys of services.
func (m *Masker) parameter(value, text string, depth int) string {
	if strings.Contains(text, "://") || strings.HasPrefix(text, "/") && strings.ContainsAny(text, "?;#") {
		if depth < maxURLs {
			if masked, names := m.urlIn(text, depth+1); len(names) > 0 && strings.ContainsAny(value, "%+") {
				return url.QueryEscape(masked)
			} else if len(names) > 0 {
				return masked
			}
		}
	}
	return m.keys(value)
}

// keys masks the JSON Web Tokens and the keys of services in a text.
func (m *Masker) keys(text string) string {
	const least = 16
	if len(text) < least {
		return text
	}
	var b strings.Builder
	at := 0
	for _, k := range m.services.Find([]byte(text)) {
		b.WriteString(text[at:k[0]] + m.secret(text[k[0]:k[1]]))
		at = k[1]
	}
	return b.String() + text[at:]
}

// isObject reports whether a value is JSON or base64 of it: settings, in which some servers
// take their keys, or a JSON Web Token.
func isObject(value string) bool {
	inner, ok := strings.CutPrefix(value, "{")
	return ok && strings.HasPrefix(strings.TrimLeft(inner, " \t\r\n"), `"`) || strings.HasPrefix(value, "eyJ")
}

// multipart masks the fields of a multipart form that have secret names (RFC 7578).
func (m *Masker) multipart(p []byte) (masked []byte, names []string) {
	var out []byte
	for {
		place := partField.FindSubmatchIndex(p)
		if place == nil {
			return append(out, p...), names
		}
		name, from := string(p[place[2]:place[3]]), place[1]
		end := bytes.Index(p[from:], []byte("\r\n--"))
		if end < 0 {
			end = len(p) - from
		}
		out = append(out, p[:from]...)
		value := string(p[from : from+end])
		if value != "" && isSecretName(name) {
			value, names = m.named(name, value), appendNew(names, name)
		}
		out = append(out, value...)
		p = p[from+end:]
	}
}

// partField matches the header of a part that is a form field.
var partField = regexp.MustCompile(`(?i)content-disposition: *form-data;[^\r\n]*?\bname="([^"\r\n]*)"[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n`)

// unnamed masks a body whose type does not distinguish a form from JSON.
func (m *Masker) unnamed(p []byte) (masked []byte, names []string) {
	if at := skipSpace(p, 0); at < len(p) && (p[at] == '{' || p[at] == '[') {
		return m.json(p)
	}
	if bytes.HasPrefix(p, []byte("--")) {
		return m.multipart(p)
	}
	form, names := m.form(string(p))
	return []byte(form), names
}

// named masks the value of a secret name.
func (m *Masker) named(name, value string) string { return m.known(value, isCertain(name)) }

// isCertain reports whether the value of a secret name is only a credential. Values that are
// secret only in OAuth may mean other things in other places, and session ids may be words.
func isCertain(name string) bool {
	return redact.SecretName(name) && !strings.Contains(strings.ToLower(name), "session")
}

// unescape is like [url.QueryUnescape] but keeps invalid escapes.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// appendNew appends s unless the list contains it, ignoring case.
func appendNew(list []string, s string) []string {
	for _, have := range list {
		if strings.EqualFold(have, s) {
			return list
		}
	}
	return append(list, s)
}

// tokenNames are members that are secret in a JSON body of any endpoint, in lower case and without separators.
var tokenNames = map[string]bool{
	"accesstoken": true, "refreshtoken": true, "idtoken": true, "clientsecret": true, "registrationaccesstoken": true, "devicecode": true, "password": true,
}

// tokens masks such members in a body, unless it is a JSON-RPC message.
func (m *Masker) tokens(p []byte) (masked []byte, names []string) {
	if isRPC(p) {
		return p, nil
	}
	return m.members(p, func(name string) bool { return tokenNames[strings.ReplaceAll(strings.ToLower(name), "_", "")] })
}

// rpcMembers are members of JSON-RPC messages, and how their values begin.
var rpcMembers = map[string]string{`"jsonrpc"`: "", `"method"`: "", `"result"`: "{", `"error"`: "{"}

// isRPC reports whether the beginning of a body is that of a JSON-RPC message or of a batch.
func isRPC(p []byte) bool { return hasMember(p, map[string]string{`"jsonrpc"`: ""}) }

// mayBeRPC is isRPC for the beginning of a body. Some peers write the member jsonrpc last.
func mayBeRPC(p []byte) bool { return isRPC(p) || hasMember(p, rpcMembers) && !json.Valid(p) }

// hasMember reports whether the objects at the top of a text have one of some members.
func hasMember(p []byte, members map[string]string) bool {
	depth := 0
	for i := 0; i < len(p); {
		switch p[i] {
		case '"':
			end := stringEnd(p, i)
			if sign := skipSpace(p, end); depth == 1 && sign < len(p) && p[sign] == ':' {
				if value, ok := members[string(p[i:end])]; ok && bytes.HasPrefix(p[skipSpace(p, sign+1):], []byte(value)) {
					return true
				}
			}
			i = end
			continue
		case '{':
			depth++
		case '}':
			depth--
		}
		i++
	}
	return false
}

// json masks the strings after secret names, at any depth. It also reads truncated JSON and
// other texts, and leaves everything else unchanged, and JSON-RPC messages.
func (m *Masker) json(p []byte) (masked []byte, names []string) {
	if isRPC(p) {
		return p, nil
	}
	return m.members(p, isSecretName)
}

// members masks the strings after the names that are secret.
func (m *Masker) members(p []byte, secret func(name string) bool) (masked []byte, names []string) {
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
		if value == len(p) || p[value] != ':' || !secret(plainString(name)) {
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
		out = append(out, m.named(plainString(name), plainString(p[value:end]))...)
		out = append(out, '"')
		names = appendNew(names, plainString(name))
		i = end
	}
	return out, names
}

// secretEnd returns the end of the value at p[i] if it can contain a secret: a string, a
// list or an object. Numbers and words cannot, as error codes are numbers.
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

// stringEnd returns the end of the string at p[i], including the quote.
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

// plainString returns the value of a JSON string. Invalid strings are returned as they are,
// without their quotes.
func plainString(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.Trim(string(raw), `"`)
}
