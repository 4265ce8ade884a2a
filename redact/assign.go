package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
)

// maxNames limits the cache of names.
const maxNames = 4096

// named returns the rule that makes the value of a name a secret, "" for none.
func (r *Redactor) named(name string) string {
	rule, known := r.names[name]
	if !known && len(name) <= maxName {
		if len(r.names) >= maxNames {
			clear(r.names)
		}
		rule = r.ruleOf(name)
		r.names[name] = rule
	}
	return rule
}

// ruleOf is like named without the cache.
func (r *Redactor) ruleOf(name string) string {
	for i := range r.opt.Rules {
		if rule := &r.opt.Rules[i]; rule.key != "" && matchName(rule.key, name) {
			return rule.text
		}
	}
	if SecretName(name) {
		return nameRule
	}
	return ""
}

// assigned finds the value of the name at text[start:end]: after = or :, with or without
// quotes, or after a flag and a space.
func (r *Redactor) assigned(text []byte, start, end int) (from, to int, rule string) {
	for start > 0 && end-start <= maxName && word[text[start-1]] {
		start--
	}
	for end < len(text) && end-start <= maxName && word[text[end]] {
		end++
	}
	if end-start > maxName {
		return 0, 0, ""
	}
	a := assignment{text: text, start: start, name: string(text[start:end])}
	if rule = r.named(strings.TrimLeft(a.name, "-")); rule == "" || !a.findSign(end) {
		return 0, 0, ""
	}
	from, to = a.value()
	a.plain = plainName(a.name)
	ok := false
	switch {
	case strings.HasSuffix(a.plain, "cookie") && a.sign == ':':
		to, ok = a.cookie(from, to)
	case strings.HasSuffix(a.plain, "authorization"):
		from, to, ok = a.credentials(from, to)
	default:
		to, ok = a.setting(from, to)
	}
	if !ok {
		return 0, 0, ""
	}
	return from, to, rule
}

// An assignment is a name in a text with the sign that assigns it a value. Each method below returns where
// the value ends, and whether it may be a secret.
type assignment struct {
	text        []byte
	start       int // of the name
	name, plain string
	sign        byte // =, :, or > for an element of XML
	after       int  // what follows the sign
	flag, query bool // the name begins with a minus, or is a parameter of a URL
}

// findSign finds the sign after the name, which ends at end. A flag may have a space instead.
func (a *assignment) findSign(end int) bool {
	text, start := a.text, a.start
	a.sign, a.after = separator(text, end)
	a.flag = text[start] == '-'
	a.query = start > 0 && (text[start-1] == '?' || text[start-1] == '&')
	if i := a.after; a.sign == 0 && a.flag && i > end && i < len(text) && text[i] != '-' {
		a.sign = '='
	}
	return a.sign != 0 && (a.sign != '>' || start > 0 && text[start-1] == '<')
}

// value returns the place of the value, without quotes.
func (a *assignment) value() (from, to int) {
	from, to = valueAt(a.text, a.after, a.sign, a.query)
	if at := behindType(a.text, from, to, a.sign); at > 0 {
		a.sign, a.after = '=', at
		from, to = valueAt(a.text, at, a.sign, a.query)
	}
	if a.sign == '=' && quotedBefore(a.text, a.start) && isUpper([]byte(a.name)) { // "NAME=a value"
		quote := a.text[a.start-1]
		rest := a.text[to:min(len(a.text), to+maxList)]
		if n := bytes.IndexAny(rest, "\r\n"+string(quote)); n >= 0 && rest[n] == quote {
			to += n
		}
	}
	return from, to
}

// cookie is for the field Cookie or Set-Cookie.
func (a *assignment) cookie(from, to int) (end int, ok bool) {
	to = max(to, lineEnd(a.text, from))
	_, cookie, found := bytes.Cut(a.text[from:to], []byte("="))
	return to, found && !isStandIn(cookie) && !a.isVacant(from, to) // else prose about cookies
}

// credentials is for the field Authorization. The value is what follows the scheme.
func (a *assignment) credentials(from, to int) (start, end int, ok bool) {
	text, value := a.text, a.text[from:to]
	if n := bytes.IndexByte(value, ' '); n > 0 && isScheme(value[:n]) { // in quotes
		from += n + 1
	}
	if to == len(text) || text[to] != ' ' {
		return from, to, !a.isVacant(from, to)
	}
	short := len(value) < minKey
	switch {
	case !isScheme(value) && !(short && endsInKey(text[to+1:])):
		return from, to, !(short && isWord(value)) && !a.isVacant(from, to) // else a sentence
	case listSchemes[lower(value)]:
		quote := byte('\n')
		if quotedBefore(text, a.start) {
			quote = text[a.start-1]
		}
		from = to + 1
		to = parametersEnd(text, from, quote)
	default:
		from = to + 1
		to = wordEnd(text, from)
	}
	return from, to, !a.isVacant(from, to)
}

