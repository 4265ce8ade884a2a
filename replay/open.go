package replay

// openPlays finds the plays that are not over by the live ids of their requests.
// A client may use an id again while it is in use, and then means the oldest by
// it, as it gets that one's answer first.
type openPlays map[string]samePlays

// samePlays are those with one id.
type samePlays struct{ oldest, newest *play }

func (o openPlays) add(p *play) {
	q, ok := o[p.key]
	if ok {
		p.older, q.newest.newer = q.newest, p
	} else {
		q.oldest = p
	}
	q.newest = p
	o[p.key] = q
}

func (o openPlays) remove(p *play) {
	q := o[p.key]
	switch {
	case p.older != nil:
		p.older.newer = p.newer
	case q.oldest == p:
		q.oldest = p.newer
	default:
		return // of what hangs on a cue, which has no id
	}
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		q.newest = p.older
	}
	p.older, p.newer = nil, nil
	if q.oldest == nil {
		delete(o, p.key)
	} else {
		o[p.key] = q
	}
}
