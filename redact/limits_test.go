package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// Places beyond the maximum count as one, and no secret in them is left.
func TestMorePlacesThanAreRemembered(t *testing.T) {
	var list []tap.Frame
	for i := range MaxFindings + 20 {
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"place%d":{"password":"planted%dx"}}}`, i, i, i)
		list = append(list, tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer, Raw: []byte(raw)})
	}
	r := New(testOptions())
	for i, out := range twice(r, list) {
		if strings.Contains(string(out), "planted") {
			t.Fatalf("frame %d: %s", i+1, out)
		}
	}
	found := r.Findings()
	if len(found) != MaxFindings+1 {
		t.Errorf("%d places", len(found))
	}
	for _, f := range found {
		if want := map[bool]uint64{false: 1, true: 20}[f.Where == "elsewhere"]; f.Times != want {
			t.Errorf("%+v, want %d", f, want)
		}
	}
}

// A known value is found wherever it occurs, if it cannot be an ordinary word.
func TestSearchableValues(t *testing.T) {
	for value, known := range map[string]bool{
		"ABC123": true, "ABCD-EFG1": true, "abc123": true, "A1b2": false, "ABCDEF": false, "HUNTERS": false, "letmein": false,
		"123456": false, "ABCD+EFGH": true, "abcd-efgh": true, "sommerzeit": true, "resources": false, strings.Repeat("A", 20): true,
	} {
		list := []tap.Frame{
			{Seq: 1, Lane: tap.ToServer, Raw: []byte(call(`{"password":"` + value + `"}`))},
			{Seq: 2, Lane: tap.ToClient, Raw: []byte(answer(`{"type":"text","text":"it is ` + value + `, is it"}`))},
		}
		out := twice(New(testOptions()), list)
		if got := !strings.Contains(string(out[1]), value); got != known {
			t.Errorf("%s was found: %v", value, got)
		}
		if strings.Contains(string(out[0]), value) {
			t.Errorf("%s is left", value)
		}
	}
}

// The values of a user's rule are replaced wherever they stand alone. The places of ordinary
// words that are kept are reported.
func TestRuleValuesInOtherPlaces(t *testing.T) {
	for _, tt := range []struct {
		rule, value, text, want string
		kept                    bool
	}{
		{"key:customer", "Erika Mustermann", "for Erika Mustermann's order", "for X's order", false},
		{"key:customer", "Erika Mustermann", "“Erika Mustermann”", "“X”", false},
		{"key:customer", "Erika Mustermann", `{"Erika Mustermann":1}`, `{"X":1}`, false},
		{"key:customer", "Mustermann-Meier", "Frau Mustermann-Meier.", "Frau X.", false},
		{"key:customer", "Jörg", "an JÖRG, Jörg, Jörgen", "an JÖRG, X, Jörgen", false},
		{"key:customer", "Ann", "Ann and Anna", "X and Anna", false},
		{"path:$.params.arguments.customer", "sommerzeit", "it is sommerzeit", "it is X", false},
		{"pattern:^(Ann Lee)$", "Ann Lee", "to Ann Lee", "to X", false},
		{"key:customer", "text", "the text", "the text", true},
		{"key:customer", "order", "an order", "an order", true},
		{"key:customer", "Resources", "Resources", "Resources", true},
		{"key:customer", "kunden", `{"kunden":"kunden"}`, `{"kunden":"X"}`, false},
		{"key:customer", "content", `{"contentId":1}`, `{"contentId":1}`, false},
	} {
		t.Run(tt.rule+" "+tt.value, func(t *testing.T) {
			rule, err := ParseRule(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			other, err := ParseRule("key:other")
			if err != nil {
				t.Fatal(err)
			}
			opt := testOptions()
			opt.Rules = []Rule{rule, other}
			r := New(opt)
			text, _ := json.Marshal(tt.text)
			want, _ := json.Marshal(tt.want)
			out := twice(r, []tap.Frame{
				{Seq: 1, Lane: tap.ToClient, Raw: []byte(answer(`{"type":"text","text":` + string(text) + `}`))},
				{Seq: 2, Lane: tap.ToServer, Raw: []byte(call(`{"customer":"` + tt.value + `"}`))},
			})
			if unused := r.Unused(); len(unused) != 1 || unused[0] != "key:other" {
				t.Errorf("unused: %q", unused)
			}
			if got := pseudonyms.ReplaceAllString(string(out[1]), "X"); got != call(`{"customer":"X"}`) {
				t.Errorf("call: %s", got)
			}
			if got := pseudonyms.ReplaceAllString(string(out[0]), "X"); got != answer(`{"type":"text","text":`+string(want)+`}`) {
				t.Errorf("result: %s", got)
			}
			kept := r.Kept()
			if tt.kept != (len(kept) == 1) {
				t.Errorf("kept: %+v", kept)
			}
			for _, f := range kept {
				if f.Rule != tt.rule || f.Where != "to_server $.params.arguments.customer" || f.First != 1 {
					t.Errorf("kept: %+v", f)
				}
			}
		})
	}
}

var pseudonyms = regexp.MustCompile(prefix + "[0-9a-f]{12}")
