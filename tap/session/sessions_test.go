package session_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

var updateSessions = flag.Bool("update-sessions", false, "rewrite the sessions in the fixtures")

// A script is the text form of a recording of HTTP traffic. Lines that begin
// with [ are its frames: the number of the session that the frame is assigned
// to, and what it is:
//
//	connect CONN, disconnect CONN, start TRANSPORT
//	EXCHANGE METHOD TARGET name=value…    the head of a request; conn= is the
//	                                      connection, other names header fields
//	EXCHANGE STATUS name=value…           the head of a response
//	EXCHANGE end
//	>EXCHANGE TEXT, <EXCHANGE TEXT        a body
//	<EXCHANGE event NAME TEXT             a server-sent event; NAME may be -, or
//	                                      id:ID for one with an id
//	>EXCHANGE text TEXT                   a WebSocket message
//
// All others are comments, up to a line of dashes, which the sessions follow.
type script struct {
	lines  []string // as they are
	frames []tap.Frame
	want   []int // per frame
	at     []int // line of each frame
	end    int   // where the sessions begin
}

// shortFields are the names of fields in a script.
var shortFields = map[string]string{
	"id": "Mcp-Session-Id", "auth": "Authorization", "agent": "User-Agent", "version": "MCP-Protocol-Version",
	"accept": "accept", "upgrade": "Upgrade", "type": "Content-Type", "last": "Last-Event-ID",
}

