// Package randtest drives mcptap with random MCP sessions and compares the traffic with the plan. It
// has only test files.
//
// A [Plan] is generated from a seed: the steps of a scripted client and a scripted server in one
// order. Each side does a step when all steps before it are done, so a plan has one outcome, and it
// determines the bytes that each side must receive.
//
// To repeat a seed, to choose the features and to find the smallest failing plan:
//
//	go test ./internal/randtest -run Sessions -randtest.seed 17 -randtest.features batch,retry -randtest.shrink
package randtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Plan is one session, or several in a row, of a client and a server.
type Plan struct {
	Seed      uint64
	Transport string
	Revision  string
	Features  []string // the features in it, in the order of the table
	Steps     []*Step
	Vars      Vars     // the values of the names in texts
	common    []string // the features that belong to no act
	Exit      int      // the server's exit status on stdio
}

const (
	stdio      = "stdio"
	streamable = "http" // Streamable HTTP
	sse        = "sse"  // HTTP+SSE
	ws         = "ws"
)

// An Exchange is one HTTP request with its response.
type Exchange struct {
	Number int
	Method string
	Last   string // Last-Event-ID, as a text with names
	// Framing is how the response ends: length, chunked, close, or none if it has no body.
	Framing string
	Events  bool // the response is an event stream
	Conn    int  // the client's connection
	Refused bool // the response is not part of the session: other transports leave it out
	ids     int  // number of events with ids so far
}

// The kinds of steps. A send is a message of the client or, on stdio and WebSocket, of the server.
const (
	send    = "send"
	hangUp  = "hang up"
	closeIn = "close stdin"
	head    = "head"
	event   = "event" // one block of an event stream
	body    = "body"
	end     = "end"
	abort   = "abort"
	stderr  = "stderr"
)

// A Step is one action of one side. Texts contain names such as {{c1}}, which stand for values that
// differ from run to run: ids, hosts, session ids.
type Step struct {
	Act      int // the steps of one act are kept or removed together
	Server   bool
	Kind     string
	X        *Exchange
	Text     string
	Body     string    // of a request
	Chunks   int       // the number of chunks in which the text is sent, if chunked
	Odd      bool      // chunk sizes have leading zeros and an extension
	features *[]string // of its act
	Needs    []*Step   // the steps that must be done before, whatever the order of the others
}

// Vars are the values of names.
type Vars map[string]string

// expand replaces names by their values.
func (v Vars) expand(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}}")
		value, ok := v[name]
		if !ok {
			panic("no value for {{" + name + "}}")
		}
		b.WriteString(value)
		text = after
	}
}

func (v Vars) with(name, value string) Vars {
	v = maps.Clone(v)
	v[name] = value
	return v
}

// wire returns the bytes of a step.
func (p *Plan) wire(s *Step, v Vars) string {
	switch {
	case s.X != nil && s.Kind == send:
		content := v.expand(s.Body)
		head := v.with("len", fmt.Sprint(len(content))).expand(s.Text)
		if s.Chunks > 0 {
			content = chunked(content, s.Chunks, s.Odd) + "0\r\n\r\n"
		}
		return head + content
	case s.Kind == head:
		return v.with("len", fmt.Sprint(len(p.content(s.X, v)))).expand(s.Text)
	case s.Kind == end && s.X.Framing == "chunked":
		return "0\r\n" + s.Text + "\r\n"
	case s.X != nil && s.X.Framing == "chunked" && s.Server && s.Kind != abort:
		return chunked(v.expand(s.Text), s.Chunks, s.Odd)
	}
	return v.expand(s.Text)
}

// content returns the body of a response without its framing.
func (p *Plan) content(x *Exchange, v Vars) string {
	var b strings.Builder
	for _, s := range p.Steps {
		if s.Server && s.X == x && (s.Kind == event || s.Kind == body) {
			b.WriteString(v.expand(s.Text))
		}
	}
	return b.String()
}

func chunked(text string, n int, odd bool) string {
	var b strings.Builder
	n = max(1, min(n, len(text)))
	for i := range n {
		part := text[len(text)*i/n : len(text)*(i+1)/n]
		if odd {
			fmt.Fprintf(&b, "00%X;part=%d\r\n%s\r\n", len(part), i, part)
		} else {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
		}
	}
	return b.String()
}

