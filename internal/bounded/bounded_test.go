package bounded

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// A Map behaves like a slice of its keys in the order of their age.
func TestMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := Map[int, int]{Max: 8}
	values, ages := map[int]int{}, []int{}
	for i := range 20_000 {
		key := rng.IntN(20)
		at := slices.Index(ages, key)
		switch rng.IntN(5) {
		case 0:
			m.Delete(key)
			if delete(values, key); at >= 0 {
				ages = slices.Delete(ages, at, at+1)
			}
		case 1:
			if m.Touch(key); at >= 0 {
				ages = append(slices.Delete(ages, at, at+1), key)
			}
		case 2:
			if p := m.At(key); (p != nil) != (at >= 0) {
				t.Fatalf("step %d: At(%d) is %v", i, key, p)
			} else if p != nil {
				*p, values[key] = -i, -i
			}
		default:
			want, drops := 0, false
			if values[key] = i; at >= 0 {
				ages = slices.Delete(ages, at, at+1)
			}
			if ages = append(ages, key); len(ages) > m.Max {
				want, drops = values[ages[0]], true
				delete(values, ages[0])
				ages = ages[1:]
			}
			if got, ok := m.Put(key, i); got != want || ok != drops {
				t.Fatalf("step %d: dropped %d %v, want %d %v", i, got, ok, want, drops)
			}
		}
		var keys []int
		for key, value := range m.All {
			if got, ok := m.Get(key); got != value || !ok {
				t.Fatalf("step %d: Get(%d) is %d, All has %d", i, key, got, value)
			}
			keys = append(keys, key)
		}
		if !slices.Equal(keys, ages) || !maps.Equal(maps.Collect(m.All), values) || m.Len() != len(ages) {
			t.Fatalf("step %d: %v, want %v", i, keys, ages)
		}
		if len(ages) > 0 && m.Newest() != values[ages[len(ages)-1]] {
			t.Fatalf("step %d: the newest is %d", i, m.Newest())
		}
	}
}

// What All yields may be deleted.
func TestDeleteWhileRanging(t *testing.T) {
	m := Map[int, int]{Max: 8}
	for i := range 8 {
		m.Put(i, i)
	}
	for key := range m.All {
		if key%2 == 0 {
			m.Delete(key)
		}
	}
	if got := maps.Collect(m.All); !maps.Equal(got, map[int]int{1: 1, 3: 3, 5: 5, 7: 7}) || m.Len() != 4 {
		t.Error(got)
	}
}
