package tree

// fewNames is up to how many members are searched one by one for a name.
const fewNames = 24

// objects compares the members of two objects by their names.
func (c *comparer) objects(a, b Value) {
	la, lb := a.list(), b.list()
	find := finder(lb)
	taken := make([]bool, len(lb))
	for i, x := range la {
		j := find(x, i)
		if j >= 0 && x.Same(lb[j]) {
			taken[j] = true
			continue
		}
		var y Value
		if j >= 0 {
			taken[j] = true
			y = lb[j]
		}
		if c.path = append(c.path, To(x.Name())); !c.over {
			c.compare(x, y)
		}
		c.path = c.path[:len(c.path)-1]
	}
	for j, y := range lb {
		if !taken[j] && !c.over {
			c.at(To(y.Name()), func() { c.told(Added, Value{}, y) })
		}
	}
}

// finder finds the place of the member that has the name of another, first
// where that one stands, and -1 if there is none.
func finder(members []Value) func(like Value, guess int) int {
	var index map[uint64]int
	return func(like Value, guess int) int {
		name := like.node().name
		if guess < len(members) && members[guess].node().name == name {
			return guess
		}
		if len(members) <= fewNames {
			for j := range members {
				if members[j].node().name == name {
					return j
				}
			}
			return -1
		}
		if index == nil {
			index = make(map[uint64]int, len(members))
			for j := range members {
				index[members[j].node().name] = j
			}
		}
		if j, ok := index[name]; ok {
			return j
		}
		return -1
	}
}
