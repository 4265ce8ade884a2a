package tap

import (
	"bytes"
	"fmt"
	"sort"
	"time"
)

// A Ref names one message of a recording.
type Ref struct {
	// Seq is the frame's number.
	Seq uint64 `json:"seq"`
	// Index is the message's place in a batch, from 0; 0 outside of one.
	Index int `json:"index,omitempty"`
}

// A LinkKind says how a request or a response relates to those before it.
type LinkKind uint8

const (
	// Opens is a request that waits for its response from now on.
	Opens LinkKind = iota
	// Clashes is one too, but a request of the same side with the same id is
	// still open: Link.Request names the oldest of these.
	Clashes
	// Answers is the response to the open request that Link.Request names.
	Answers
	// Repeats is a response although the request that Link.Request names has
	// been answered, and no other with that id is open.
	Repeats
	// Orphan is a response to no request that is known.
	Orphan
	linkKinds
)

var linkNames = [linkKinds]string{"opens", "clashes", "answers", "repeats", "orphan"}

// String returns the kind's stable name: opens, clashes, answers, repeats or
// orphan.
func (k LinkKind) String() string {
	if k < linkKinds {
		return linkNames[k]
	}
	return fmt.Sprintf("link(%d)", uint8(k))
}

// A Link ties a request or a response to what it belongs to.
type Link struct {
	// Kind says what the link is.
	Kind LinkKind
	// Message is the message that made it.
	Message Ref
	// Request is the other request (Clashes, Answers, Repeats); for Opens it
	// is Message itself, for Orphan it is zero.
	Request Ref
	// Latency is from the last byte of the request to the last byte of the
	// response (Answers, Repeats).
	Latency time.Duration
}

// An OpenRequest is a request without a response so far.
type OpenRequest struct {
	// Ref names the request.
	Ref Ref
	// Lane is the lane that it crossed on.
	Lane Lane
	// At is when its last byte reached the tap.
	At time.Duration
	// ID is its id as it stands, Method its method.
	ID     []byte
	Method string
	// key is what its id has in common with others that are the same.
	key string
	// older and newer are its neighbours among the open requests of that key.
	older, newer *OpenRequest
	// asked is what a [Tracker] knows of it, nil without one.
	asked *asked
}

// PairerMemory is how many answered ids of each direction a [Pairer] remembers,
// to tell a repeated response from an orphan.
const PairerMemory = 1024

// A Pairer ties responses to requests by occurrence. Each direction has ids of
// its own, an id may be used again once it was answered, and of several open
// requests with one id the oldest is answered first. Its memory grows with the
// requests that are open and no further. The zero value is ready. Frames must
// come in the order of their numbers.
type Pairer struct {
	sides [Lanes]pairSide
	links []Link
	key   []byte
	// closed are the requests that were closed since the last message, spare
	// those whose memory may be used again.
	closed, spare []*OpenRequest
}

// A pairSide holds the requests that crossed on one lane.
type pairSide struct {
	open     map[string]sameID
	answered recent[answeredRequest]
}

// sameID is the queue of the open requests with one id.
type sameID struct{ oldest, newest *OpenRequest }

type answeredRequest struct {
	ref Ref
	at  time.Duration
	tie tie
}

// Add takes the message of the next frame and returns a link for each request
// and response in it: none for a notification, several for a batch. The slice
// is valid until the next call; of f only Seq, At and Lane are read.
func (p *Pairer) Add(f *Frame, m *Message) []Link {
	p.links = p.links[:0]
	p.reuse()
	if f.Lane != ToServer && f.Lane != ToClient {
		return nil
	}
	if m.Kind == Batch {
		for i := range m.Batch {
			p.add(f, &m.Batch[i], i)
		}
		return p.links
	}
	p.add(f, m, 0)
	return p.links
}

func (p *Pairer) add(f *Frame, m *Message, index int) {
	ref := Ref{f.Seq, index}
	switch m.Kind {
	case Request:
		link, _ := p.request(f, m, ref)
		p.links = append(p.links, link)
	case Response, ErrorResponse:
		link, _ := p.response(f, m, ref, nil)
		p.links = append(p.links, link)
	}
}

