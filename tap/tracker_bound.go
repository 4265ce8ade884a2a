package tap

// MaxOpen is how many requests may be open in a recording. Of more, the calls that
// have been open longest are handed over as they are, with [NoteLetGo]: they are
// without an answer, and one that comes after all is late. No peer gets there that
// ever gives a request up, as SDKs do after a minute; a recording that somebody
// made to exhaust memory does. Of several sessions, each may have [MaxOpen] /
// [MaxSessions] open whatever the others have, so that one cannot end all others'
// calls: together they have no more than twice MaxOpen.
const MaxOpen = 1 << 16

// openRequests counts the open requests of a Tracker, and those of all that share
// a recording with it.
type openRequests struct {
	own int
	all *int // nil for a Tracker that is alone
}

func (o *openRequests) add(n int) {
	o.own += n
	if o.all != nil {
		*o.all += n
	}
}

// tooMany reports whether a call has to be let go.
func (o *openRequests) tooMany() bool {
	if o.all == nil {
		return o.own > MaxOpen
	}
	return *o.all > MaxOpen && o.own > MaxOpen/MaxSessions
}

// bound lets go of the calls that have been open longest as long as there are too
// many requests.
func (t *Tracker) bound() {
	for t.open.tooMany() {
		t.letGo(t.pools[poolBegun].oldest.owner.call)
	}
}

// letGo hands a call over before its end was seen.
func (t *Tracker) letGo(c *callState) {
	if !c.Status.Settled() {
		c.Notes |= NoteLetGo
	}
	t.handOver(c)
}

// leave returns the calls of a session that is not kept any more. The Tracker is
// not used again.
func (t *Tracker) leave() []*Call {
	open := t.Open()
	t.open.add(-t.open.own)
	return open
}
