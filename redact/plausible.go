package redact

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A value in the place of a secret may not be one: it may be a description, a placeholder
// such as <your key>, a variable, or code that reads the value at run time.

// typeNames are words that describe a value after its name.
var typeNames = setOf("string str number int integer boolean bool object array any required optional yes no bytes text secret password " +
	"write read value values token key nullable uuid oauth oauth2 basic bearer digest apikey api_key jwt oidc saml header query none")

// plainTypes are those that are descriptions even in quotes.
var plainTypes = setOf("string str number int integer boolean bool object required optional none null nil undefined")

// proseWords are words of sentences and of descriptions, which a passphrase does not have.
var proseWords = setOf("the and for are was were has have had not you your this that these with from must should will can may use used using user users " +
	"login enter new account name email default minimum maximum least most characters letters digits long length field set database server only change changed when")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

func lower(s []byte) string { return strings.ToLower(string(s)) }

// vacant reports whether a text represents a missing value.
func vacant(s []byte) bool {
	switch lower(s[:min(len(s), 12)]) {
	case "", "true", "false", "null", "none", "undefined", "nil", "{", "[", "{}", "[]", "/", "//":
		return true
	}
	return len(bytes.Trim(s, "()[]{}")) == 0 || bytes.HasPrefix(s, []byte("//")) || len(s) > 2 && s[0] == '[' && s[1] == '"' || len(s) > 2 && s[0] == '{' && s[1] == '"'
}

// isReference reports whether a value is a variable of a shell or a template, or a verb of
// a format string.
func isReference(value []byte) bool {
	for _, p := range []string{"{{", "${", "$(", "#{", "<%", "%(", "{%"} {
		if bytes.HasPrefix(value, []byte(p)) {
			return true
		}
	}
	switch {
	case len(value) > 1 && value[0] == '%' && (len(value) == 2 || !alnum[value[2]]):
		return strings.IndexByte("svqd", value[1]) >= 0
	case len(value) < 2 || value[0] != '$':
		return false
	}
	name := bytes.TrimPrefix(value[1:], []byte("env:"))
	return isFigures(name) || isVariable(name) || SecretName(string(name))
}

// isStandIn reports whether a value is a placeholder to be filled in, or for a removed
// value.
func isStandIn(value []byte) bool {
	if len(value) == 0 || len(value) > 80 {
		return len(value) == 0
	}
	s := lower(value)
	switch {
	case isReference(value):
		return true
	case strings.Trim(s, "*•·●.…_#?=-") == "", len(s) >= 3 && strings.Trim(s, "x") == "":
		return true
	case s[0] == '<' && s[len(s)-1] == '>', s[0] == '[' && s[len(s)-1] == ']', s[0] == '(' && s[len(s)-1] == ')':
		return isWord(value[1 : len(value)-1])
	case s[0] == '[', s[0] == '(':
		return strings.HasPrefix(s[1:], "redacted") || strings.HasPrefix(s[1:], "hidden")
	case !isWord(value):
		return false
	}
	rest, your := strings.CutPrefix(s, "your")
	return your && (rest == "" || !alnum[rest[0]] || rest == "key" || SecretName(rest)) || strings.HasSuffix(s, "_here") || strings.HasSuffix(s, "-here") || strings.HasSuffix(s, " here") ||
		s == "redacted" || s == "placeholder" || isVariable(value) && SecretName(s)
}

// isWord reports whether a text consists of letters and word separators.
func isWord(s []byte) bool {
	for _, c := range s {
		if c = fold(c); !(c-'a' < 26 || c == '_' || c == '-' || c == '.' || c == ' ') {
			return false
		}
	}
	return len(s) > 0
}