func readScript(t testing.TB, text string) *script {
	t.Helper()
	s := &script{lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	s.end = len(s.lines)
	for i, line := range s.lines {
		if strings.HasPrefix(line, "---") {
			s.end = i
			break
		}
		number, rest, ok := strings.Cut(line, "] ")
		if !ok || line[0] != '[' {
			continue
		}
		n, err := strconv.Atoi(number[1:])
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		f := readFrame(t, rest)
		f.Seq = uint64(len(s.frames) + 1)
		f.At = time.Duration(f.Seq) * time.Millisecond
		f.Size = int64(len(f.Raw))
		s.frames, s.want, s.at = append(s.frames, f), append(s.want, n), append(s.at, i)
	}
	return s
}

func readFrame(t testing.TB, line string) tap.Frame {
	t.Helper()
	words := strings.Fields(line)
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	e := tap.Event{}
	switch {
	case words[0] == "start":
		e.Name, e.Transport = tap.EventStart, words[1]
	case words[0] == "connect", words[0] == "disconnect":
		e.Name, e.Conn = words[0], number(words[1])
	case words[0][0] == '>' || words[0][0] == '<':
		return readPayload(line, number(words[0][1:]))
	default:
		e = readHead(words[1:], number)
		return tap.Frame{Lane: tap.Lifecycle, Exchange: number(words[0]), Raw: e.Encode()}
	}
	return tap.Frame{Lane: tap.Lifecycle, Raw: e.Encode()}
}

func readPayload(line string, exchange uint64) tap.Frame {
	f := tap.Frame{Exchange: exchange, Form: tap.FormBody, Lane: tap.ToServer}
	if line[0] == '<' {
		f.Lane = tap.ToClient
	}
	_, text, _ := strings.Cut(line, " ")
	switch kind, rest, _ := strings.Cut(text, " "); kind {
	case "event":
		name, data, _ := strings.Cut(rest, " ")
		f.Form, text = tap.FormEvent, "event: "+name+"\ndata: "+data+"\n\n"
		if id, ok := strings.CutPrefix(name, "id:"); ok {
			text = "id: " + id + "\ndata: " + data + "\n\n"
		} else if name == "-" {
			text = "data: " + data + "\n\n"
		}
	case "text":
		f.Form, text = tap.FormText, rest
	}
	if exchange == 0 {
		f.Form = tap.FormLine
	}
	f.Raw = []byte(text)
	return f
}

func readHead(words []string, number func(string) uint64) (e tap.Event) {
	if words[0] == "end" {
		return tap.Event{Name: tap.EventEnd}
	}
	rest := words[1:]
	if words[0][0] >= '0' && words[0][0] <= '9' {
		e = tap.Event{Name: tap.EventResponse, Status: int(number(words[0]))}
	} else {
		e = tap.Event{Name: tap.EventRequest, Method: words[0], Target: words[1]}
		rest = words[2:]
	}
	for _, w := range rest {
		name, value, _ := strings.Cut(w, "=")
		switch {
		case name == "conn":
			e.Conn = number(value)
		case shortFields[name] != "":
			e.Header = append(e.Header, [2]string{shortFields[name], value})
		default:
			e.Header = append(e.Header, [2]string{name, value})
		}
	}
	return e
}

// addTo adds a frame to sessions, with what it carries.
func addTo(sessions *session.Sessions, f *tap.Frame) int {
	if f.Lane == tap.Lifecycle {
		e, _ := tap.ParseEvent(f.Raw)
		return sessions.Add(f, &e, nil)
	}
	m := jsonrpc.PeekFrame(f)
	return sessions.Add(f, nil, &m)
}

// run returns the sessions of the frames as known after each frame, those known after a
// first pass, and a description of the sessions.
func (s *script) run() (assigned, indexed []int, summary []string) {
	var tracker session.Tracker
	sessions := &tracker.Sessions
	survey := session.NewSurvey(false)
	var tally session.Tally
	for i := range s.frames {
		f := &s.frames[i]
		e := tracker.Add(f)
		assigned = append(assigned, e.Session)
		if n := e.Resumes; n > 0 {
			summary = append(summary, fmt.Sprintf("frame %d resumes the stream that began with %d", f.Seq, n))
		}
		if n := e.Replays; n > 0 {
			summary = append(summary, fmt.Sprintf("frame %d repeats frame %d", f.Seq, n))
		}
		survey.Add(f)
		tally.Add(f)
	}
	survey.End(0)
	again := session.Tracker{Survey: survey}
	for i := range s.frames {
		indexed = append(indexed, again.Add(&s.frames[i]).Session)
	}
	for n := 1; n <= sessions.Count(); n++ {
		x, _ := sessions.Session(n)
		summary = append(summary, describeSession(&x))
	}
	if n := int(tally.Sessions); n != sessions.Count() {
		summary = append(summary, fmt.Sprintf("a tally counts %d", n))
	}
	return assigned, indexed, summary
}

func describeSession(x *session.Session) string {
	s := fmt.Sprintf("%d %v", x.Number, x.Kind)
	if x.Name != "" {
		s += fmt.Sprintf(" %q", x.Name)
	}
	for _, word := range []string{string(x.Facts.Era), string(x.Facts.Revision), x.Facts.Client.Name, x.Facts.Server.Name} {
		if word == "" {
			word = "-"
		}
		s += " " + word
	}
	s += fmt.Sprintf(", frames %d to %d, %d exchanges", x.First, x.Last, x.Exchanges)
	if x.Over {
		s += ", over"
	}
	return s
}

func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/views/sessions-*.txt")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := readScript(t, string(text))
			assigned, indexed, summary := s.run()
			out := append([]string(nil), s.lines[:s.end]...)
			for i, line := range s.at {
				_, rest, _ := strings.Cut(out[line], "] ")
				out[line] = fmt.Sprintf("[%d] %s", assigned[i], rest)
				if assigned[i] != s.want[i] && !*updateSessions {
					t.Errorf("line %d is assigned to session %d, want %d: %s", line+1, assigned[i], s.want[i], rest)
				}
				if assigned[i] != 0 && indexed[i] != assigned[i] {
					t.Errorf("line %d: session %d, and %d with an index", line+1, assigned[i], indexed[i])
				}
				if assigned[i] == 0 && indexed[i] != 0 {
					summary = append(summary, fmt.Sprintf("frame %d belongs to session %d, as known later", i+1, indexed[i]))
				}
			}
			out = append(append(out, "-----"), summary...)
			got := strings.Join(out, "\n") + "\n"
			if *updateSessions {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("the sessions are\n%s", strings.Join(summary, "\n"))
			}
		})
	}
}
