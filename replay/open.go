package replay

import "slices"

// openPlays finds the plays that are not over by the live ids of their requests.
// A client may use an id again while it is in use, and then means the oldest by
// it, as it gets that one's answer first. That is asked by who cancels something,
// which most clients never do: nothing is kept before one does.
type openPlays struct{ by map[string]samePlays }

// samePlays are those with one id.
type samePlays struct{ oldest, newest *play }

// find returns the play that a client means by an id, nil for none.
func (o *openPlays) find(s *Session, id []byte) *play {
	if o.by == nil {
		o.by = map[string]samePlays{}
		for _, p := range slices.Backward(s.latest()) {
			o.add(p)
		}
	}
	return o.by[word(id)].oldest
}

func (o *openPlays) add(p *play) {
	if o.by == nil || p.hangs {
		return
	}
	p.key = word(p.id)
	q, ok := o.by[p.key]
	if ok {
		p.older, q.newest.newer = q.newest, p
	} else {
		q.oldest = p
	}
	q.newest = p
	o.by[p.key] = q
}

func (o *openPlays) remove(p *play) {
	if o.by == nil || p.hangs {
		return
	}
	q := o.by[p.key]
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		q.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		q.newest = p.older
	}
	p.older, p.newer = nil, nil
	if q.oldest == nil {
		delete(o.by, p.key)
	} else {
		o.by[p.key] = q
	}
}
