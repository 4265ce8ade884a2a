package replay

// An entry is a play that waits in a heap. It is stale once the play has moved on,
// which its age tells: then it is dropped where it is met.
type entry struct {
	key  int64
	age  uint32
	play *play
}

func (e entry) stale() bool { return e.age != e.play.age }

// before orders entries by key, and those of one key as they began.
func (e entry) before(o entry) bool {
	return e.key < o.key || e.key == o.key && e.play.number < o.play.number
}

// A heap has the entry with the lowest key at its front.
type heap []entry

// push adds a play as it is now.
func (h *heap) push(key int64, p *play) {
	*h = append(*h, entry{key, p.age, p})
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !a[i].before(a[up]) {
			break
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

// front returns the first entry that is not stale.
func (h *heap) front() (entry, bool) {
	for len(*h) > 0 && (*h)[0].stale() {
		h.drop()
	}
	if len(*h) == 0 {
		return entry{}, false
	}
	return (*h)[0], true
}

// drop removes the entry at the front.
func (h *heap) drop() {
	a := *h
	n := len(a) - 1
	a[0] = a[n]
	a[n] = entry{}
	a = a[:n]
	for i := 0; ; {
		least := i
		for _, kid := range [2]int{2*i + 1, 2*i + 2} {
			if kid < n && a[kid].before(a[least]) {
				least = kid
			}
		}
		if least == i {
			break
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
	*h = a
}
