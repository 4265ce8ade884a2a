package main

import (
	"context"

	"github.com/mcptap/mcptap/diff"
	diffreport "github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/web"
)

// maxSideDifferences is how many differences of each class a page gets.
const maxSideDifferences = 300

// Compare implements [web.Source].
func (s *webSource) Compare(ctx context.Context, a, b web.Side) (*web.Comparison, error) {
	set := &diffreport.Set{}
	d := differ{ctx: ctx, set: set, opt: diff.Options{Rows: diff.DefaultRows, Most: maxSideDifferences, Check: ctx.Err}}
	var sides [2][]*diff.Session
	for i, side := range []web.Side{a, b} {
		rec, err := s.recording(side.Key)
		if err != nil {
			return nil, err
		}
		c, err := openCompared(rec.Path())
		if err != nil {
			return nil, err
		}
		if c.session, err = oneOf(rec, side.Session); err != nil {
			return nil, err
		}
		if sides[i], err = d.sessions(c); err != nil {
			return nil, err
		}
	}
	if err := d.pairs(sides[0], sides[1], nil); err != nil {
		return nil, err
	}
	out := &web.Comparison{Sessions: []*diffreport.Sides{}, Unpaired: []web.Unpaired{}}
	for _, r := range set.Reports {
		out.Sessions = append(out.Sessions, diffreport.NewSides(r))
	}
	for _, u := range set.Unpaired {
		side := "a"
		if u.Second {
			side = "b"
		}
		out.Unpaired = append(out.Unpaired, web.Unpaired{Side: side, Name: u.Name})
	}
	return out, nil
}
