package tap

import "testing"

// Of more than can be open the oldest is forgotten; what is over takes no room.
func TestOpenMap(t *testing.T) {
	const more = 100
	var o openMap[uint64]
	forgot := map[uint64]bool{}
	put := func(key uint64) {
		if old, ok := o.put(key, 2*key); ok {
			forgot[old] = true
		}
	}
	put(1)
	put(2)
	for i := range uint64(3 * MaxExchanges) { // opened and over, some under the same number
		put(3 + i%7)
		o.delete(3 + i%7)
	}
	if len(forgot) > 0 || len(o.order) > 2*len(o.by)+64 {
		t.Fatalf("%v forgotten, %d keys for %d", forgot, len(o.order), len(o.by))
	}
	put(1) // which makes it no younger
	for i := range uint64(MaxExchanges - 2 + more) {
		put(1000 + i)
	}
	if len(forgot) != more || !forgot[2] || !forgot[4] || !forgot[2*(1000+more-3)] || forgot[2*(1000+more-2)] {
		t.Errorf("%d are forgotten", len(forgot))
	}
	if len(o.by) != MaxExchanges || o.get(1) != 0 || o.get(1000+more-2) != 2*(1000+more-2) {
		t.Errorf("%d are held", len(o.by))
	}
}
