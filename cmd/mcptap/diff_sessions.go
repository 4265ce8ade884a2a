package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// A sessionReader gives the frames of a recording to its sessions.
type sessionReader struct {
	*compared
	only *filter.Filter
	// several says that there is more than one session.
	several  bool
	sessions session.Sessions
	index    *session.SessionIndex
	feed     *view.Feed
	future   *view.Future
	items    []filter.Item
	made     map[int]*diff.Session
	requests int // in the sessions
	all      []*diff.Session
	held     frameCache
	// seen, if set, is told each frame of a session, and whether it is one that
	// the filter chose.
	seen func(f *tap.Frame, m *jsonrpc.Message, marked bool)
}

// firstPass finds out what only later frames tell: of HTTP traffic which session
// the head of a request is of, and for some filters what becomes of a request.
func (r *sessionReader) firstPass(ctx context.Context) error {
	if r.only != nil {
		r.feed = view.NewFeed()
	}
	future := r.only != nil && r.only.Needs().Has(filter.NeedFuture)
	if r.info.Header.Transport != "http" && !future {
		return nil
	}
	r.index = &session.SessionIndex{}
	var sessions session.Sessions
	var feed *view.Feed
	if future {
		r.future, feed = &view.Future{}, view.NewFeed()
	}
	err := r.each(ctx, func(f *tap.Frame) error {
		m, err := r.message(f)
		if err != nil {
			return err
		}
		sessions.Add(f, m)
		r.index.Note(&sessions)
		if feed != nil {
			r.future.Add(feed.Add(f))
		}
		return nil
	})
	if feed != nil {
		r.future.End(feed.Open())
	}
	r.several = sessions.Count() > 1
	if r.feed != nil {
		r.feed.Index = r.index
	}
	return err
}

// message reads a frame, nil if it is no traffic.
func (r *sessionReader) message(f *tap.Frame) (*jsonrpc.Message, error) {
	if f.Lane != tap.ToServer && f.Lane != tap.ToClient {
		return nil, nil
	}
	m := jsonrpc.PeekFrame(f)
	return &m, nil
}

func (r *sessionReader) add(f *tap.Frame) error {
	m, err := r.message(f)
	if err != nil {
		return err
	}
	number := r.index.Of(f, r.sessions.Add(f, m))
	marked := false
	if r.feed != nil {
		row := r.feed.Add(f)
		r.items = r.feed.Items(r.items[:0], row, r.future)
		marked = r.only.MatchAny(r.items)
	}
	if number == 0 || r.session > 0 && number != r.session {
		return nil // a page, a token: of no session
	}
	if r.seen != nil {
		r.seen(f, m, marked)
	}
	s := r.made[number]
	if s == nil {
		s = r.begin(number)
		r.made[number] = s
		r.all = append(r.all, s)
	}
	if m != nil {
		r.held.keep(f)
		limit := maxDiffRequests
		if r.seen != nil { // a plan to play them is held too
			limit /= 2
		}
		if r.requests += requestsIn(m); r.requests > limit {
			return withHint(fmt.Errorf("read %s: more than %d requests, too many to compare", r.name, limit),
				"take a part of it, such as one session: REC#2")
		}
	}
	if m == nil {
		m = &jsonrpc.Message{Kind: jsonrpc.Other}
	}
	s.Add(f, m, marked)
	return nil
}

// maxDiffRequests is how many requests of one recording are compared: of each some
// hundred bytes are held.
const maxDiffRequests = 400_000

// requestsIn is how many requests a message has.
func requestsIn(m *jsonrpc.Message) (n int) {
	if m.Kind == jsonrpc.Request {
		n++
	}
	for i := range m.Batch {
		n += requestsIn(&m.Batch[i])
	}
	return n
}

// begin makes the session of a number.
func (r *sessionReader) begin(number int) *diff.Session {
	name := r.name
	if r.several {
		name = fmt.Sprintf("%s#%d", name, number)
	}
	s := diff.NewSession(name, r.held.get)
	var gaps []string
	for i, g := range r.info.Gaps {
		if i == 3 {
			gaps = append(gaps, "…")
			break
		}
		gaps = append(gaps, fmt.Sprintf("%d to %d", g.From, g.To))
	}
	if len(gaps) > 0 {
		s.Lacks("frames " + strings.Join(gaps, ", ") + " are missing")
	}
	return s
}