// setting is for all other names.
func (a *assignment) setting(from, to int) (end int, ok bool) {
	plainly := (a.sign == '=' || a.sign == ':') && !a.query && !quotedBefore(a.text, from) && beginsLine(a.text, a.start)
	bare := false // a value that special characters cut to a few bytes
	if plainly && isPassword(a.plain) {
		if end := phraseEnd(a.text, from); end > to {
			return end, true
		}
		whole := a.text[from:wholeValue(a.text, to)]
		bare = dense(whole) && !bytes.ContainsAny(whole, "<([{")
	}
	if a.isOrdinary(from, to, bare) || a.isVacant(from, to) {
		return 0, false
	}
	if plainly {
		to = wholeValue(a.text, to)
	}
	return to, true
}

// isOrdinary reports whether the value is a word of a sentence, a type or code.
func (a *assignment) isOrdinary(from, to int, bare bool) bool {
	text, value, colon := a.text, a.text[from:to], a.sign == ':'
	if quotedBefore(text, from) {
		return plainTypes[lower(value)] || len(value) == 1 && !isFigures(value) ||
			colon && len(value) > 0 && strings.IndexByte("),;]", value[0]) >= 0 || colon && isJoined(text, from) // the quote ends the string that contains the name
	}
	own := ownLine(text, a.start, from, to)
	if colon && !bare && !dense(value) && !own && !(figureNames[a.plain] && isFigures(value) && len(value) >= 3) {
		return true
	}
	if a.sign == '>' {
		return false
	}
	loose := a.after > 0 && text[a.after-1] == ' '
	argument := a.start > 0 && strings.IndexByte("(, ", text[a.start-1]) >= 0
	return isCode(text, a.name, from, to, loose, argument) ||
		typeNames[lower(value)] && (colon || loose || lower(value) == a.name) ||
		a.plain == "sig" && len(value) < 8 ||
		isFigures(value) && !isNumberOf(a.plain, value) ||
		a.sign == '=' && !a.flag && loose && isWord(value) && !own ||
		a.flag && isUpper(value) && (string(value) == "KEY" || SecretName(string(value))) // the help text of a flag
}

// isVacant reports whether the value is empty, a placeholder, a path, a version, or not all of an element.
func (a *assignment) isVacant(from, to int) bool {
	value, rest := a.text[from:to], a.text[to:]
	return vacant(value) || isStandIn(value) || isDir(a.name, value) || isVersion(value, weakName(a.name)) ||
		a.sign == '>' && !bytes.HasPrefix(rest, []byte("</")) && !bytes.HasPrefix(rest, []byte("]]>"))
}

// beginsLine reports whether a name is the first in its line, as in a file of settings.
func beginsLine(text []byte, start int) bool {
	lead := text[max(0, start-maxLead):start]
	n := bytes.LastIndexByte(lead, '\n')
	before := string(bytes.Trim(lead[n+1:], " \t"))
	return (n >= 0 || start < maxLead) && (before == "" || before == "-" || before == "export")
}

// maxLead is the maximum length of an indentation.
const maxLead = 40

// restOfLine returns the text from an offset to the end of the line or to a comment.
func restOfLine(text []byte, at int) []byte {
	rest := text[at:min(len(text), at+maxList)]
	if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
		rest = rest[:n]
	}
	for _, comment := range []string{" #", "\t#"} {
		if n := bytes.Index(rest, []byte(comment)); n >= 0 {
			rest = rest[:n]
		}
	}
	return bytes.TrimRight(rest, " \t")
}

// wholeValue returns the end of a value without quotes that is all of a line: quotes, brackets
// and semicolons belong to it, but not JSON, markup or another assignment after it.
func wholeValue(text []byte, to int) int {
	rest := restOfLine(text, to)
	if len(rest) == 0 || rest[0] == '\\' || bytes.IndexByte(rest, ' ') >= 0 {
		return to
	}
	for i := range rest {
		if strings.IndexByte(";,&", rest[i]) >= 0 && assigns(rest[i+1:]) || bytes.HasPrefix(rest[i:], []byte("</")) || bytes.HasPrefix(rest[i:], []byte(`,"`)) || bytes.HasPrefix(rest[i:], []byte(`":`)) {
			rest = rest[:i]
			break
		}
	}
	rest = bytes.TrimRight(rest, "\"'`,;")
	if !bytes.ContainsFunc(rest, func(r rune) bool { return r < 0x80 && alnum[r] }) {
		return to
	}
	return to + len(rest)
}

