package record

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// exchange returns what is recorded of a request and the body of its response.
func exchange(target string, header [][2]string, body string) (request, response string) {
	var head, all kept
	m := NewMasker([]byte("a key"), nil, &head)
	m.Event(1, tap.Event{Name: tap.EventRequest, Method: "POST", Target: target, Header: header})
	m.next = &all
	m.Piece(1, tap.ToClient, tap.FormBody, []byte(body), true)
	return head.all.String(), all.all.String()
}

// A key inside a masked value is masked where the server repeats it.
func TestSecretsInsideMaskedValues(t *testing.T) {
	const key = "kQ8vZ2mN4pL7xW3s" // looks random
	const word = "sunflower"       // does not
	settings := `{"debug":true,"apiKey":"` + word + `","other":{"name":"` + key + `"}}`
	lists := `{"api_keys":["` + word + `"],"x":["` + key + `"]}`
	for _, c := range []struct {
		target, name, value string
		words               string
	}{
		{target: "/mcp?config=" + url.QueryEscape(settings), words: key + " " + word},
		{target: "/mcp?config=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(settings))), words: key + " " + word},
		{target: "/mcp?config=" + base64.RawURLEncoding.EncodeToString([]byte(settings)), words: key + " " + word},
		{target: "/mcp?config=" + url.QueryEscape(strings.ReplaceAll(lists, "api_keys", "apiKey")), words: key + " " + word},
		{name: "X-Secret", value: settings, words: key + " " + word},
		{name: "Authorization", value: `Token token="` + word + `"`, words: word},
		{name: "Authorization", value: `Token token=` + word, words: word},
		{name: "Authorization", value: `Digest username="me", uri="/mcp", qop=auth, response="` + key + `"`, words: key},
		{name: "Authorization", value: `Hawk id="abc", mac="` + key + `="`, words: key + "="},
		{name: "Authorization", value: `OAuth oauth_token="` + key + `%3D"`, words: key + "="},
		{name: "Cookie", value: `a=b; sid="` + key + `"`, words: key},
		{name: "Cookie", value: "sid=%5A" + key, words: "Z" + key},
		{name: "Cookie", value: "sid=s%3A" + key + ".a%2Bb", words: "s:" + key + ".a+b"},
		{name: "Authorization", value: "Basic " + base64.StdEncoding.EncodeToString([]byte(word+":")), words: word},
		{name: "Authorization", value: "Basic " + base64.StdEncoding.EncodeToString([]byte(word+":x-oauth-basic")), words: word},
		{name: "Authorization", value: "Bearer Bearer " + word, words: word},
		{name: "Authorization", value: "Token me:" + word, words: word},
		{name: "X-Api-Key", value: "Bearer " + word, words: word},
		{name: "X-Auth", value: "me:" + word, words: word},
		{name: "Authorization", value: "Token " + key + ":x", words: key},
		{target: "/mcp?connection_string=postgres%3A%2F%2Fu%3A" + word + "%40h", words: word},
		{target: "/mcp?config=" + url.QueryEscape("{ "+settings[1:]), words: key + " " + word},
		{target: "/mcp?auth=Bearer%20" + word, words: word},
		{name: "Cookie", value: "a=" + key + ", b=2", words: key},
		{name: "Cookie", value: "sid=s%3A" + key + ".a%2Bb", words: key},
		{name: "Cookie", value: "prefs=" + url.QueryEscape(settings), words: key + " " + word},
	} {
		for w := range strings.FieldsSeq(c.words) {
			body := `{"result":{"echo":"` + w + `"}}`
			request, response := exchange(c.target, [][2]string{{c.name, c.value}}, body)
			if strings.Contains(request+response, w) || !json.Valid([]byte(response)) {
				t.Errorf("%s %s: %s: recorded %s and %s", c.target, c.name, c.value, request, response)
			}
		}
	}
}

// Harmless parts of a masked value are kept in other places, and JSON stays valid.
func TestHarmlessInsideMaskedValues(t *testing.T) {
	for _, c := range []struct{ target, name, value, body string }{
		{target: "/mcp?config=%7B%22debug%22%3Atrue%7D", body: `{"structuredContent":{"debug":true}}`},
		{target: "/mcp?config=%7B%22theme%22%3A%22dark-mode%22%7D", body: `{"structuredContent":{"theme":"dark-mode"}}`},
		{name: "Cookie", value: `prefs={"theme":"dark"}`, body: `{"theme":"dark","a":{"theme":"dark"}}`},
		{name: "Cookie", value: "n=true,false", body: `[true,false]`},
		{name: "Authorization", value: "Basic " + base64.StdEncoding.EncodeToString([]byte("somebody:kQ8vZ2mN")), body: `{"user":"somebody"}`},
		{name: "X-Auth", value: "https://example.com:8080", body: `{"a":"//example.com:8080"}`},
		{name: "Mcp-Session-Id", value: `"result":{`, body: `{"result":{"a":1}}`},
		{name: "Authorization", value: "Bearer 1,true,2", body: `[1,true,2]`},
		{name: "Authorization", value: `Digest username="somebody", realm="my-realm-1", response="kQ8vZ2mN4pL7xW3s"`, body: `{"user":"somebody","realm":"my-realm-1"}`},
	} {
		if _, response := exchange(c.target, [][2]string{{c.name, c.value}}, c.body); response != c.body {
			t.Errorf("%s %s: %s: %s becomes %s", c.target, c.name, c.value, c.body, response)
		}
	}
}

// The escapes of JSON in .NET and Gson do not hide a token.
func TestRepeatedInEscapes(t *testing.T) {
	for _, echo := range []string{`kq8v+Z2m='x`, `kq8v\u002BZ2m=\u0027x`, `kq8v+Z2m\u003d\u0027x`} {
		body := `{"echo":"` + echo + `"}`
		if _, got := exchange("/mcp", [][2]string{{"Authorization", "Bearer kq8v+Z2m='x"}}, body); !strings.HasPrefix(got, `{"echo":"masked:`) {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}
