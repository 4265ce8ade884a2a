package check

import "testing"

func TestCompareNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		order int
		ok    bool
	}{
		{"1", "2", -1, true},
		{"2", "1", 1, true},
		{"1e3", "1000.0", 0, true},
		{"9007199254740992", "9007199254740993", -1, true},
		{"0.1", "0.10000000000000000001", -1, true},
		{"0", "-0.0", 0, true},
		{"0e999999999", "0", 0, true},
		{"1e-999999999", "0", 0, true},
		{"1e999999999", "1", 1, false},
		{"seven", "7", -1, false},
		{"", "1", -1, false},
		{"inf", "1", 1, true},
	} {
		if order, ok := compareNumbers(c.a, c.b); ok != c.ok || ok && order != c.order {
			t.Errorf("compareNumbers(%q, %q) = %d, %t, want %d, %t", c.a, c.b, order, ok, c.order, c.ok)
		}
	}
}
