package redact

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A number that is a secret in a place with a name is replaced in places without one, as a
// number and in a text. One that may be any other number is not.
func TestKnownNumbers(t *testing.T) {
	for _, c := range []struct {
		named, digits string
		known         bool
	}{
		{`"pin":48291734`, "48291734", true},
		{`"pin":"48291734"`, "48291734", true},
		{`"otp":482917`, "482917", true},
		{`"password":-7391846`, "7391846", true},
		{`"token":976431852`, "976431852", true},
		{`"apiKey":7312984650918273`, "7312984650918273", true},
		{`"url":"https://example.com/?pin=48291734"`, "48291734", true},
		{`"pin":0`, "0", false},
		{`"pin":1`, "1", false},
		{`"pin":200`, "200", false},
		{`"pin":4711`, "4711", false},
		{`"pin":8080`, "8080", false},
		{`"pin":2026`, "2026", false},
		{`"pin":29384`, "29384", false},
		{`"pin":123456`, "123456", false},
		{`"pin":87654321`, "87654321", false},
		{`"pin":500000`, "500000", false},
		{`"pin":482000`, "482000", false},
		{`"pin":112211`, "112211", false},
		{`"pin":20261127`, "20261127", false},
		{`"pin":19840229`, "19840229", false},
	} {
		after := answer(`{"type":"text","text":"it is ` + c.digits + `, or (` + c.digits + `).","n":` + c.digits + `,"list":[1,` + c.digits + `]}`)
		list := []tap.Frame{
			{Seq: 1, Lane: tap.Stderr, Raw: []byte("got " + c.digits + " here\n")},
			{Seq: 2, Lane: tap.ToServer, Raw: []byte(call(`{` + c.named + `}`))},
			{Seq: 3, Lane: tap.ToClient, Raw: []byte(after)},
		}
		out := twice(New(testOptions()), list)
		for _, i := range []int{0, 2} {
			if left := strings.Contains(string(out[i]), c.digits); left == c.known || !c.known && string(out[i]) != string(list[i].Raw) {
				t.Errorf("%s: %s became %s", c.named, list[i].Raw, out[i])
			}
		}
		if !json.Valid(out[2]) {
			t.Errorf("%s: %s is not JSON", c.named, out[2])
		}
		if all := regexp.MustCompile(`redacted-[0-9a-f]{12}|9{4,5}[0-9]+`).FindAllString(string(out[2]), -1); c.known && (len(all) != 4 || all[0] != all[1] || all[2] != all[3]) {
			t.Errorf("%s: more than one pseudonym in a kind of place: %s", c.named, out[2])
		}
	}
	// Digits that are part of another number or of a word are not the number.
	r := New(testOptions())
	r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte(call(`{"pin":48291734}`))})
	for _, raw := range []string{
		`{"a":148291734,"b":482917345,"c":48291734.5,"d":0.48291734,"e":"x48291734","f":"48291734_a","g":"1.48291734","h":"48291734.25","i":4829173e1}`,
	} {
		if got := string(r.Frame(&tap.Frame{Seq: 2, Lane: tap.ToClient, Raw: []byte(raw)})); got != raw {
			t.Errorf("%s became %s", raw, got)
		}
	}
}
