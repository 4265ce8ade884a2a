package redact

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secretNames are the suffixes of names whose values are secrets: GITHUB_TOKEN ends in
// token, x-api-key in apikey. A space separates words. Names are compared without case
// and separators.
var secretNames = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "api key", "secret key", "access key",
	"private key", "signing key", "encryption key", "encryption customer key", "master key", "account key", "auth key", "session key", "client key",
	"shared access signature", "amz signature", "goog signature", "client assertion", "code verifier", "oauth verifier", "device code", "mfa code",
	"authorization", "cookie", "credential", "connection string", "session id", "sess id", "one time code",
	"subscription key", "function key", "functions key", "application key", "app key", "service key", "service role key", "admin key",
	"license key", "shared key", "deploy key", "webhook key", "hmac key", "write key", "ingest key", "integration key",
	"saml response", "jwt assertion", "id token hint", "basic auth", "api hash", "session string",
	"store pass", "key pass", "key data", "pswd", "passwort", "kennwort", "contraseña", "contrasena", "mot de passe", "пароль", "パスワード", "密码", "密碼", "비밀번호",
	// keys of services in the names of variables
	"openai key", "anthropic key", "gemini key", "groq key", "mistral key", "cohere key", "deepseek key", "perplexity key", "openrouter key", "together key",
	"replicate key", "elevenlabs key", "huggingface key", "tavily key", "exa key", "brave key", "firecrawl key", "serper key", "serp key", "jina key",
	"pinecone key", "langsmith key", "supabase key", "anon key", "stripe key", "sendgrid key", "mailgun key", "twilio key", "notion key", "linear key",
	"airtable key", "algolia key", "datadog key", "newrelic key", "grafana key", "mapbox key", "maps key", "weather key", "youtube key", "azure key",
}

// lastWords are the names of secrets if they are the last word, as in DB_PASS, X-Jwt and
// redisPass, but not in compass.
var lastWords = map[string]bool{
	"pass": true, "pw": true, "jwt": true, "bearer": true, "otp": true, "pat": true, "creds": true, "credentials": true, "auth": true,
	"senha": true,
}

// qualifiers are words that may follow the name of a secret, as in SECRET_KEY_BASE.
var qualifiers = setOf("base prod production dev development stage staging test live sandbox old new previous current primary secondary backup ro rw " +
	"value string str confirmation confirm v bedrock")

// unqualified returns a name without the qualifiers and digits at its end.
func unqualified(name string) string {
	for len(name) <= maxName {
		name = strings.TrimRight(name, figureSigns+"-_.[] ")
		last := lastWord(name)
		if len(last) == len(name) || !qualifiers[last] {
			break
		}
		name = name[:len(name)-len(last)]
	}
	return name
}

// singular returns a plain name without the s of several keys or passwords. Several tokens may be a count.
func singular(plain string) string {
	if strings.HasSuffix(plain, "keys") || strings.HasSuffix(plain, "passwords") {
		return plain[:len(plain)-1]
	}
	return plain
}

// wholeNames are the names of secrets if they are the whole name.
var wholeNames = map[string]bool{
	"pass": true, "auth": true, "jwt": true, "pw": true, "bearer": true, "pin": true, "otp": true, "cvv": true, "cvc": true, "ssn": true, "pat": true,
	"sig": true, "creds": true, "credentials": true, "secrets": true, "passwords": true, "apikeys": true, "dsn": true,
	"cookies": true, "apitokens": true, "accesstokens": true, "authtokens": true, "refreshtokens": true, "accesskeys": true,
	"secretkeys": true, "privatekeys": true, "sessionids": true,
}

// openNames end like the names of secrets, but are not: names of the protocol and of APIs.
var openNames = map[string]bool{
	"progresstoken": true, "nextpagetoken": true, "pagetoken": true, "nexttoken": true, "continuationtoken": true,
	"synctoken": true, "maxtoken": true, "totaltoken": true, "eostoken": true, "bostoken": true, "padtoken": true,
	"oldpwd": true, "cookie2": true,
}

// isDir reports whether a value is the working directory in the variable PWD of a shell.
func isDir(name string, value []byte) bool {
	if plainName(name) != "pwd" || len(value) == 0 {
		return false
	}
	return value[0] == '/' || len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
}

