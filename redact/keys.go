package redact

import (
	"slices"
	"strings"
)

// Names are compared without case and without what parts their words, so that
// API_KEY, api-key and apiKey are one.

// secretNames are names whose values are secrets, whatever stands before them:
// GITHUB_TOKEN ends in token, x-api-key in apikey. A blank parts their words.
var secretNames = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "api key", "secret key", "access key",
	"private key", "signing key", "encryption key", "master key", "account key", "auth key", "session key", "client key",
	"shared access signature", "amz signature", "goog signature", "client assertion", "code verifier", "device code",
	"authorization", "cookie", "credential", "connection string", "session id", "one time code",
}

// wholeNames are secrets only where they are the whole name.
var wholeNames = map[string]bool{
	"pass": true, "auth": true, "jwt": true, "pin": true, "otp": true, "cvv": true, "cvc": true, "ssn": true, "pat": true,
	"sig": true, "creds": true, "credentials": true, "secrets": true, "passwords": true, "apikeys": true, "dsn": true,
}

// openNames end like secrets and are none: words of the protocol and of pages.
var openNames = map[string]bool{
	"progresstoken": true, "nextpagetoken": true, "pagetoken": true, "nexttoken": true, "continuationtoken": true,
	"synctoken": true, "maxtoken": true, "totaltoken": true, "eostoken": true, "bostoken": true, "padtoken": true,
}

// numberNames are secrets also where the value is a number.
var numberNames = map[string]bool{
	"pin": true, "otp": true, "cvv": true, "cvc": true, "ssn": true, "passcode": true, "password": true, "onetimecode": true,
}

// maxName is the length in bytes beyond which nothing is a name.
const maxName = 128

// plainName returns a name as names are compared.
func plainName(name string) string {
	if len(name) > maxName {
		return ""
	}
	var b strings.Builder
	for i := range len(name) {
		if c := fold(name[i]); alnum[c] {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// secretName reports whether a plain name says that its value is a secret.
func secretName(name string) bool {
	if wholeNames[name] {
		return true
	}
	if openNames[name] {
		return false
	}
	for _, s := range endings {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// endings are the secretNames as plain names.
var endings = func() (list []string) {
	for _, n := range secretNames {
		list = append(list, strings.ReplaceAll(n, " ", ""))
	}
	return list
}()

// nameWords are what the automaton looks for: in whatever holds a secret name and
// its value there is one of them.
func nameWords() (list []string) {
	for _, n := range secretNames {
		list = append(list, strings.ReplaceAll(n, " ", ""))
		if strings.Contains(n, " ") {
			list = append(list, strings.ReplaceAll(n, " ", "_"), strings.ReplaceAll(n, " ", "-"), n)
		}
	}
	for n := range wholeNames {
		for _, end := range []string{`"`, `\"`, "=", ":", "%3d", " "} {
			list = append(list, n+end)
		}
	}
	slices.Sort(list)
	return list
}
