package wrap

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// urlMark begins what the fragment of a wrapped URL says: the URL that it was.
const urlMark = "#mcptap:"

// readURL finds out where the server is.
func (e *Entry) readURL() {
	e.URL = e.word.value.text
	if tap, server, ok := strings.Cut(e.URL, urlMark); ok {
		e.Wrapped, e.Tap, e.URL = true, tap, server
		return
	}
	if _, _, err := splitURL(e.URL); err != nil {
		e.Problem = err.Error()
	}
}

// Origin returns the scheme and host of the server of a URL entry, which is what
// one tap stands in front of.
func (e *Entry) Origin() string {
	origin, _, _ := splitURL(e.URL)
	return origin
}

// splitURL cuts a URL behind its host. A host that the client puts together from
// variables is not known here.
func splitURL(s string) (origin, rest string, err error) {
	scheme := strings.Index(s, "://")
	if scheme < 0 {
		return "", "", fmt.Errorf("%s is no http or https URL", quote(s))
	}
	end := len(s)
	if i := strings.IndexAny(s[scheme+3:], "/?#"); i >= 0 {
		end = scheme + 3 + i
	}
	origin, rest = s[:end], s[end:]
	if strings.ContainsAny(origin, "${}") {
		return "", "", fmt.Errorf("the host in %s is a variable", quote(s))
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", "", fmt.Errorf("%s is no http or https URL", quote(s))
	case u.User != nil:
		return "", "", errors.New("its URL has a password in it, which `mcptap http` does not take")
	}
	return origin, rest, nil
}

// quotes returns how long the quotes of a spelled text are.
func quotes(spelled string) int {
	if len(spelled) >= 6 && spelled[:3] == strings.Repeat(spelled[:1], 3) {
		return 3
	}
	return 1
}

// wrapURL leads the client to the tap. The URL is kept as it is spelled.
func (f *File) wrapURL(e *Entry, listen string) error {
	if listen == "" {
		return fmt.Errorf("%s has a URL, and no tap to lead it to", quote(e.Name))
	}
	v := e.word.value
	_, rest, err := splitURL(e.URL)
	if err != nil {
		return err
	}
	rest, _, _ = strings.Cut(rest, "#")
	if quote(rest) != `"`+rest+`"` || strings.Contains(rest, "'") {
		return fmt.Errorf("%s has an odd URL: %s", quote(e.Name), quote(e.URL))
	}
	at := v.start + quotes(f.src[v.start:v.end])
	f.replace(at, at, "http://"+listen+rest+urlMark)
	return nil
}

// unwrapURL leads the client to the server again.
func (f *File) unwrapURL(e *Entry) error {
	v := e.word.value
	spelled := f.src[v.start:v.end]
	mark := strings.Index(spelled, urlMark)
	if mark < 0 {
		return fmt.Errorf("%s cannot be unwrapped: its URL is spelled in another way than mcptap did", quote(e.Name))
	}
	f.replace(v.start+quotes(spelled), v.start+mark+len(urlMark), "")
	return nil
}
