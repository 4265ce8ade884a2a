package redact

// An automaton finds many words in a text in one pass (Aho and Corasick, 1975).
// Letters of ASCII match in either case.
type automaton struct {
	// class says which of the bytes of the words a byte is, 0 for none of them; so
	// a row of the table has a few columns, and the table stays in the cache.
	class   [256]uint8
	classes int32
	next    []int32   // a row a state, a column a class
	found   [][]int32 // the words that end in a state
	words   []string
}

// fold makes a byte's letter small.
func fold(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// newAutomaton builds an automaton of words that are not empty.
func newAutomaton(words []string) *automaton {
	a := &automaton{words: words, classes: 1}
	for _, w := range words {
		for j := range len(w) {
			if c := fold(w[j]); a.class[c] == 0 { // without capitals there are at most 230
				a.class[c] = uint8(a.classes)
				a.classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[c|0x20]
	}
	a.state()
	for i, w := range words {
		s := int32(0)
		for j := range len(w) {
			at := s*a.classes + int32(a.class[w[j]])
			if a.next[at] == 0 {
				a.next[at] = a.state()
			}
			s = a.next[at]
		}
		a.found[s] = append(a.found[s], int32(i))
	}
	a.link()
	return a
}

// state adds a state.
func (a *automaton) state() int32 {
	a.next = append(a.next, make([]int32, a.classes)...)
	a.found = append(a.found, nil)
	return int32(len(a.found) - 1)
}

// link turns the tree of words into an automaton: where a word does not go on,
// the longest end of what was read that begins another does.
func (a *automaton) link() {
	fail := make([]int32, len(a.found))
	queue := make([]int32, 0, len(a.found))
	for _, s := range a.next[:a.classes] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for head := 0; head < len(queue); head++ {
		row := queue[head] * a.classes
		back := fail[queue[head]] * a.classes
		for c := range a.classes {
			t := a.next[row+c]
			if t == 0 {
				a.next[row+c] = a.next[back+c]
				continue
			}
			fail[t] = a.next[back+c]
			a.found[t] = append(a.found[t], a.found[fail[t]]...)
			queue = append(queue, t)
		}
	}
}

// step returns the state after a byte.
func (a *automaton) step(s int32, c byte) int32 { return a.next[s*a.classes+int32(a.class[c])] }

// any reports whether one of the words occurs.
func (a *automaton) any(text []byte) bool {
	s := int32(0)
	for _, c := range text {
		if s = a.step(s, c); a.found[s] != nil {
			return true
		}
	}
	return false
}

// each calls fn with each word that occurs and where, in the order of their ends.
func (a *automaton) each(text []byte, fn func(word int32, start, end int)) {
	s := int32(0)
	for i, c := range text {
		s = a.step(s, c)
		for _, w := range a.found[s] {
			fn(w, i+1-len(a.words[w]), i+1)
		}
	}
}