// received returns the bytes of all steps of one side, on one exchange or on the only stream.
func (p *Plan) received(x *Exchange, server bool, v Vars) string {
	var b strings.Builder
	for _, s := range p.Steps {
		if s.X == x && s.Server == server && s.Kind != stderr {
			b.WriteString(p.wire(s, v))
		}
	}
	return b.String()
}

// onTransport returns a plan with the same messages on another transport, nil if there is none: stdio
// for HTTP, without refused requests; WebSocket for stdio.
func (p *Plan) onTransport() *Plan {
	q := *p
	q.Steps, q.Exit = nil, 0
	switch {
	case slices.Contains(p.Features, "mid-session 404"): // only the first session would be played
		return nil
	case p.Transport == stdio:
		q.Transport = ws
	default:
		q.Transport = stdio
	}
	for _, s := range p.Steps {
		line := *s
		switch {
		case s.Kind == stderr || s.Kind == closeIn:
			continue
		case s.X != nil && (s.X.Refused || s.Body == "" || s.Body == "{{endpoint}}"):
			continue
		case s.X != nil:
			line.Text, line.Body, line.X, line.Kind = s.Body+"\n", "", nil, send
		}
		line.Text = strings.TrimRight(line.Text, "\r\n") + "\n"
		q.Steps = append(q.Steps, &line)
	}
	q.Steps = append(q.Steps, &Step{Kind: closeIn})
	return &q
}

// others returns the vars with other client ids and tokens.
func (p *Plan) others() Vars {
	v := maps.Clone(p.Vars)
	for name, value := range v {
		switch {
		case name[0] == 'c' && value[0] == '"', name[0] == 't':
			v[name] = `"other-` + value[1:]
		case name[0] == 'c':
			v[name] = "7" + value
		}
	}
	return v
}

// exchanges returns the exchanges in the order of their requests.
func (p *Plan) exchanges() (all []*Exchange) {
	for _, s := range p.Steps {
		if s.X != nil && s.Kind == send {
			all = append(all, s.X)
		}
	}
	return all
}

// without returns the plan without some acts.
func (p *Plan) without(acts map[int]bool) *Plan {
	q := *p
	q.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s *Step) bool { return acts[s.Act] })
	begun := map[*Exchange]bool{nil: true}
	for _, s := range q.Steps {
		begun[s.X] = begun[s.X] || s.Kind == send
	}
	q.Steps = slices.DeleteFunc(q.Steps, func(s *Step) bool { return !begun[s.X] })
	q.Features = nil
	for _, f := range p.Features {
		if slices.Contains(p.common, f) || slices.ContainsFunc(q.Steps, func(s *Step) bool { return slices.Contains(*s.features, f) }) {
			q.Features = append(q.Features, f)
		}
	}
	return &q
}

// acts returns the numbers of the acts that may be removed.
func (p *Plan) acts() (all []int) {
	for _, s := range p.Steps {
		if s.Act != 0 && !slices.Contains(all, s.Act) {
			all = append(all, s.Act)
		}
	}
	return all
}

// String returns a transcript for people. > marks the client, < the server; the number is that of the
// exchange.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s %s, features %s\n", p.Seed, p.Transport, p.Revision, strings.Join(p.Features, ","))
	for _, s := range p.Steps {
		who := ">"
		if s.Server {
			who = "<"
		}
		if s.X != nil {
			who = fmt.Sprintf("%s%d", who, s.X.Number)
		}
		text := s.Text
		if s.X != nil && s.Kind == send {
			text += s.Body
		}
		if s.Kind != send && s.Kind != event {
			text = strings.TrimSpace(s.Kind + " " + text)
		}
		fmt.Fprintf(&b, "  a%d %s %s\n", s.Act, who, visible(text))
	}
	return b.String()
}

// visible returns a text on one line, or on several if it has several lines.
func visible(text string) string {
	text = strings.NewReplacer("\r", `\r`, "\\", `\\`).Replace(text)
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r >= ' ' && r != 0xfffd {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\x%02x`, r)
		}
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n        ")
}
