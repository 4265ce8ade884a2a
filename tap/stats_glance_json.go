package tap

// The parts of a glance that check JSON (RFC 8259). They take the same texts as
// the lexer, but for what is nested deep.

// maxGlanceDepth is how many arrays and objects may stand inside one another.
const maxGlanceDepth = 64

func (g *glance) space() {
	for g.i < len(g.b) {
		switch g.b[g.i] {
		case ' ', '\n', '\r', '\t':
			g.i++
		default:
			return
		}
	}
}

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

// value reads any value inside of so many others.
func (g *glance) value(depth int) bool {
	if g.i == len(g.b) || depth == maxGlanceDepth {
		return false
	}
	switch c := g.b[g.i]; c {
	case '"':
		return g.anyString()
	case '{':
		return g.anyObject(depth + 1)
	case '[':
		return g.anyArray(depth + 1)
	case 't':
		return g.word("true")
	case 'f':
		return g.word("false")
	case 'n':
		return g.word("null")
	}
	return g.number()
}

func (g *glance) anyObject(depth int) bool {
	g.i++
	g.space()
	if g.take('}') {
		return true
	}
	for {
		if !g.anyString() || !g.colon() || !g.value(depth) {
			return false
		}
		g.space()
		if g.take('}') {
			return true
		}
		if !g.take(',') {
			return false
		}
		g.space()
	}
}

func (g *glance) anyArray(depth int) bool {
	g.i++
	g.space()
	if g.take(']') {
		return true
	}
	for {
		if !g.value(depth) {
			return false
		}
		g.space()
		if g.take(']') {
			return true
		}
		if !g.take(',') {
			return false
		}
		g.space()
	}
}

func (g *glance) anyString() bool {
	if !g.take('"') {
		return false
	}
	for {
		g.i = skipPlain(g.b, g.i)
		if g.take('"') {
			return true
		}
		if !g.take('\\') || g.i == len(g.b) {
			return false
		}
		c := g.b[g.i]
		g.i++
		if c == 'u' {
			for range 4 {
				if g.i == len(g.b) || !isHex(g.b[g.i]) {
					return false
				}
				g.i++
			}
		} else if unescape[c] == 0 {
			return false
		}
	}
}

func (g *glance) word(w string) bool {
	if len(g.b)-g.i < len(w) || string(g.b[g.i:g.i+len(w)]) != w {
		return false
	}
	g.i += len(w)
	return true
}

func (g *glance) digits() bool {
	from := g.i
	for g.i < len(g.b) && g.b[g.i]-'0' < 10 {
		g.i++
	}
	return g.i > from
}

func (g *glance) number() bool {
	g.take('-')
	if !g.take('0') && !g.digits() {
		return false
	}
	if g.take('.') && !g.digits() {
		return false
	}
	if g.take('e') || g.take('E') {
		if !g.take('+') {
			g.take('-')
		}
		return g.digits()
	}
	return true
}
