package replay

import (
	"iter"
	"math/bits"
	"time"
)

// An arrival says how a cue came: with which of the client's messages, and when.
type arrival struct {
	live uint64
	at   time.Duration
}

// arrivals are the cues that have come, and how. Nearly always the client is close to
// where it was in the recording, so those of cues that follow each other are kept
// together: that is found at once, and in memory that has just been used.
type arrivals struct {
	pages map[uint32]*arrivalPage
	// last is the page that was used last, number its number.
	last   *arrivalPage
	number uint32
	n      int
}

const pageCues = 32

// An arrivalPage has as many cues as come has bits, which says of each whether it has
// come.
type arrivalPage struct {
	come uint32
	how  [pageCues]arrival
}

// page is the one of a cue, nil if none of it has come.
func (a *arrivals) page(c uint32) *arrivalPage {
	if n := c / pageCues; a.last == nil || n != a.number {
		p := a.pages[n]
		if p == nil {
			return nil
		}
		a.last, a.number = p, n
	}
	return a.last
}

// of says how a cue came; ok is false if it has not come.
func (a *arrivals) of(c uint32) (how arrival, ok bool) {
	p := a.page(c)
	if p == nil || p.come>>(c%pageCues)&1 == 0 {
		return arrival{}, false
	}
	return p.how[c%pageCues], true
}

// come reports whether a cue has come.
func (a *arrivals) come(c uint32) bool {
	p := a.page(c)
	return p != nil && p.come>>(c%pageCues)&1 != 0
}

// add notes how a cue has come, which had not come before.
func (a *arrivals) add(c uint32, how arrival) {
	p := a.page(c)
	if p == nil {
		if a.pages == nil {
			a.pages = map[uint32]*arrivalPage{}
		}
		p = &arrivalPage{}
		a.last, a.number = p, c/pageCues
		a.pages[a.number] = p
	}
	p.come |= 1 << (c % pageCues)
	p.how[c%pageCues] = how
	a.n++
}

// all are the cues that have come, in no order.
func (a *arrivals) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for n, p := range a.pages {
			for come := p.come; come != 0; come &= come - 1 {
				if !yield(n*pageCues + uint32(bits.TrailingZeros32(come))) {
					return
				}
			}
		}
	}
}