// phraseEnd returns the end of a passphrase: four or more words that are a line, without those of a sentence.
func phraseEnd(text []byte, at int) int {
	rest := restOfLine(text, at)
	words := bytes.Split(rest, []byte(" "))
	for _, w := range words {
		if len(w) < 3 || len(bytes.Trim(w, "abcdefghijklmnopqrstuvwxyz")) > 0 || typeNames[string(w)] || proseWords[string(w)] || SecretName(string(w)) {
			return at
		}
	}
	if len(words) < 4 {
		return at
	}
	return at + len(rest)
}

// isPassword reports whether a plain name is that of a password.
func isPassword(plain string) bool {
	return slices.ContainsFunc([]string{"password", "passphrase", "passwd", "passwort", "pwd"}, func(s string) bool { return strings.HasSuffix(plain, s) })
}

// isJoined reports whether the quote before an offset ends a string that code joins to
// another value, as in "token: " + t.
func isJoined(text []byte, at int) bool {
	after := bytes.TrimLeft(text[at:min(len(text), at+8)], " ")
	if len(after) == 0 || strings.IndexByte("+.%&", after[0]) < 0 {
		return false
	}
	line := text[max(0, at-1-maxWindow) : at-1]
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	return bytes.Count(line, text[at-1:at])%2 == 1
}

// assigns reports whether a text begins with name=.
func assigns(text []byte) bool {
	for i, c := range text[:min(len(text), 64)] {
		if !word[c] && strings.IndexByte(".%[]", c) < 0 {
			return c == '=' && i > 0
		}
	}
	return false
}

// behindType returns the offset of the value after name: type =, as in TypeScript, or 0.
func behindType(text []byte, from, to int, sign byte) int {
	rest := text[to:min(len(text), to+4)]
	if sign == ':' && typeNames[lower(text[from:to])] && len(rest) > 3 && string(rest[:3]) == " = " {
		return to + 3
	}
	return 0
}

// isNumberOf reports whether digits are long enough to be the secret of a name.
func isNumberOf(name string, figures []byte) bool {
	switch {
	case figureNames[name]:
		return len(figures) >= 3
	case weakName(name) || name == "pass":
		return searchableNumber(figures)
	}
	return len(figures) >= 4
}

// wideColon is the colon of Chinese and Japanese texts.
const wideColon = "："

// separator reads the text between a name and its value. It returns =, :, > for the end of
// a tag, or 0 for none, and the offset of the value.
func separator(text []byte, i int) (sign byte, at int) {
	if i+1 < len(text) && text[i] == ']' && text[i+1] == '=' { // user[password]=…
		i++
	}
	if j := skipQuote(text, i); j > i {
		if i = j; i < len(text) && text[i] == ']' { // settings["name"] = …
			i++
		}
	}
	for n := 0; n < 8 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	if i == len(text) {
		return 0, i
	}
	switch {
	case text[i] == '>' && i > 0 && text[i-1] != ' ': // an XML element
		return '>', i + 1
	case text[i] == '=' || text[i] == ':':
		sign = text[i]
		if i++; i < len(text) && text[i] == '>' { // =>
			i++
		}
	case bytes.HasPrefix(text[i:], []byte(wideColon)):
		sign, i = ':', i+len(wideColon)
	default:
		return 0, i
	}
	if i < len(text) && (text[i] == '=' || text[i] == ':') { // a comparison, a path
		return 0, i
	}
	for n := 0; n < 8 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	return sign, i
}

// skipQuote skips a quote, which may be escaped several times.
func skipQuote(text []byte, i int) int {
	j := i
	for j < len(text) && j-i < 16 && text[j] == '\\' {
		j++
	}
	if j < len(text) && (text[j] == '"' || text[j] == '\'' || text[j] == '`') {
		return j + 1
	}
	return i
}

// maxList is the maximum length of a list of values in a text, in bytes.
const maxList = 4 << 10

// listAt finds the strings of a list, from the first to the last. The list may be truncated
// JSON, or of another language.
func listAt(text []byte, i int) (from, to int) {
	text = text[:min(len(text), i+maxList)]
	for i++; i < len(text) && strings.IndexByte(blanks, text[i]) >= 0; i++ {
	}
	if from = skipQuote(text, i); from == i {
		return 0, 0
	}
	to = len(text)
	if n := bytes.IndexByte(text[from:], ']'); n >= 0 {
		to = from + n
	}
	if n := bytes.LastIndexByte(text[from:to], text[from-1]); n >= 0 {
		to = from + n
	}
	for to > from && text[to-1] == '\\' {
		to--
	}
	return from, to
}

