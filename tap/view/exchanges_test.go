package view

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// Exchanges that never end are forgotten, those that came last are not.
func TestExchangesAreBounded(t *testing.T) {
	var x exchanges
	const all = 3 * tap.MaxExchanges
	for i := range uint64(all) {
		x.put(i, newExchange(strings.Repeat("G", 100)))
		x.put(i, exchange{status: int(i)})
		if n := len(x.young) + len(x.old); n > tap.MaxExchanges {
			t.Fatalf("%d exchanges after %d", n, i)
		}
	}
	for i := uint64(all - tap.MaxExchanges/2); i < all; i++ {
		if known, ok := x.get(i); !ok || known.status != int(i) {
			t.Fatalf("exchange %d: %v %+v", i, ok, known)
		}
		x.over(i)
	}
	if _, ok := x.get(0); ok || len(x.young) > 0 && len(x.old) > 0 {
		t.Errorf("%v, %d and %d are left", ok, len(x.young), len(x.old))
	}
	if e := newExchange(strings.Repeat("G", 100)); len(e.method) != maxMethod {
		t.Errorf("%q", e.method)
	}
}
