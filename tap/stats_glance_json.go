package tap

// The parts of a glance that step through the members that count. The rest is
// read by its [reader].

func (g *glance) space() { g.i = space(g.b, g.i) }

func (g *glance) take(c byte) bool {
	if g.i < len(g.b) && g.b[g.i] == c {
		g.i++
		return true
	}
	return false
}

func (g *glance) colon() bool {
	g.space()
	if !g.take(':') {
		return false
	}
	g.space()
	return true
}

// plainString reads a string without escapes.
func (g *glance) plainString(to *span) bool {
	if !g.take('"') {
		return false
	}
	end := skipPlain(g.b, g.i)
	*to = span{g.i, end}
	g.i = end
	return g.take('"')
}

// any reads any value inside of so many others.
func (g *glance) any(depth int) bool { return g.to(g.value(g.i, depth)) }

// to moves on, if there is a way.
func (g *glance) to(i int) bool {
	if i < 0 {
		return false
	}
	g.i = i
	return true
}
