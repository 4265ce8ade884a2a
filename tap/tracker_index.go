package tap

// An entry is the place of an open request in one list: of a pool, or of those
// with one key in an index. It is a part of what it lists, so that lists cost
// no memory of their own and it can be taken out at once.
type entry[K comparable] struct {
	key          K
	owner        *asked
	older, newer *entry[K]
}

// listed reports whether it is in a list.
func (e *entry[K]) listed() bool { return e.owner != nil }

// none is the key of an entry that is in a list without one.
type none struct{}

// A list holds entries in the order in which they came.
type list[K comparable] struct {
	oldest, newest *entry[K]
	n              int
	// doubt says that one has been taken out of it by guess, so that it is not
	// certain of the others either what they are.
	doubt bool
}

func (l *list[K]) add(e *entry[K], owner *asked) {
	e.owner, e.older = owner, l.newest
	if l.newest != nil {
		l.newest.newer = e
	} else {
		l.oldest = e
	}
	l.newest = e
	l.n++
}

// remove takes an entry out, if it is in.
func (l *list[K]) remove(e *entry[K]) {
	if !e.listed() {
		return
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		l.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		l.newest = e.older
	}
	*e = entry[K]{}
	l.n--
}

// An index is a list for each key.
type index[K comparable] map[K]list[K]

func (x *index[K]) add(key K, e *entry[K], owner *asked) {
	if *x == nil {
		*x = index[K]{}
	}
	x.remove(e)
	l := (*x)[key]
	l.add(e, owner)
	e.key = key
	(*x)[key] = l
}

func (x index[K]) remove(e *entry[K]) {
	if !e.listed() {
		return
	}
	key := e.key
	l := x[key]
	if l.remove(e); l.n == 0 {
		delete(x, key)
	} else {
		x[key] = l
	}
}

// doubt notes that one of those with a key was taken out by guess.
func (x index[K]) doubt(key K) {
	if l, ok := x[key]; ok {
		l.doubt = true
		x[key] = l
	}
}

// A tie is what is remembered of a request, or of a word, whose call may be
// over.
type tie struct {
	call, parent Ref
	method       string
	guess        bool
	// late says that the request was given up as cancelled, and that no answer
	// has come so far.
	late bool
}
