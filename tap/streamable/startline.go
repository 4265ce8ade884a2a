package streamable

import "strings"

// A requestLine is the first line of a request, split at its spaces.
type requestLine struct{ method, target, proto string }

// parseRequestLine parses the first line of a request. claims reports that it ends
// with a version of HTTP/1, even if the rest is invalid.
func parseRequestLine(line string) (r requestLine, ok, claims bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 || !isHTTP1(line[i+1:]) {
		return r, false, false
	}
	r.proto = line[i+1:]
	r.method, r.target, ok = strings.Cut(line[:i], " ")
	for j := range len(r.target) {
		if c := r.target[j]; c <= ' ' || c == 0x7f {
			ok = false
		}
	}
	return r, ok && isToken(r.method) && r.target != "", true
}

// isHTTP1 reports whether s is a version that this package reads: HTTP/1.0,
// HTTP/1.1 or a later 1.x, which is read as 1.1 (RFC 9110, 2.5).
func isHTTP1(s string) bool {
	return len(s) == len("HTTP/1.1") && strings.HasPrefix(s, "HTTP/1.") && isDigit(s[7])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// A requestCheck checks the first line of a request while it arrives, because
// other protocols must be forwarded without delay, whereas
// a head is forwarded when it is complete.
type requestCheck struct {
	part  uint8 // 0 the method, 1 the rest of the line, 2 past it
	alien bool  // the line is not that of a request
}

// next reads the latest bytes. ends reports that the line ends in them.
func (c *requestCheck) next(p []byte) (ends bool) {
	for _, b := range p {
		switch {
		case c.alien || c.part == 2:
			return false
		case c.part == 0 && b == ' ':
			c.part = 1
		case c.part == 0:
			c.alien = !tokenBytes[b]
		case b == '\n':
			c.part = 2
			return true
		case b < ' ' && b != '\r' && b != '\t' || b == 0x7f:
			c.alien = true
		}
	}
	return false
}

// A statusLine is the first line of a response.
type statusLine struct {
	proto  string
	status int
	reason string
}

// parseStatusLine parses the first line of a response.
func parseStatusLine(line string) (s statusLine, ok bool) {
	const code = len("HTTP/1.1 ")
	if len(line) < code+3 || !isHTTP1(line[:code-1]) || line[code-1] != ' ' {
		return s, false
	}
	for i := code; i < code+3; i++ {
		if !isDigit(line[i]) {
			return s, false
		}
		s.status = s.status*10 + int(line[i]-'0')
	}
	rest := line[code+3:]
	if rest != "" && rest[0] != ' ' || s.status < 100 {
		return s, false
	}
	s.proto, s.reason = line[:code-1], strings.TrimPrefix(rest, " ")
	return s, true
}

// noStatus reports whether start, the first bytes, cannot begin a response.
func noStatus(start []byte) bool {
	const want = "HTTP/1."
	n := min(len(start), len(want))
	return string(start[:n]) != want[:n]
}
