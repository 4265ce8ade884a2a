package randtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server plays the server half of a plan.
type server struct {
	p *Plan
	v Vars
	// loose makes it continue without what a step does not need: clients other than ours do not
	// follow the order of the plan.
	loose bool
	// finish makes it do, after close, the steps that need nothing more from the client.
	finish bool

	mu      sync.Mutex
	cond    sync.Cond
	done    map[*Step]bool
	closed  bool
	got     map[*Exchange]string // the requests
	lane    []byte               // the input on stdin, or the messages of a WebSocket
	unknown []string             // input that is not in the plan
	conns   []net.Conn
	l       net.Listener
}

func newServer(p *Plan, v Vars, loose bool) *server {
	s := &server{p: p, v: v, loose: loose, done: map[*Step]bool{}, got: map[*Exchange]string{}}
	s.cond.L = &s.mu
	return s
}

// did marks a step as done.
func (s *server) did(step *Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[step] = true
	s.cond.Broadcast()
}

// wait waits until a step may be done, and reports whether it may.
func (s *server) wait(step *Step) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && !s.may(step, s.loose) {
		s.cond.Wait()
	}
	if s.loose { // what preceded it in the recording may still arrive
		late := false
		defer time.AfterFunc(100*time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			late = true
			s.cond.Broadcast()
		}).Stop()
		for !s.closed && !late && !s.may(step, false) {
			s.cond.Wait()
		}
	}
	return !s.closed || s.finish && s.may(step, true)
}

// arrived waits until the server has noticed a step of the client.
func (s *server) arrived(step *Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && !s.done[step] {
		s.cond.Wait()
	}
}

// may reports whether the steps before a step, or only those that it needs, are done.
func (s *server) may(step *Step, loose bool) bool {
	needs := map[*Step]bool{}
	for _, n := range step.Needs {
		needs[n] = true
	}
	for _, before := range s.p.Steps {
		if before == step {
			break
		}
		if !s.done[before] && (!loose || needs[before] || before.Server && before.X == step.X && step.X != nil) {
			return false
		}
	}
	return true
}

// arrive finds the first step that sends this message and has not arrived yet.
func (s *server) arrive(same func(*Step) bool) *Step {
	for _, step := range s.p.Steps {
		if step.Kind == send && !step.Server && !s.done[step] && same(step) {
			s.done[step] = true
			s.cond.Broadcast()
			return step
		}
	}
	return nil
}

// equal reports whether a message is the planned one. For clients other than ours, the same JSON value
// is sufficient.
func (s *server) equal(want, got string) bool {
	if want == got || !s.loose {
		return want == got
	}
	var a, b any
	read := func(text string, v *any) error {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		return d.Decode(v)
	}
	if errors.Join(read(want, &a), read(got, &b)) != nil {
		return strings.TrimSpace(want) == strings.TrimSpace(got)
	}
	return reflect.DeepEqual(a, b)
}

// A request is one HTTP request as received.
type request struct {
	method, last, raw, body, upgrade string
}

func readRequest(r *bufio.Reader) (q request, err error) {
	var raw bytes.Buffer
	line := func() string {
		var text string
		if err == nil {
			text, err = r.ReadString('\n')
			raw.WriteString(text)
		}
		return strings.TrimRight(text, "\r\n")
	}
	q.method, _, _ = strings.Cut(line(), " ")
	length, chunks := 0, false
	for text := line(); text != ""; text = line() {
		name, value, _ := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.Atoi(value)
		case "transfer-encoding":
			chunks = true
		case "last-event-id":
			q.last = value
		case "sec-websocket-key":
			q.upgrade = value
		}
	}
	read := func(n int) {
		part := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(r, part)
			raw.Write(part)
			q.body += string(part)
		}
	}
	for chunks && err == nil {
		size, _, _ := strings.Cut(line(), ";")
		n, _ := strconv.ParseUint(size, 16, 32)
		read(int(n))
		if line(); n == 0 {
			break
		}
	}
	read(length)
	q.raw = raw.String()
	return q, err
}

// listen begins to serve HTTP.
func (s *server) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.l = l
	s.v["host"] = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			go s.serve(c)
		}
	}()
	return nil
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cond.Broadcast()
	if s.l != nil {
		s.l.Close()
	}
	for _, c := range s.conns {
		c.Close()
	}
}

// serve reads the requests of one connection.
func (s *server) serve(c net.Conn) {
	defer c.Close()
	var last *Exchange
	for r := bufio.NewReader(c); ; {
		q, err := readRequest(r)
		if err != nil {
			s.gone(last)
			return
		}
		if q.upgrade != "" {
			s.socket(c, r, q.upgrade)
			return
		}
		s.mu.Lock()
		step := s.arrive(func(step *Step) bool {
			return step.X != nil && step.X.Method == q.method && s.equal(s.v.expand(step.Body), q.body) && s.v.expand(step.X.Last) == q.last
		})
		if step == nil {
			s.unknown = append(s.unknown, q.raw)
			s.mu.Unlock()
			if q.last != "" { // a stream on which nothing more is sent
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
			} else {
				fmt.Fprint(c, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
			}
			continue
		}
		s.got[step.X] = q.raw
		s.mu.Unlock()
		last = step.X
		go s.answer(c, step.X)
	}
}

// gone records that the client left while it waited for an exchange.
func (s *server) gone(x *Exchange) {
	for _, step := range s.p.Steps {
		if x != nil && step.X == x && step.Kind == hangUp {
			s.did(step)
		}
	}
}

// answer does the steps of one exchange.
func (s *server) answer(c net.Conn, x *Exchange) {
	for _, step := range s.p.Steps {
		if step.X != x || !step.Server {
			continue
		}
		if !s.wait(step) {
			return
		}
		_, _ = io.WriteString(c, s.p.wire(step, s.v))
		if step.Kind == abort || step.Kind == end && x.Framing == "close" {
			c.Close()
		}
		s.did(step)
	}
}

// arrivedLine handles a line or a message of the client.
func (s *server) arrivedLine(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lane = append(s.lane, text...)
	if s.arrive(func(step *Step) bool { return step.X == nil && s.equal(s.v.expand(step.Text), text) }) == nil {
		s.unknown = append(s.unknown, text)
	}
}

// didClose records that the client has closed its side.
func (s *server) didClose() {
	for _, step := range s.p.Steps {
		if step.Kind == closeIn {
			s.did(step)
		}
	}
}

// serveStream does the steps of the server on a stream that carries everything. It returns when all
// are done.
func (s *server) serveStream(write func(step *Step, text string)) {
	for _, step := range s.p.Steps {
		if step.Server && step.X == nil {
			if !s.wait(step) {
				return
			}
			write(step, s.p.wire(step, s.v))
			s.did(step)
		}
	}
}

// serveStdio is the server on stdin and stdout. It writes what it received to a file.
func serveStdio(p *Plan, loose bool, log string) {
	s := newServer(p, p.Vars, loose)
	talked := make(chan bool)
	go func() {
		s.serveStream(func(step *Step, text string) {
			if step.Kind == stderr {
				fmt.Fprint(os.Stderr, text)
			} else {
				fmt.Print(text)
			}
		})
		close(talked)
	}()
	for r := bufio.NewReader(os.Stdin); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			s.arrivedLine(line)
		}
		if err != nil {
			break
		}
	}
	s.didClose()
	if loose { // only steps that do not need the client follow
		s.mu.Lock()
		s.finish = true
		s.mu.Unlock()
		s.close()
	}
	<-talked
	if err := os.WriteFile(log, s.lane, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(p.Exit)
}
