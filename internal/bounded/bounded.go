// Package bounded has a map of limited size, for state that must not grow with a
// recording.
package bounded

import "container/list"

// A Map holds at most Max values. Beyond that it drops the oldest: the one whose key was
// put, or touched, longest ago. Set Max before the first Put. It must not be used by
// several goroutines at once.
type Map[K comparable, V any] struct {
	Max   int
	nodes map[K]*list.Element // of *node[K, V]
	order list.List           // the oldest first
}

type node[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int { return len(m.nodes) }

// Get returns the value of a key and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	if v := m.At(key); v != nil {
		return *v, true
	}
	return value, false
}

// At returns a pointer to the value of a key, nil if there is none. It is valid until
// the key is deleted or dropped.
func (m *Map[K, V]) At(key K) *V {
	if e := m.nodes[key]; e != nil {
		return &e.Value.(*node[K, V]).value
	}
	return nil
}

// Put sets the value of a key and makes it the newest. It returns the value that was
// dropped for it, if one was.
func (m *Map[K, V]) Put(key K, value V) (dropped V, ok bool) {
	if v := m.At(key); v != nil {
		*v = value
		m.Touch(key)
		return dropped, false
	}
	if m.nodes == nil {
		m.nodes = map[K]*list.Element{}
	}
	m.nodes[key] = m.order.PushBack(&node[K, V]{key, value})
	if len(m.nodes) > m.Max {
		oldest := m.order.Front().Value.(*node[K, V])
		m.Delete(oldest.key)
		return oldest.value, true
	}
	return dropped, false
}

// Touch makes a key the newest, if it is there.
func (m *Map[K, V]) Touch(key K) {
	if e := m.nodes[key]; e != nil {
		m.order.MoveToBack(e)
	}
}

// Delete removes a key, if it is there.
func (m *Map[K, V]) Delete(key K) {
	if e := m.nodes[key]; e != nil {
		m.order.Remove(e)
		delete(m.nodes, key)
	}
}

// Newest returns the newest value, the zero value of an empty map.
func (m *Map[K, V]) Newest() (value V) {
	if e := m.order.Back(); e != nil {
		value = e.Value.(*node[K, V]).value
	}
	return value
}

// All yields the keys and values, the oldest first. The key that was yielded may be
// deleted; other changes are not allowed.
func (m *Map[K, V]) All(yield func(K, V) bool) {
	for e := m.order.Front(); e != nil; {
		n := e.Value.(*node[K, V])
		e = e.Next()
		if !yield(n.key, n.value) {
			return
		}
	}
}
