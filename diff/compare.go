package diff

import "github.com/mcptap/mcptap/tap/jsonrpc"

// Compare compares two sessions that have ended (see [Session.End]). The error
// is that of a [Loader], or of [Options.Check].
func Compare(a, b *Session, opt Options) (*Report, error) {
	if opt.Most <= 0 {
		opt.Most = DefaultMost
	}
	if opt.Slower <= 0 {
		opt.Slower = DefaultSlower
	}
	if opt.Ratio <= 1 {
		opt.Ratio = DefaultRatio
	}
	r := &Report{A: a.Side(), B: b.Side(), TooLarge: a.large + b.large}
	c := &collector{r: r, opt: &opt, told: map[uint64]int{}, groups: map[uint64]*Group{}}
	e := newEngine(a, b, &opt)
	if len(opt.Baselines) > 0 {
		c.noise = &noise{places: map[uint64]*noisy{}}
		for _, base := range opt.Baselines {
			if err := e.timed.listen(a, base, &opt, c.noise); err != nil {
				return nil, err
			}
		}
	}
	e.found = c.found
	pairs, err := e.run()
	if err != nil {
		return nil, err
	}
	c.calls(pairs)
	c.times(e.timed)
	if opt.Rows > 0 {
		r.Rows, r.MoreRows = rows(pairs, opt.Rows)
	}
	r.Summary = r.summarize()
	return r, nil
}

// listen compares a session with a baseline and learns what is noise.
func (t *timing) listen(a, base *Session, opt *Options, n *noise) error {
	x := newEngine(a, base, opt)
	x.found = n.learn
	if _, err := x.run(); err != nil {
		return err
	}
	t.learn(x.timed)
	return nil
}

// Side describes the session as far as it has been read.
func (s *Session) Side() Side {
	side := Side{
		Name: s.name, Era: s.facts.Era, Revision: s.revision(), Client: s.facts.Client, Server: s.facts.Server,
		Frames: s.frames, Calls: uint64(len(s.units)), Lacks: s.lacking,
	}
	if side.Era == "" {
		side.Era = jsonrpc.EraOf(side.Revision)
	}
	return side
}