// valueAt finds the value at an offset, without its quotes.
func valueAt(text []byte, i int, sign byte, query bool) (from, to int) {
	if bytes.HasPrefix(text[i:], []byte("[]byte(")) {
		i += len("[]byte(")
	}
	if rest, ok := bytes.CutPrefix(text[i:], []byte("Some(")); ok { // an Option of Rust
		at := len(text) - len(rest) + lead(rest[:min(len(rest), maxLead)])
		if skipQuote(text, at) > at {
			i = at
		}
	}
	if rest, ok := bytes.CutPrefix(text[i:], []byte("<![CDATA[")); ok && sign == '>' {
		if n := bytes.Index(rest, []byte("]]>")); n >= 0 {
			i = len(text) - len(rest)
			return i, i + n
		}
	}
	if i+1 < len(text) && strings.IndexByte("@$bBrRfFuUN", text[i]) >= 0 && (text[i+1] == '"' || text[i+1] == '\'') {
		i++ // a prefix such as b"…", r"…", or N'…' in SQL
	}
	for _, q := range []string{`"""`, "'''"} {
		if bytes.HasPrefix(text[i:], []byte(q)) {
			if n := bytes.Index(text[i+3:], []byte(q)); n >= 0 {
				return i + 3, i + 3 + n
			}
		}
	}
	if i < len(text) && text[i] == '[' {
		if from, to = listAt(text, i); from > 0 {
			return from, to
		}
	}
	if j := skipQuote(text, i); j > i {
		quote := text[j-1]
		for to = j; to < len(text) && text[to] != quote && text[to] != '\n'; to++ {
			if text[to] == '\\' && j-i == 1 { // the text is not inside another string
				to++
			}
		}
		to = min(to, len(text))
		for to > j && text[to-1] == '\\' {
			to--
		}
		return j, to
	}
	for to = i; to < len(text) && !endsValue(text, to, sign, query); to++ {
	}
	for to > i && sign != '>' && (text[to-1] == '.' || text[to-1] == ',' || text[to-1] == ';' || text[to-1] == ':' || text[to-1] == '\\') {
		to--
	}
	return i, to
}

// endsValue reports whether a value without quotes ends before text[i].
func endsValue(text []byte, i int, sign byte, query bool) bool {
	if sign == '>' {
		return text[i] == '<' || text[i] == '\n'
	}
	switch c := text[i]; c {
	case '\x1b':
		return true // an escape sequence of a terminal
	case ' ', '\t', '\r', '\n', '"', '\'', '`', '<', '>':
		return true
	case '&', '#':
		if e, n := entity(text[i:]); n > 0 && e != '&' {
			return true
		}
		return query || c == '&' && sign == '=' && (i+1 == len(text) || strings.IndexByte("& \t\r\n", text[i+1]) >= 0 || assigns(text[i+1:]))
	case ';':
		return true
	case '\\':
		return endsLine(text[i+1:])
	case ',', ')', ']', '}':
		return !query && (sign == ':' || i+1 == len(text) || c == ',' && assigns(text[i+1:]) || strings.IndexByte(" \t\r\n\",;)]}\\", text[i+1]) >= 0)
	}
	return false
}

// ownLine reports whether a name and its value, a single word, are a whole line, as in YAML
// and HTTP headers.
func ownLine(text []byte, start, from, to int) bool {
	for start > 0 && strings.IndexByte(" \t-*", text[start-1]) >= 0 {
		start--
	}
	return (start == 0 || text[start-1] == '\n') && (to == len(text) || text[to] == '\n' || text[to] == '\r') &&
		to-from >= 4 && !typeNames[strings.ToLower(string(text[from:to]))]
}

// endsLine reports whether a backslash before text begins an escaped line break, in code or
// JSON: what follows does not continue a word.
func endsLine(text []byte) bool {
	if len(text) == 0 || strings.IndexByte("nrt", text[0]) < 0 {
		return false
	}
	text = text[1:]
	if len(text) == 0 || !alnum[text[0]] || text[0]-'A' < 26 {
		return true
	}
	for i, c := range text[:min(len(text), 64)] {
		if !word[c] && c != '.' {
			return i > 0 && (c == '=' || c == ':')
		}
	}
	return false
}

func quotedBefore(text []byte, i int) bool {
	return i > 0 && (text[i-1] == '"' || text[i-1] == '\'' || text[i-1] == '`')
}

// maxCookies is the maximum length of a Cookie value in a text, the usual limit of servers.
const maxCookies = 16 << 10

