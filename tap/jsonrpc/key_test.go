package jsonrpc

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

// A number has one spelling, with all digits of an integer that has few, and it
// goes behind what is there already.
func TestAppendNumber(t *testing.T) {
	zeros := strings.Repeat("0", 100)
	for _, c := range []struct{ number, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.0", "0"}, {"-0.00e-7", "0"}, {"0e999999999", "0"},
		{"7", "7"}, {"-7", "-7"}, {"1.0", "1"}, {"10e-1", "1"}, {"0.1E+1", "1"}, {"-30e-1", "-3"},
		{"120", "120"}, {"1.2e2", "120"}, {"12E1", "120"}, {"1.00e2", "100"},
		{"0.001", "1e-3"}, {"1.50", "15e-1"}, {"-1.5E-0", "-15e-1"},
		// What a float cannot hold stays apart.
		{"9007199254740993", "9007199254740993"}, {"9007199254740992.0", "9007199254740992"},
		// An integer is written out up to 32 digits, a sign not counted.
		{"10000000000000000000000000000000", "10000000000000000000000000000000"}, {"1e31", "10000000000000000000000000000000"},
		{"-1000000000000000000000000000000", "-1000000000000000000000000000000"}, {"-1e30", "-1000000000000000000000000000000"},
		{"-1e31", "-10000000000000000000000000000000"}, {"-10000000000000000000000000000000", "-10000000000000000000000000000000"},
		{"1e32", "1e32"}, {"1" + zeros, "1e100"}, {"1" + zeros + ".0", "1e100"},
		{"12345678901234567890123456789012", "12345678901234567890123456789012"},
		{"123456789012345678901234567890123", "123456789012345678901234567890123e0"},
		{"1e400", "1e400"}, {"10e399", "1e400"}, {"0." + zeros + "1", "1e-101"},
		// An exponent beyond any sense stays as it is.
		{"1e99999999999", "1e99999999999"}, {"1.0e99999999999", "1.0e99999999999"},
	} {
		if got := string(AppendNumber([]byte("n"), []byte(c.number))); got != "n"+c.want {
			t.Errorf("%.50s: %.50s, want n%.50s", c.number, got, c.want)
		}
	}
}

// Exactly the numbers of equal value share their spelling.
func FuzzAppendNumber(f *testing.F) {
	for _, s := range []string{"1 1.0", "-0 0", "1e2 100", "9007199254740993 9007199254740992", "-1e31 1e31", "0.5 5e-1"} {
		a, b, _ := strings.Cut(s, " ")
		f.Add(a, b)
	}
	value := func(s string) (*big.Rat, bool) {
		if !hasValue(s) {
			return nil, false
		}
		return new(big.Rat).SetString(s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok := value(a)
		if !ok {
			return
		}
		y, ok := value(b)
		if !ok {
			return
		}
		s, r := AppendNumber(nil, []byte(a)), AppendNumber(nil, []byte(b))
		if bytes.Equal(s, r) != (x.Cmp(y) == 0) {
			t.Errorf("%s is %s, %s is %s", a, s, b, r)
		}
	})
}

// hasValue reports whether s is a number in JSON, and one whose value can be
// worked out in no time.
func hasValue(s string) bool {
	if !json.Valid([]byte(s)) || strings.Trim(s, "-+.eE0123456789") != "" {
		return false
	}
	i := strings.IndexAny(s, "eE")
	return i < 0 || len(s)-i <= 5
}

// Words of any length and spelling are the same only when they are equal.
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
				t.Errorf("%.40s is taken for %.40s", s, same[j][0])
			} else if !ok && s != spellings[0] {
				t.Errorf("%.40s is not taken for %.40s", s, spellings[0])
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