// weakName reports whether the name of a secret is ambiguous: a token may be a word or a
// coin, a session a row of a table. A short number with such a name is not a secret.
func weakName(name string) bool {
	if name = unqualified(name); !wholeNames[plainName(name)] && lastWords[lastWord(name)] {
		return true
	}
	name = plainName(name)
	switch {
	case name == "token", strings.HasSuffix(name, "sessionid"), strings.HasSuffix(name, "cookie"), name == "sig":
		return true
	case !strings.HasSuffix(name, "token"):
		return false
	}
	for _, kind := range []string{"access", "refresh", "auth", "api", "bearer", "bot", "secret", "session", "csrf", "private"} {
		if strings.HasSuffix(name, kind+"token") {
			return false
		}
	}
	return true
}

// figureNames are the names of secrets that are short numbers.
var figureNames = map[string]bool{
	"pin": true, "otp": true, "cvv": true, "cvc": true, "ssn": true, "passcode": true, "password": true, "onetimecode": true,
}

// maxName is the maximum length of a name in bytes.
const maxName = 128

// plainName returns a name in lower case, without separators.
func plainName(name string) string {
	if len(name) > maxName || strings.IndexByte(name, '\n') >= 0 {
		return ""
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case r < utf8.RuneSelf && alnum[r]:
			b.WriteByte(fold(name[i]))
		case r >= utf8.RuneSelf && unicode.IsLetter(r):
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// SecretName reports whether the value of a member, a parameter, a header field or a
// variable of this name is a secret.
func SecretName(name string) bool {
	plain := plainName(name)
	if wholeNames[plain] {
		return true
	}
	if openNames[plain] || strings.HasPrefix(name, "node_modules/") {
		return false
	}
	if endsSecret(plain) || plain != "" && lastWords[lastWord(name)] {
		return true
	}
	short := unqualified(name)
	if short != name {
		plain = plainName(short)
	}
	one := singular(plain)
	if short == name && one == plain || openNames[one] {
		return false
	}
	last := lastWord(short)
	return endsSecret(one) || len(last) < len(short) && last != "auth" && lastWords[last]
}

func endsSecret(plain string) bool {
	for _, s := range endings {
		if strings.HasSuffix(plain, s) {
			return true
		}
	}
	return false
}

// lastWord returns the last word of a name in lower case. Words are separated by
// punctuation or begin with a capital; auth must be separated by punctuation, as an Auth
// suffix may name a method of authentication.
func lastWord(name string) string {
	name = strings.TrimRight(name, "-_.[] ")
	at := strings.LastIndexAny(name, "-_./[] ") + 1
	last := name[at:]
	if at > 0 && strings.EqualFold(last, "auth") {
		return "auth"
	}
	for i := len(last) - 1; i > 0; i-- {
		if last[i] >= 'A' && last[i] <= 'Z' && (last[i-1] >= 'a' && last[i-1] <= 'z' || last[i-1]-'0' < 10) {
			if last = last[i:]; strings.EqualFold(last, "auth") {
				return ""
			}
			break
		}
	}
	return strings.ToLower(last)
}

// endings are the plain names of secretNames.
var endings = func() (list []string) {
	for _, n := range secretNames {
		list = append(list, plainName(n))
	}
	return list
}()

// nameWords returns words for the automaton: a text with the name of a secret and its value
// has one of them.
func nameWords() (list []string) {
	for _, n := range secretNames {
		list = append(list, strings.ReplaceAll(n, " ", ""))
		if first, size := utf8.DecodeRuneInString(n); unicode.ToUpper(first) != first && first >= utf8.RuneSelf {
			list = append(list, string(unicode.ToUpper(first))+n[size:]) // the automaton ignores the case of ASCII only
		}
		if strings.Contains(n, " ") {
			list = append(list, strings.ReplaceAll(n, " ", "_"), strings.ReplaceAll(n, " ", "-"), strings.ReplaceAll(n, " ", "."), n)
		}
	}
	short := slices.Collect(maps.Keys(wholeNames))
	for n := range lastWords {
		if !wholeNames[n] {
			short = append(short, n)
		}
	}
	for _, n := range short {
		for _, end := range []string{`"`, `\"`, "=", ":", " "} {
			list = append(list, n+end)
		}
	}
	for _, n := range []string{"pass", "pin", "otp", "cvv", "cvc", "ssn"} { // of columns
		for _, end := range []string{",", ";", "|", "\t", "\r", "\n", `\`} {
			list = append(list, n+end)
		}
	}
	list = append(list, "pass_")
	slices.Sort(list)
	return list
}