func isUpper(s []byte) bool {
	return len(s) > 0 && len(bytes.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")) == 0
}

func isFigures(value []byte) bool { return len(bytes.Trim(value, "0123456789")) == 0 }

// isVariable reports whether a value is the name of an environment variable, as in a list
// of required ones.
func isVariable(value []byte) bool { return bytes.IndexByte(value, '_') > 0 && isUpper(value) }

// dense reports whether a text looks like a value, and not like a word as in "password:
// required".
func dense(s []byte) bool {
	return len(s) >= 20 || len(s) >= 4 && bytes.ContainsAny(s, figureSigns)
}

const figureSigns = "0123456789"

// isCode reports whether the text after name = or name: without quotes is code that reads a
// value. loose reports that there are spaces around the sign, argument that it may be in a
// list of arguments. In a line of a settings file, fewer texts are code.
func isCode(text []byte, name string, from, to int, loose, argument bool) bool {
	value := text[from:to]
	if len(value) > 200 {
		return false
	}
	path, joints, digits := identifiers(value)
	root, _, _ := strings.Cut(string(value[:path]), ".")
	last := string(value[bytes.LastIndexByte(value[:path], '.')+1 : path])
	small := name == strings.ToLower(name) // environment variables have capitals
	known := joints > 0 && (codeRoots[root] || argument && small && SecretName(last))
	switch {
	case isComposite(value):
		return true
	case path == 0 || value[0]-'0' < 10:
		return loose && len(value) > 1 && value[0] == '/' && strings.IndexByte("^[(\\", value[1]) >= 0 || isPattern(value)
	case value[0] == '&' && path == len(value) && (loose || !digits):
		return true
	case path < len(value) && (value[path] == '(' || value[path] == '['):
		if n := bytes.IndexAny(value[path:], ")]"); n >= 0 && path+n+1 < len(value) && alnum[value[path+n+1]] { // as in a password
			return false
		}
		rest, _, _ := bytes.Cut(text[from+path:min(len(text), to+200)], []byte("\n"))
		closed := path+1 == len(value) || bytes.ContainsAny(rest, ")]")
		return closed && (loose || known || small && !digits)
	case path < len(value):
		return isPattern(value)
	case known, loose && joints > 0 && (!digits || SecretName(last)):
		return true
	}
	return joints == 0 && !digits && argument && small && SecretName(string(value)) && isWord(value)
}

// isComposite reports whether a value is the beginning of a composite literal, such as []string{ or &Response{.
func isComposite(value []byte) bool {
	kind, ok := bytes.CutSuffix(value, []byte("{"))
	for i := 0; i < 2; i++ { // a slice of pointers, a map
		kind = bytes.TrimLeft(kind, "&*[]"+figureSigns)
		if _, element, found := bytes.Cut(kind, []byte("]")); found && bytes.HasPrefix(kind, []byte("map[")) {
			kind = element
		}
	}
	path, _, _ := identifiers(kind)
	return ok && path > 0 && path == len(kind)
}

// identifiers returns the length of the identifiers at the beginning of a value, the number
// of signs that join them, and whether they contain digits.
func identifiers(value []byte) (path, joints int, digits bool) {
	if len(value) > 0 && strings.IndexByte("$&*!", value[0]) >= 0 {
		path = 1
	}
	for path < len(value) {
		c, sign := value[path], ""
		if alnum[c] || c == '_' {
			digits = digits || c-'0' < 10
			path++
			continue
		}
		for _, s := range []string{".", "::", "?.", "->"} {
			if bytes.HasPrefix(value[path:], []byte(s)) {
				sign = s
				break
			}
		}
		if sign == "" || path == 0 {
			break
		}
		joints++
		path += len(sign)
	}
	return path, joints, digits
}

// codeRoots are identifiers through which programs read their settings.
var codeRoots = setOf("self this process os env config cfg var settings options opts args params props req request ctx context secrets module")

// isPattern reports whether a value is a regular expression or a validation rule.
func isPattern(value []byte) bool {
	for _, p := range []string{"[A-Z", "[a-z", "[0-9", `\d`, `\w`} {
		if bytes.Contains(value, []byte(p)) {
			return true
		}
	}
	first, _, ok := bytes.Cut(value, []byte("|"))
	return ok && typeNames[lower(first)]
}

// isVersion reports whether a value is a package version or a range of versions, as some
// packages have the names of secrets.
func isVersion(value []byte, weak bool) bool {
	body := bytes.TrimLeft(value, "^~>=<v ")
	if len(body) == len(value) && !weak || bytes.IndexByte(body, '.') < 0 || len(body) == 0 || body[0]-'0' > 9 {
		return false
	}
	body, _, _ = bytes.Cut(body, []byte("-"))
	return len(bytes.Trim(body, "0123456789.x")) == 0
}

// searchable reports whether a value can be searched for. Ordinary words, versions and numbers
// would match in other places.
func searchable(value []byte) bool {
	if len(value) < 6 || len(value) > 256 {
		return false
	}
	letters, figures, others := 0, 0, 0
	for _, c := range value {
		switch c = fold(c); {
		case c-'0' < 10:
			figures++
		case c-'a' < 26:
			letters++
		default:
			others++
		}
	}
	return letters > 0 && figures > 0 || len(value) >= 8 && letters > 0 && others > 0 && !nameLike(value) || len(value) >= 20
}

// isOrdinary reports whether a value is a short word in lower case, or one that MCP, JSON
// Schema or a recording uses. If it were replaced everywhere, the copy could not be read.
func isOrdinary(value []byte) bool {
	small := len(bytes.Trim(value, "abcdefghijklmnopqrstuvwxyz")) == 0
	return utf8.RuneCount(value) < 3 || small && len(value) < 6 || ordinaryWords[lower(value)] || commonValues[lower(value)]
}

var ordinaryWords = setOf(`object string number integer boolean description properties required additional default format title
	initialize initialized resource resources prompt prompts templates completion complete logging message messages sampling elicitation
	notification notifications progress cancelled subscribe unsubscribe updated discover listen subscriptions acknowledged
	working completed failed submitted assistant content contents structured arguments accept decline cancel
	debug notice warning error critical emergency public private
	request response result client server connect disconnect rewrite signal stderr lifecycle to_server to_client
	application javascript typescript python`)

// nameLike reports whether a value consists of words and the separators of names.
func nameLike(value []byte) bool {
	for _, c := range value {
		if c = fold(c); !(c-'a' < 26 || c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' || c == ':') {
			return false
		}
	}
	return true
}

// isShortWord reports whether a value with an ambiguous name is a short word, such as a
// token of a model or the symbol of a coin.
func isShortWord(value []byte) bool {
	return utf8.RuneCount(value) <= 7 && !bytes.ContainsAny(value, figureSigns)
}
