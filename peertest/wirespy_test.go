package peertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A wireSpy is a TCP relay that keeps the bytes of both directions. It shares no code with the tap.
type wireSpy struct {
	t        *testing.T
	listener net.Listener
	target   string // set before the first connection
	mu       sync.Mutex
	conns    []*wireLog
	work     sync.WaitGroup
}

// A wireLog has the traffic of one connection.
type wireLog struct{ up, down bytes.Buffer }

func newWireSpy(t *testing.T) *wireSpy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &wireSpy{t: t, listener: l}
	t.Cleanup(func() { _ = l.Close() })
	return s
}

func (s *wireSpy) origin() string { return "http://" + s.listener.Addr().String() }

// relay starts to relay to a host and port.
func (s *wireSpy) relay(target string) {
	s.target = target
	go func() {
		for {
			c, err := s.listener.Accept()
			if err != nil {
				return
			}
			log := &wireLog{}
			s.mu.Lock()
			s.conns = append(s.conns, log)
			s.work.Add(1)
			s.mu.Unlock()
			go func() {
				defer s.work.Done()
				s.one(c, log)
			}()
		}
	}()
}

func (s *wireSpy) one(down net.Conn, log *wireLog) {
	defer down.Close()
	up, err := net.Dial("tcp", s.target)
	if err != nil {
		s.t.Errorf("the spy cannot reach the server: %v", err)
		return
	}
	defer up.Close()
	var both sync.WaitGroup
	copied := func(to, from net.Conn, keep *bytes.Buffer) {
		_, err := io.Copy(to, io.TeeReader(from, keep))
		if err != nil { // cut off: so must be the other side
			_ = to.(*net.TCPConn).SetLinger(0)
			_ = to.Close()
			_ = from.Close()
			return
		}
		_ = to.(*net.TCPConn).CloseWrite()
	}
	both.Go(func() { copied(up, down, &log.up) })
	both.Go(func() { copied(down, up, &log.down) })
	both.Wait()
}

// stop waits for the connections to end, which they do when the tap has ended, and returns their traffic.
func (s *wireSpy) stop() []*wireLog {
	_ = s.listener.Close()
	s.work.Wait()
	return s.conns
}

// A spoken is one exchange as the spy saw it.
type spoken struct {
	method, target string
	status         int
	up, down       string // the bodies, without transfer codings
	// whole reports that the response is complete.
	whole bool
}

func (x *spoken) String() string {
	return fmt.Sprintf("%s %s, %d, %d bytes up, %d down, whole %v", x.method, x.target, x.status, len(x.up), len(x.down), x.whole)
}

// read parses the bytes into exchanges, with package net/http.
func (l *wireLog) read(t *testing.T) (all []spoken) {
	t.Helper()
	up, down := bufio.NewReader(&l.up), bufio.NewReader(&l.down)
	for {
		req, err := http.ReadRequest(up)
		if err != nil {
			if err != io.EOF {
				t.Errorf("the server got an invalid request: %v", err)
			}
			break
		}
		body, err := io.ReadAll(req.Body)
		x := spoken{method: req.Method, target: req.RequestURI, up: string(body)}
		if err != nil {
			t.Errorf("the server got half a request: %v", err)
		}
		res, err := http.ReadResponse(down, req)
		if err != nil { // the client did not wait for it
			all = append(all, x)
			continue
		}
		body, err = io.ReadAll(res.Body)
		x.status, x.down, x.whole = res.StatusCode, string(body), err == nil
		all = append(all, x)
	}
	if rest, _ := io.ReadAll(down); len(rest) > 0 {
		t.Errorf("the server sent %d bytes too many: %.200q", len(rest), rest)
	}
	return all
}

// recorded reports whether an exchange of a recording is the one that the spy saw. The spy is between the
// tap and the server, so it may have seen more of a response that was cut off.
func (x *spoken) recorded(r *spoken) bool {
	switch {
	case x.method != r.method || x.target != r.target || x.up != r.up:
		return false
	case x.whole && r.whole:
		return x.status == r.status && x.down == r.down
	case r.status == 0: // cut off before it began
		return r.down == ""
	}
	return x.status == r.status && strings.HasPrefix(x.down, r.down)
}

// checkWire compares what the spy saw with the recording: for each connection, each exchange with the bytes
// of its bodies.
func checkWire(t *testing.T, conns []*wireLog, r *httpRecording) {
	t.Helper()
	left := r.conns()
	n := 0
	for _, c := range conns {
		seen := c.read(t)
		if len(seen) == 0 {
			continue
		}
		n += len(seen)
		at := -1
		for i, rec := range left {
			if sameExchanges(seen, rec) {
				at = i
				break
			}
		}
		if at < 0 {
			t.Errorf("no connection of the recording has these exchanges:\n%s\nthe remaining ones have:\n%s", listed(seen), listed(left...))
			continue
		}
		left = append(left[:at], left[at+1:]...)
	}
	if n == 0 {
		t.Error("the spy saw nothing")
	}
	for _, rec := range left {
		t.Errorf("the recording has a connection that the spy did not see:\n%s", listed(rec))
	}
}

func sameExchanges(seen, rec []spoken) bool {
	if len(seen) != len(rec) {
		return false
	}
	for i := range seen {
		if !seen[i].recorded(&rec[i]) {
			return false
		}
	}
	return true
}

func listed(lists ...[]spoken) string {
	var b strings.Builder
	for _, l := range lists {
		for i := range l {
			fmt.Fprintf(&b, "  %v\n", &l[i])
		}
		b.WriteString("  -\n")
	}
	return b.String()
}
