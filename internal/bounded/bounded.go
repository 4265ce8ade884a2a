// Package bounded provides a map of limited size, for state that must not grow with a
// recording.
package bounded

// A Map holds at most Max values. Beyond that it drops the oldest: the one whose key was
// put, or touched, longest ago. Set Max before the first Put. A Map is not safe for
// concurrent use.
type Map[K comparable, V any] struct {
	Max            int
	nodes          map[K]*node[K, V]
	oldest, newest *node[K, V]
	// spare is a node that was deleted, for the next Put.
	spare *node[K, V]
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

// At returns a pointer to the value of a key, nil if there is none. It is valid until
// the key is deleted or dropped.
func (m *Map[K, V]) At(key K) *V {
	if n := m.nodes[key]; n != nil {
		return &n.value
	}
	return nil
}

// Put sets the value of a key and makes it the newest. It returns the value that was
// dropped for it, if one was.
func (m *Map[K, V]) Put(key K, value V) (dropped V, ok bool) {
	if n := m.nodes[key]; n != nil {
		n.value = value
		m.unlink(n)
		m.link(n)
		return dropped, false
	}
	if m.nodes == nil {
		m.nodes = map[K]*node[K, V]{}
	}
	if len(m.nodes) >= m.Max && m.oldest != nil {
		dropped, ok = m.oldest.value, true
		m.Delete(m.oldest.key)
	}
	n := m.spare
	if m.spare = nil; n == nil {
		n = &node[K, V]{}
	}
	n.key, n.value = key, value
	m.nodes[key] = n
	m.link(n)
	return dropped, ok
}

// link makes a node the newest, and unlink takes it out of the order.
func (m *Map[K, V]) link(n *node[K, V]) {
	n.older, n.newer = m.newest, nil
	if m.newest == nil {
		m.oldest = n
	} else {
		m.newest.newer = n
	}
	m.newest = n
}

func (m *Map[K, V]) unlink(n *node[K, V]) {
	if n.older == nil {
		m.oldest = n.newer
	} else {
		n.older.newer = n.newer
	}
	if n.newer == nil {
		m.newest = n.older
	} else {
		n.newer.older = n.older
	}
}

// Touch makes a key the newest, if it is there.
func (m *Map[K, V]) Touch(key K) {
	if n := m.nodes[key]; n != nil {
		m.unlink(n)
		m.link(n)
	}
}

// Delete removes a key, if it is there.
func (m *Map[K, V]) Delete(key K) {
	n := m.nodes[key]
	if n == nil {
		return
	}
	m.unlink(n)
	delete(m.nodes, key)
	*n = node[K, V]{}
	m.spare = n
}

// Newest returns the newest value, or the zero value if the map is empty.
func (m *Map[K, V]) Newest() (value V) {
	if m.newest != nil {
		value = m.newest.value
	}
	return value
}

// All yields the keys and values, the oldest first. The key that was yielded may be
// deleted; other changes are not allowed.
func (m *Map[K, V]) All(yield func(K, V) bool) {
	for n := m.oldest; n != nil; {
		next := n.newer
		if !yield(n.key, n.value) {
			return
		}
		n = next
	}
}
