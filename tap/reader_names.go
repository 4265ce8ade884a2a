package tap

// names are the hashes of the names of the open objects, outermost first. As
// far as [dupes] looks for names that occur twice, which is as deep and as many
// of each object, it knows that there are none.
type names struct {
	levels int // objects open
	count  int // names of them
	first  [namesFirst]uint64
	more   []uint64
}

// namesFirst is how many names take no allocation.
const namesFirst = 32

// An openObject is what is known of one open object.
type openObject struct {
	from int    // the index of its first name
	mask uint64 // a bit for each hash seen
	n    int    // how many names there were
}

// open says that an object begins.
func (s *names) open() openObject {
	s.levels++
	return openObject{from: s.count}
}

// close says that the innermost object ends.
func (s *names) close(o *openObject) {
	s.levels--
	if s.count = o.from; len(s.more) > 0 {
		s.more = s.more[:max(0, s.count-namesFirst)]
	}
}

// add notes a name of the innermost object. It reports false if that may have it
// already: then one has to look.
func (s *names) add(o *openObject, hash uint64) bool {
	if s.levels > dupeLevels {
		return true
	}
	o.n++
	bit := uint64(1) << (hash & 63)
	if o.mask&bit != 0 && s.has(o.from, hash) {
		return false
	}
	o.mask |= bit
	if o.n > dupeNames {
		return true // as many as are remembered
	}
	if s.count < namesFirst {
		s.first[s.count] = hash
	} else {
		s.more = append(s.more, hash)
	}
	s.count++
	return true
}

// has reports whether one of the names from an index on has a hash.
func (s *names) has(from int, hash uint64) bool {
	for i := from; i < s.count; i++ {
		if i >= namesFirst {
			for _, h := range s.more[i-namesFirst:] {
				if h == hash {
					return true
				}
			}
			return false
		}
		if s.first[i] == hash {
			return true
		}
	}
	return false
}