// request opens a request.
func (p *Pairer) request(f *Frame, m *Message, ref Ref) (Link, *OpenRequest) {
	side := &p.sides[f.Lane]
	p.key = appendIDKey(p.key[:0], m.ID)
	r := p.fresh()
	r.Ref, r.Lane, r.At, r.ID, r.Method = ref, f.Lane, f.At, append(r.ID, m.ID...), m.Method
	if q, ok := side.open[string(p.key)]; ok {
		r.key, r.older = q.oldest.key, q.newest
		q.newest.newer = r
		side.open[r.key] = sameID{q.oldest, r}
		return Link{Kind: Clashes, Message: ref, Request: q.oldest.Ref}, r
	}
	if side.open == nil {
		side.open = map[string]sameID{}
	}
	r.key = string(p.key)
	side.open[r.key] = sameID{r, r}
	return Link{Kind: Opens, Message: ref, Request: ref}, r
}

// response closes the request that it answers, and returns it: the given one,
// or with nil the oldest that has its id.
func (p *Pairer) response(f *Frame, m *Message, ref Ref, r *OpenRequest) (Link, *OpenRequest) {
	side := &p.sides[ToServer+ToClient-f.Lane]
	p.key = appendIDKey(p.key[:0], m.ID)
	if r == nil && len(p.key) > 0 {
		r = side.open[string(p.key)].oldest
	}
	if r != nil {
		p.close(r)
		return Link{Kind: Answers, Message: ref, Request: r.Ref, Latency: f.At - r.At}, r
	}
	if a := side.answered.get(p.key); a != nil {
		return Link{Kind: Repeats, Message: ref, Request: a.ref, Latency: f.At - a.at}, nil
	}
	return Link{Kind: Orphan, Message: ref}, nil
}

// only is the open request of a lane if it is the only one, else nil.
func (p *Pairer) only(lane Lane) *OpenRequest {
	if open := p.sides[lane].open; len(open) == 1 {
		for _, q := range open {
			if q.oldest == q.newest {
				return q.oldest
			}
		}
	}
	return nil
}

// close takes a request for answered.
func (p *Pairer) close(r *OpenRequest) {
	side := &p.sides[r.Lane]
	q := side.open[r.key]
	if r.older != nil {
		r.older.newer = r.newer
	} else {
		q.oldest = r.newer
	}
	if r.newer != nil {
		r.newer.older = r.older
	} else {
		q.newest = r.older
	}
	r.older, r.newer = nil, nil
	if q.oldest == nil {
		delete(side.open, r.key)
	} else {
		side.open[r.key] = q
	}
	p.closed = append(p.closed, r)
	if r.key != "" {
		side.answered.put(r.key, answeredRequest{r.Ref, r.At, r.asked.tie()})
	}
}

// spares is how many requests, and calls, are kept for their memory at most.
const spares = 64

// fresh is an empty request, with room for an id.
func (p *Pairer) fresh() *OpenRequest {
	if n := len(p.spare); n > 0 {
		r := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return r
	}
	return &OpenRequest{}
}

// reuse takes the memory of the requests that were closed. Nobody asks about
// them any more when the next message comes.
func (p *Pairer) reuse() {
	for _, r := range p.closed {
		if id := r.ID[:0]; len(p.spare) < spares && cap(id) <= wordSize {
			*r = OpenRequest{ID: id}
			p.spare = append(p.spare, r)
		}
	}
	clear(p.closed)
	p.closed = p.closed[:0]
}

// Open returns the requests without a response, of both directions, in the
// order in which they crossed.
func (p *Pairer) Open() []OpenRequest {
	var all []OpenRequest
	for i := range p.sides {
		for _, q := range p.sides[i].open {
			for r := q.oldest; r != nil; r = r.newer {
				all = append(all, *r)
				all[len(all)-1].ID = bytes.Clone(r.ID)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Ref.before(all[j].Ref) })
	return all
}
