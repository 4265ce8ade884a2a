package record

import (
	"encoding/base64"
	"strings"

	"github.com/mcptap/mcptap/redact"
)

// A fieldRule determines which part of a header field is secret.
type fieldRule uint8

const (
	fieldOpen      fieldRule = iota // only the secret parts of a URL or of JSON, and keys of services
	fieldWhole                      // the value
	fieldScheme                     // what follows the authentication scheme
	fieldCookies                    // the values of cookies
	fieldSetCookie                  // the value of one cookie, not its attributes
	fieldURL                        // the secret parts of a URL
	fieldLinks                      // the secret parts of URLs in angle brackets
	fieldProtocols                  // those in a list that are too long for a name, or look random
)

var fieldRules = []struct {
	name string
	rule fieldRule
}{
	{"authorization", fieldScheme},
	{"proxy-authorization", fieldScheme},
	{"cookie", fieldCookies},
	{"set-cookie", fieldSetCookie},
	{"set-cookie2", fieldWhole}, // several, in a syntax of its own
	{"mcp-session-id", fieldWhole},
	{"location", fieldURL},
	{"content-location", fieldURL},
	{"referer", fieldURL},
	{"refresh", fieldURL},
	{"link", fieldLinks},
	{"sec-websocket-protocol", fieldProtocols},
}

func ruleFor(name string) fieldRule {
	if name == "" {
		return fieldWhole // not a header line: its content is unknown
	}
	for _, known := range fieldRules {
		if strings.EqualFold(name, known.name) {
			return known.rule
		}
	}
	if redact.SecretField(name) {
		return fieldWhole
	}
	return fieldOpen
}

// fields returns fields with the secrets in them masked, and appends the names of those
// whose values were masked.
func (m *Masker) fields(list [][2]string, names []string) ([][2]string, []string) {
	if len(list) == 0 {
		return nil, names
	}
	out := make([][2]string, len(list))
	var seen map[string]bool // there may be very many
	for i, f := range list {
		value := m.field(f[0], f[1])
		if value != f[1] && !seen[f[0]] {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[f[0]] = true
			names = append(names, f[0])
		}
		out[i] = [2]string{f[0], value}
	}
	return out, names
}

func (m *Masker) field(name, value string) string {
	switch ruleFor(name) {
	case fieldWhole:
		if strings.EqualFold(name, "mcp-session-id") {
			return m.pseudonym(value)
		}
		return m.secret(value)
	case fieldScheme:
		if scheme, rest, ok := strings.Cut(value, " "); ok && scheme != "" && !strings.ContainsFunc(scheme, notOfScheme) {
			return scheme + " " + m.credentials(scheme, strings.Trim(rest, " "))
		}
		return m.secret(value)
	case fieldCookies:
		cookies := strings.Split(value, ";")
		for i, c := range cookies {
			cookies[i] = m.cookie(c)
		}
		return strings.Join(cookies, ";")
	case fieldSetCookie:
		cookie, attributes, ok := strings.Cut(value, ";")
		if ok {
			attributes = ";" + attributes
		}
		return m.cookie(cookie) + attributes
	case fieldURL:
		masked, _ := m.url(value)
		return masked
	case fieldLinks:
		return m.links(value)
	case fieldProtocols:
		return m.protocols(value)
	}
	switch {
	case (strings.Contains(value, "://") || strings.HasPrefix(value, "/")) && !strings.ContainsAny(value, " ,;<"):
		value, _ = m.url(value)
	case strings.HasPrefix(value, "{"):
		masked, _ := m.json([]byte(value))
		value = string(masked)
	}
	return m.keys(value)
}

// notOfScheme reports whether a rune does not occur in the names of authentication
// schemes.
func notOfScheme(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
}

// credentials masks what follows an authentication scheme. For Basic (RFC 7617) it also
// adds the password to the known values, and the user if it is the secret.
func (m *Masker) credentials(scheme, value string) string {
	if strings.EqualFold(scheme, "basic") {
		if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
			if user, password, ok := strings.Cut(string(plain), ":"); ok {
				m.secret(password)
				if password == "" || strings.EqualFold(password, "x-oauth-basic") || redact.LooksRandom(user) {
					m.secret(user)
				}
			}
		}
	}
	return m.secret(value)
}

func (m *Masker) protocols(list string) string {
	names := strings.Split(list, ",")
	before := ""
	for i, name := range names {
		plain := strings.Trim(name, " \t")
		if redact.SecretProtocol(plain, before) {
			names[i] = strings.Replace(name, plain, m.pseudonym(plain), 1)
		}
		before = plain
	}
	return strings.Join(names, ",")
}

// links masks the URLs of a Link field, which are in angle brackets (RFC 8288).
func (m *Masker) links(value string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(value, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		target, after, closed := strings.Cut(rest, ">")
		masked, _ := m.url(target)
		b.WriteString("<" + masked)
		if !closed {
			return b.String()
		}
		b.WriteByte('>')
		value = after
	}
}

// cookie masks the value of name=value. A pair without a name is a value.
func (m *Masker) cookie(pair string) string {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		space := len(pair) - len(strings.TrimLeft(pair, " "))
		return pair[:space] + m.pseudonym(strings.Trim(pair, " "))
	}
	return name + "=" + m.pseudonym(strings.Trim(value, " "))
}
