// Package bounded has a map of limited size, so that what is remembered of a
// recording does not grow with it.
package bounded

// A Map holds at most Max values and drops the oldest beyond that: the one whose key
// was added, or touched, longest ago. Set Max before the first Put. It must not be
// used by several goroutines at once.
type Map[K comparable, V any] struct {
	Max    int
	nodes  map[K]*node[K, V]
	oldest *node[K, V]
	newest *node[K, V]
}

type node[K comparable, V any] struct {
	key          K
	value        V
	older, newer *node[K, V]
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int { return len(m.nodes) }

// Get returns the value of a key and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	if n := m.nodes[key]; n != nil {
		return n.value, true
	}
	return value, false
}

// At returns where the value of a key is kept, nil if there is none. It is valid
// until the key is deleted or dropped.
func (m *Map[K, V]) At(key K) *V {
	if n := m.nodes[key]; n != nil {
		return &n.value
	}
	return nil
}

// Put sets the value of a key, which keeps its age if it is there. It returns the
// value that was dropped for it, if one was.
func (m *Map[K, V]) Put(key K, value V) (dropped V, ok bool) {
	if n := m.nodes[key]; n != nil {
		n.value = value
		return dropped, false
	}
	if m.nodes == nil {
		m.nodes = map[K]*node[K, V]{}
	}
	n := &node[K, V]{key: key, value: value}
	m.nodes[key] = n
	m.append(n)
	if len(m.nodes) > m.Max {
		dropped, ok = m.oldest.value, true
		m.Delete(m.oldest.key)
	}
	return dropped, ok
}

// Touch makes a key the newest, if it is there.
func (m *Map[K, V]) Touch(key K) {
	if n := m.nodes[key]; n != nil && n != m.newest {
		m.remove(n)
		m.append(n)
	}
}

// Delete removes a key, if it is there.
func (m *Map[K, V]) Delete(key K) {
	if n := m.nodes[key]; n != nil {
		m.remove(n)
		delete(m.nodes, key)
	}
}

// Newest returns the newest value, the zero value of an empty map.
func (m *Map[K, V]) Newest() (value V) {
	if m.newest != nil {
		value = m.newest.value
	}
	return value
}

// All yields the keys and values, the oldest first. Meanwhile the map must not be
// changed, except that the key that was yielded may be deleted.
func (m *Map[K, V]) All(yield func(K, V) bool) {
	for n := m.oldest; n != nil; n = n.newer {
		if !yield(n.key, n.value) {
			return
		}
	}
}

func (m *Map[K, V]) append(n *node[K, V]) {
	n.older, n.newer = m.newest, nil
	if m.newest != nil {
		m.newest.newer = n
	} else {
		m.oldest = n
	}
	m.newest = n
}

func (m *Map[K, V]) remove(n *node[K, V]) {
	if n.older != nil {
		n.older.newer = n.newer
	} else {
		m.oldest = n.newer
	}
	if n.newer != nil {
		n.newer.older = n.older
	} else {
		m.newest = n.older
	}
}
