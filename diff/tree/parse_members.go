package tree

import (
	"cmp"
	"slices"
)

// fewMembers is up to how many members an object's names are compared with one
// another instead of being sorted.
const fewMembers = 48

// finish ends an object: its hash does not depend on the order of its members.
func (p *parser) finish(n *node, first int) {
	if p.err != nil {
		return
	}
	all := p.names[first:]
	if len(all) > fewMembers {
		all = p.lastOfMany(all)
	} else {
		all = p.lastOfFew(all)
	}
	for i := range all {
		m := &all[i]
		n.value += pair(m.name, m.value)
		if m.repeats.n == 0 {
			n.spelled += pair(m.name, m.spelled)
			continue
		}
		n.spelled += pair(m.name, chain(m.spelled, m.repeats.sum))
		if m.at >= 0 && m.at < len(p.nodes) {
			if p.repeats == nil {
				p.repeats = map[int]repeats{}
			}
			p.repeats[m.at] = m.repeats
		}
	}
	n.n = uint32(len(all))
	n.sums = n.end(uint64(len(all)))
	p.names = p.names[:first]
}

// lastOfFew returns the members that count: the last of each name.
func (p *parser) lastOfFew(all []member) []member {
	var seen uint64
	for i := range all {
		bit := uint64(1) << (all[i].name & 63)
		if seen&bit != 0 {
			return p.lastOf(all)
		}
		seen |= bit
	}
	return all
}

// lastOf compares each name with those before it.
func (p *parser) lastOf(all []member) []member {
	kept := all[:0]
	for _, m := range all {
		for j := range kept {
			if kept[j].name == m.name {
				m.repeats = p.hide(&kept[j])
				kept = slices.Delete(kept, j, j+1)
				break
			}
		}
		kept = append(kept, m)
	}
	return kept
}

// lastOfMany sorts the members by name to find those that count.
func (p *parser) lastOfMany(all []member) []member {
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	kept := all[:0]
	for i := range all {
		if i+1 < len(all) && all[i+1].name == all[i].name {
			all[i+1].repeats = p.hide(&all[i])
			continue
		}
		kept = append(kept, all[i])
	}
	return kept
}

// hide marks a member that another one takes the place of, and returns the repeats of
// that one. An object that became opaque has given its nodes up.
func (p *parser) hide(m *member) repeats {
	if m.at >= 0 && m.at < len(p.nodes) {
		p.nodes[m.at].hidden = true
	}
	return repeats{m.repeats.n + 1, chain(m.repeats.sum, m.spelled)}
}
