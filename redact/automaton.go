package redact

// An automaton finds words in a text in one pass (Aho and Corasick, 1975). ASCII letters
// match in either case.
type automaton struct {
	// class maps the bytes that occur in words to columns of the table, and others to 0.
	class   [256]uint8
	classes int32
	// next has a row for each state and a column for each class. A state is the start of
	// its row times two, plus one if words end in it. The state after a byte c is
	// next[s>>1+class[c]].
	next  []int32
	found [][]int32 // the words that end in a state, by row
	words []string
}

// fold returns an ASCII letter in lower case.
func fold(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// newAutomaton builds an automaton for words that are not empty.
func newAutomaton(words []string) *automaton {
	a := &automaton{words: words, classes: 1}
	for _, w := range words {
		for j := range len(w) {
			if c := fold(w[j]); a.class[c] == 0 { // at most 230 classes, as capitals share those of small letters
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

// link adds the transitions for mismatches, to the state of the longest suffix that is the
// beginning of a word.
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
	for i, t := range a.next {
		a.next[i] = 2 * t * a.classes
		if a.found[t] != nil {
			a.next[i]++
		}
	}
}

// at returns the words that end in a state.
func (a *automaton) at(s int32) []int32 { return a.found[s>>1/a.classes] }

// any reports whether a word occurs.
func (a *automaton) any(text []byte) bool {
	next, class, s := a.next, &a.class, int32(0)
	for _, c := range text {
		if s = next[s>>1+int32(class[c])]; s&1 != 0 {
			return true
		}
	}
	return false
}

// each calls fn with each occurrence of a word, in the order of their ends.
func (a *automaton) each(text []byte, fn func(word int32, start, end int)) {
	next, class, s := a.next, &a.class, int32(0)
	for i, c := range text {
		if s = next[s>>1+int32(class[c])]; s&1 == 0 {
			continue
		}
		for _, w := range a.at(s) {
			fn(w, i+1-len(a.words[w]), i+1)
		}
	}
}
