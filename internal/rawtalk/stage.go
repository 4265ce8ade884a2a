package rawtalk

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is the timeout for reads and accepts that should succeed immediately.
const Patience = 20 * time.Second

// A Stage has a raw client and a raw server, with a tap between them. The tap listens at the
// address Tap and forwards to Up.
type Stage struct {
	T   testing.TB
	Tap string
	Up  net.Listener
	// Client is the client's connection, Server the connection that the tap made for it, nil
	// until there is one.
	Client, Server *net.TCPConn
	// Ended waits until the tap has recorded the end of all connections.
	Ended func()
	// Got has the bytes received at both ends, for each of the client's connections.
	Got []Got
}

// Got has the bytes received at the two ends of a connection that steps expected.
type Got struct{ Server, Client []byte }

// Listen listens on a free local port until the end of the test.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Connect returns a new connection of the client.
func (s *Stage) Connect() *net.TCPConn {
	s.T.Helper()
	c, err := net.Dial("tcp", s.Tap)
	must(s.T, err)
	s.T.Cleanup(func() { c.Close() })
	must(s.T, c.SetDeadline(time.Now().Add(Patience)))
	s.Got = append(s.Got, Got{})
	return c.(*net.TCPConn)
}

// Accept returns the connection that the tap made.
func (s *Stage) Accept() *net.TCPConn {
	s.T.Helper()
	must(s.T, s.Up.(*net.TCPListener).SetDeadline(time.Now().Add(Patience)))
	c, err := s.Up.Accept()
	must(s.T, err)
	s.T.Cleanup(func() { c.Close() })
	must(s.T, c.SetDeadline(time.Now().Add(Patience)))
	return c.(*net.TCPConn)
}

// Expand replaces the placeholders for addresses with those that the client or the server uses.
func (s *Stage) Expand(text string, client bool) []byte {
	upAt := s.Up.Addr().String()
	host := upAt
	if client {
		host = s.Tap
	}
	return Expand(s.T, text, host, s.Tap, upAt)
}

// Neutral replaces the addresses with placeholders.
func (s *Stage) Neutral(text string) string { return Neutral(text, s.Tap, s.Up.Addr().String()) }

// Say plays one step that is not from a file.
func (s *Stage) Say(verb, text string) {
	s.T.Helper()
	s.Play(Step{Verb: verb, Text: text})
}

// Play plays one step.
func (s *Stage) Play(st Step) {
	t := s.T
	t.Helper()
	want := st.Text
	if st.Other {
		want = st.Get
	}
	switch st.Verb {
	case ">":
		_, err := s.Client.Write(s.Expand(st.Text, true))
		must(t, err)
		if want != "" {
			s.serverGets(st, want)
		}
	case "<":
		_, err := s.Server.Write(s.Expand(st.Text, false))
		must(t, err)
		s.clientGets(st, want)
	case "~":
		s.clientGets(st, st.Text)
	case "^":
		s.serverGets(st, st.Text)
	default:
		s.end(st)
	}
}

func (s *Stage) serverGets(st Step, want string) {
	s.T.Helper()
	if s.Server == nil {
		s.Server = s.Accept()
	}
	got := &s.Got[len(s.Got)-1]
	got.Server = append(got.Server, s.expect(st, s.Server, s.Expand(want, false))...)
}

func (s *Stage) clientGets(st Step, want string) {
	s.T.Helper()
	got := &s.Got[len(s.Got)-1]
	got.Client = append(got.Client, s.expect(st, s.Client, s.Expand(want, true))...)
}

func (s *Stage) expect(st Step, c net.Conn, want []byte) []byte {
	s.T.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if !bytes.Equal(got[:n], want) {
		s.T.Fatalf("line %d: got  %s\n      want %s\n(%v)", st.Line, Escaped(got[:n]), Escaped(want), err)
	}
	return got
}

// end plays one step that ends a connection or waits for its end.
func (s *Stage) end(st Step) {
	s.T.Helper()
	side, verb, _ := strings.Cut(st.Verb, " ")
	c := s.Client
	if side == "server" {
		c = s.Server
	}
	switch verb {
	case "fin":
		must(s.T, c.CloseWrite())
	case "rst":
		must(s.T, c.SetLinger(0))
		must(s.T, c.Close())
	case "close":
		must(s.T, c.Close())
	case "sees eof", "sees reset":
		n, err := c.Read(make([]byte, 1))
		want := verb == "sees eof"
		if n > 0 || errors.Is(err, io.EOF) != want || !want && !errors.Is(err, syscall.ECONNRESET) {
			s.T.Fatalf("line %d: %q: got %d bytes, %v", st.Line, st.Verb, n, err)
		}
	case "again": // the next steps use a new connection
		s.HangUp()
		s.Client, s.Server = s.Connect(), nil
	default:
		s.T.Fatalf("line %d: %q is not a step", st.Line, st.Verb)
	}
}

// HangUp closes the connection, the client's end first.
func (s *Stage) HangUp() {
	s.Client.Close()
	if s.Server != nil {
		_, _ = io.Copy(io.Discard, s.Server)
		s.Server.Close()
	}
	s.Ended()
}
