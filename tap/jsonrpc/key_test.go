package jsonrpc

import (
	"strings"
	"testing"
)

// Keys of values of any length and spelling are the same only if the values are equal.
func TestKeys(t *testing.T) {
	long := strings.Repeat("a", MaxWord+10)
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`},
		{`"1"`, `"\u0031"`},
		{`9007199254740993`},
		{`9007199254740992`, `9007199254740992.0`},
		{`"` + long + `"`, `"\u0061` + long[1:] + `"`},
		{`"` + long + `b"`},
		{`"` + long + `c"`},
		{`"\ud800"`},
		{`"\ud801"`},
		{`"` + "\ufffd" + `"`},
		{`""`},
		{`true`},
		{`"true"`},
		{`{"a":1}`},
		{`[1]`},
		{strings.Repeat("1", 100)},
		{strings.Repeat("1", 99) + "2"},
	}
	keys := map[string]int{}
	for i, spellings := range same {
		for _, s := range spellings {
			key := string(AppendKey(nil, Value(s)))
			if j, ok := keys[key]; ok && j != i {
				t.Errorf("%.40s has the key of %.40s", s, same[j][0])
			} else if !ok && s != spellings[0] {
				t.Errorf("%.40s does not have the key of %.40s", s, spellings[0])
			}
			keys[key] = i
			if len(key) > 2*keySize {
				t.Errorf("the key of %.40s has %d bytes", s, len(key))
			}
		}
	}
	for _, absent := range []string{"", "null"} {
		if key := AppendKey(nil, Value(absent)); len(key) != 0 {
			t.Errorf("%q has the key %q", absent, key)
		}
	}
}

func TestKeysOfIDs(t *testing.T) {
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`, `1.000`},
		{`0`, `-0`, `0.0`, `0e99`, `-0.0e-5`},
		{`-1`, `-1.0`, `-10e-1`},
		{`"1"`, `"\u0031"`},
		{`""`}, {`"n1"`}, {`"s1"`},
		{`120`, `1.2e2`, `12e1`},
		{`1e40`, `1` + strings.Repeat("0", 40), `10e39`},
		{`1e400`, `10e399`},
		{`0.001`, `1e-3`},
		{`9007199254740993`}, {`9007199254740992`, `9007199254740992.0`},
		{`12345678901234567890123456789012345678901234567890`},
		{`12345678901234567890123456789012345678901234567891`},
		{`1e99999999999999999999`}, {`"` + strings.Repeat("x", MaxWord) + `"`}, {`"` + strings.Repeat("x", MaxWord) + `1"`},
	}
	seen := map[string]string{}
	for _, group := range same {
		key := string(AppendKey(nil, []byte(group[0])))
		if other, ok := seen[key]; ok || key == "" {
			t.Errorf("%.20s and %.20s have one key %.20s", group[0], other, key)
		}
		seen[key] = group[0]
		for _, id := range group[1:] {
			if got := string(AppendKey(nil, []byte(id))); got != key {
				t.Errorf("%s has key %s, %s has %s", id, got, group[0], key)
			}
		}
	}
	for _, none := range []string{"", "null"} {
		if got := AppendKey(nil, []byte(none)); len(got) != 0 {
			t.Errorf("%q has key %q", none, got)
		}
	}
}
