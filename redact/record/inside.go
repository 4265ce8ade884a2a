package record

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcptap/mcptap/redact"
)

const (
	maxInside = 64 // maximum number of secrets inside a value
	maxNested = 3  // maximum depth of nested values
)

// A part is a secret inside a masked value. certain is as in [redact.Values.With].
type part struct {
	text    string
	certain bool
}

// credential matches a parameter of credentials, such as those of Digest.
var credential = regexp.MustCompile(`([\w-]+)="?([^"\s,;]+)`)

// schemes are authentication schemes that clients put in front of a key.
var schemes = map[string]bool{"bearer": true, "token": true, "apikey": true, "basic": true}

// inside appends the secrets inside a masked value, which may be repeated without the rest:
// the value without its quotes or URL escapes, what follows a scheme or a user, strings of JSON or of base64 of it, and
// parameters of credentials.
func inside(list []part, value string, certain bool, depth int) []part {
	add := func(s string, certain bool) {
		if s == "" || s == value || len(list) >= maxInside {
			return
		}
		if list = append(list, part{s, certain}); depth < maxNested {
			list = inside(list, s, certain, depth+1)
		}
	}
	if plain, err := url.PathUnescape(value); err == nil {
		add(plain, certain)
	}
	parts(value, certain, add)
	switch {
	case strings.HasPrefix(value, "eyJ"):
		coding := base64.RawStdEncoding
		if strings.ContainsAny(value, "-_") {
			coding = base64.RawURLEncoding
		}
		if plain, err := coding.DecodeString(strings.TrimRight(value, "=")); err == nil {
			add(string(plain), certain)
		}
	case strings.IndexByte(`{["`, value[0]) >= 0:
		eachString([]byte(value), func(name, s string) {
			switch {
			case name == "":
				add(s, certain)
			case isSecretName(name):
				add(s, isCertain(name))
			case redact.LooksRandom(s):
				add(s, false)
			}
		})
	case strings.Contains(strings.TrimRight(value, "="), "="):
		for _, m := range credential.FindAllStringSubmatch(value, maxInside) {
			if isSecretName(m[1]) || m[1] == "response" || m[1] == "mac" {
				add(m[2], isCertain(m[1]))
			}
		}
	}
	return list
}

// parts calls add with the part of a value without what a client put in front of it: a scheme, a user.
func parts(value string, certain bool, add func(s string, certain bool)) {
	scheme, rest, _ := strings.Cut(value, " ")
	first, _, isList := strings.Cut(value, ", ")
	user, password, isPair := strings.Cut(value, ":")
	switch {
	case schemes[strings.ToLower(scheme)]: // as in X-Api-Key: Bearer …
		add(strings.Trim(rest, " "), certain)
	case isList && !strings.Contains(first, "="): // cookies that are separated by commas
		add(first, false)
	case user == "s" && isPair: // a signed session id of Express
		id, _, _ := strings.Cut(password, ".")
		add(id, false)
	case !isPair || strings.ContainsAny(user, `{["=`):
	case !strings.HasPrefix(password, "//"):
		add(password, certain && !strings.Contains(password, ":"))
		if redact.LooksRandom(user) {
			add(user, false)
		}
	default: // a URL with a password
		host := strings.LastIndexByte(password, '@')
		if _, pw, ok := strings.Cut(password[2:max(host, 2)], ":"); ok {
			add(pw, certain)
		}
	}
}

// eachString calls fn with the first strings in JSON and the last name before each.
func eachString(p []byte, fn func(name, s string)) {
	name := ""
	for i, n := 0, 0; n < 8*maxInside; n++ {
		quote := bytes.IndexByte(p[i:], '"')
		if quote < 0 {
			return
		}
		end := stringEnd(p, i+quote)
		s := plainString(p[i+quote : end])
		if i = skipSpace(p, end); i < len(p) && p[i] == ':' {
			name = s
			continue
		}
		fn(name, s)
	}
}
