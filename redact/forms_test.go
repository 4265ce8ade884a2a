package redact

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// spellings are the forms in which a program may write a value, each with a slot for it.
func spellings() []slot {
	std, web := base64.StdEncoding, base64.RawURLEncoding
	percent := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
		return b.String()
	}
	small := func(s string) string { return strings.ToLower(percent(s)) }
	return []slot{
		{name: "as it is", spell: plainly, text: "it is ‹› here"},
		{name: "base64", spell: base64of(std, "it is the one ", ""), text: "got ‹› here"},
		{name: "base64 for URLs", spell: base64of(web, "it is the one ", ""), text: "got ‹› here"},
		{name: "base64 of a pair", spell: base64of(std, "somebody@example.com:", ""), text: "X-Note: ‹›"},
		{name: "query", spell: url.QueryEscape, text: "/cb?q=‹›&page=2"},
		{name: "path", spell: url.PathEscape, text: "/cb/‹› here"},
		{name: "all of it escaped", spell: percent, text: "/cb?q=‹›&page=2"},
		{name: "small escapes", spell: small, text: "/cb?q=‹›&page=2"},
		{name: "escaped twice", spell: times(2, url.QueryEscape), text: "/cb?q=‹›&page=2"},
		{name: "quoted", spell: quoted, text: `"x":"‹›",`},
		{name: "quoted twice", spell: times(2, quoted), text: `{\"x\":\"‹›\",`},
		{name: "unicode", spell: unicoded, text: `"x":"‹›",`},
		{name: "escaped in quotes", spell: func(s string) string { return quoted(url.QueryEscape(s)) }, text: `"u":"/?q=‹›&page=2",`},
	}
}

// A value that has the name of a secret once is found in each form in which a program
// may write it in other frames, before and after.
func TestKnownValuesInOtherForms(t *testing.T) {
	p := &planter{rand.New(rand.NewPCG(5, 6))}
	r := New(testOptions())
	for _, value := range []string{
		p.of(letters, 12), p.of(letters, 40), p.of(letters, 5) + `"` + p.of(letters, 5) + `\/` + p.of(letters, 5),
		"p4ss " + p.of(letters, 6) + "+&=%25?", "pä55wörd☃" + p.of(letters, 3), "a1!b2?c3$d4", `a1"b"c"d`,
	} {
		for _, s := range spellings() {
			for _, lane := range []tap.Lane{tap.Stderr, tap.ToClient} {
				s.lane = lane
				knownOnce(t, r, value, s)
			}
		}
	}
}

// knownOnce plants a value that has a name in another frame.
func knownOnce(t *testing.T, r *Redactor, value string, s slot) {
	t.Helper()
	r.Again()
	r.known = known{}
	raw := strings.ReplaceAll(s.text, "‹›", s.spell(value))
	whole := raw + "\n"
	if s.lane == tap.ToClient {
		whole = `{"id":1,"result":"` + quoted(raw) + `"}`
	}
	list := []tap.Frame{
		{Seq: 1, Lane: s.lane, Raw: []byte(whole)},
		{Seq: 2, Lane: tap.ToServer, Raw: []byte(`{"id":1,"method":"x","params":{"password":"` + quoted(value) + `"}}`)},
		{Seq: 3, Lane: s.lane, Raw: []byte(whole)},
	}
	out := twice(r, list)
	if left := trace(out, value); left != "" {
		t.Errorf("%q, %s: %s is left in %s", value, s.name, left, out[2])
	}
	if !bytes.Equal(out[0], out[2]) {
		t.Errorf("%q, %s: %s before, %s after", value, s.name, out[0], out[2])
	}
	before, after, _ := strings.Cut(s.text, "‹›")
	if s.lane == tap.Stderr && (!strings.HasPrefix(string(out[2]), before) || !strings.HasSuffix(string(out[2]), after+"\n")) {
		t.Errorf("%q, %s: %s became %s", value, s.name, raw, out[2])
	}
}

// A value with escapes has the pseudonym of the value without them.
func TestOnePseudonymForAllSpellings(t *testing.T) {
	r := New(testOptions())
	of := func(raw string) string {
		out := string(r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(raw)}))
		i := strings.Index(out, prefix)
		if i < 0 {
			t.Fatalf("%s became %s", raw, out)
		}
		return out[i : i+len(prefix)+digits]
	}
	want := of(`{"access_token":"ab+c/d=e1"}`)
	for _, raw := range []string{
		`{"url":"https://h/?access_token=ab%2Bc%2Fd%3De1&x=1"}`, `access_token=ab%2bc%2fd%3de1`, `{"next":"%2Fcb%3Faccess_token%3Dab%252Bc%252Fd%253De1%26x%3D1"}`,
		`{"access_token":"ab+c\/d=\u00651"}`, `"access_token":"ab+c\/d=e1",`, `the token ab+c/d=e1 is`,
	} {
		if got := of(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// Hashes, ids and other random-looking values are kept, also next to a secret.
func TestLongHarmlessValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	p := &planter{rnd}
	r := New(testOptions())
	r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(`{"password":"` + p.of(letters, 20) + `"}`)})
	for range 2000 {
		uuid := p.of(hexes, 8) + "-" + p.of(hexes, 4) + "-4" + p.of(hexes, 3) + "-a" + p.of(hexes, 3) + "-" + p.of(hexes, 12)
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"x","_meta":{"progressToken":"%s"},`+
			`"arguments":{"sha1":"%s","sha256":"%s","cursor":"%s","trace":"00-%s-%s-01","etag":"W/\"%s\"","slug":"%s","ref":"refs/heads/%s"},"cursor":"%s","requestState":"%s"}}`,
			uuid, p.of(letters, 22), p.of(hexes, 40), p.of(hexes, 64), p.of(letters, 32), p.of(hexes, 32), p.of(hexes, 16), p.of(hexes, 32),
			p.of(letters[:26], 12)+"-"+p.of(letters[:26], 9), p.of(letters, 15), base64.StdEncoding.EncodeToString([]byte(p.of(letters, 30))), p.of(letters, 60))
		if got := r.Frame(&tap.Frame{Seq: 2, Lane: tap.ToServer, Raw: []byte(raw)}); string(got) != raw {
			t.Fatalf("%s\nbecame\n%s", raw, got)
		}
	}
}