func lineEnd(text []byte, i int) int {
	line := text[i:min(len(text), i+maxCookies)]
	if n := bytes.IndexAny(line, "\r\n\""); n >= 0 {
		return i + n
	}
	return i + len(line)
}

// parametersEnd returns the end of a list of parameters at an offset: that of the line, or a
// quote that neither begins nor ends a value.
func parametersEnd(text []byte, at int, quote byte) int {
	open := false
	for end := min(len(text), at+maxCookies); at < end && text[at] != '\r' && text[at] != '\n'; at++ {
		switch {
		case text[at] != quote:
		case text[at-1] == '=':
			open = true
		case !open:
			return at
		default:
			open = false
		}
	}
	return at
}

func wordEnd(text []byte, i int) int {
	for i < len(text) && strings.IndexByte(" \t\r\n\"'\\<>,;", text[i]) < 0 {
		i++
	}
	return i
}

// schemes are the authentication schemes of an Authorization header.
var schemes = map[string]bool{"bearer": true, "basic": true, "token": true, "digest": true, "apikey": true, "dpop": true, "negotiate": true,
	"ntlm": true, "oauth": true, "hawk": true, "signature": true, "aws4-hmac-sha256": true, "api-key": true, "sso-key": true}

// listSchemes are the schemes that are followed by a list of parameters.
var listSchemes = setOf("digest oauth hawk signature aws4-hmac-sha256")

func isScheme(s []byte) bool { return len(s) < 20 && schemes[strings.ToLower(string(s))] }

// minKey is the minimum length of credentials after an unknown scheme. Shorter texts may be words.
const minKey = 16

// endsInKey reports whether a text begins with credentials, up to the end of the line or a quote.
func endsInKey(text []byte) bool {
	to := wordEnd(text, 0)
	key := text[:to]
	return len(key) >= minKey && bytes.ContainsAny(key, figureSigns) && !bytes.Contains(key, []byte("://")) &&
		(to == len(text) || strings.IndexByte("\r\n\"'`\\", text[to]) >= 0)
}

// schemeSecret finds the credentials after a scheme anywhere in a text: for Bearer a value
// that is not a word, for Basic one that decodes to a name and a password.
func schemeSecret(text []byte, start, end int) (from, to int) {
	if start > 0 && alnum[text[start-1]] {
		return 0, 0
	}
	for to = end; to < len(text) && urlish[text[to]] || to < len(text) && text[to] == '~'; to++ {
	}
	for to > end && text[to-1] == '.' {
		to--
	}
	s := text[end:to]
	if fold(text[start]) == 'b' && fold(text[start+1]) == 'a' {
		plain, err := decode64(string(s))
		if err != nil || len(s) < 4 || !bytes.Contains(plain, []byte(":")) {
			return 0, 0
		}
		return end, to
	}
	if len(s) < 6 || !dense(s) || isStandIn(s) {
		return 0, 0
	}
	return end, to
}

// urlSecret finds the password in a URL whose :// is at text[start:end].
func urlSecret(text []byte, start, end int) (from, to int) {
	scheme := start
	for scheme > 0 && start-scheme < 32 && (alnum[text[scheme-1]] || text[scheme-1] == '+') {
		scheme--
	}
	if scheme == start {
		return 0, 0
	}
	stop, at := " \t\r\n\"'<>`\\/?#", -1
	web := strings.HasPrefix(strings.ToLower(string(text[scheme:start])), "http")
	if !web { // database URLs may have a password with these characters
		stop = " \t\r\n\"'<>`"
	}
	for i := end; i < len(text) && i-end < 512 && strings.IndexByte(stop, text[i]) < 0; i++ {
		if text[i] == '@' {
			at = i
		} else if text[i] == '?' && at >= 0 || text[i] == ':' && bytes.HasPrefix(text[i:], []byte("://")) {
			break
		}
	}
	if at < 0 {
		return 0, 0
	}
	colon := bytes.IndexByte(text[end:at], ':')
	if colon >= 0 {
		if isStandIn(text[end+colon+1 : at]) {
			return 0, 0
		}
		return end + colon + 1, at
	}
	if at-end >= 20 && !bytes.ContainsAny(text[end:at], "/?") { // a token instead of a user name
		return end, at
	}
	return 0, 0
}

// decode64 decodes base64 of either alphabet, with or without padding.
func decode64(s string) ([]byte, error) {
	return alphabet(s).DecodeString(strings.TrimRight(s, "="))
}

// alphabet returns the base64 encoding of a text, without padding.
func alphabet(s string) *base64.Encoding {
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding
	}
	return base64.RawStdEncoding
}
