package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/replay/client"
)

// A fakeLive is a scripted live server that answers lines.
type fakeLive struct {
	io.Reader
	toClient *io.PipeWriter
	fromMock *io.PipeWriter
	mu       sync.Mutex
	got      []string
}

func (l *fakeLive) Write(p []byte) (int, error) { return l.fromMock.Write(p) }
func (l *fakeLive) Close() error                { return l.fromMock.Close() }

func (l *fakeLive) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

// A lineConn is a connection to a live server that reads and writes lines.
type lineConn struct {
	io.ReadWriteCloser
	stop chan struct{}
}

// dialing returns a Dial function for servers that start starts.
func dialing(start func() (io.ReadWriteCloser, error)) func() (client.Conn, error) {
	return func() (client.Conn, error) {
		rw, err := start()
		return &lineConn{rw, make(chan struct{})}, err
	}
}

func (c *lineConn) Open(_ context.Context, to chan<- client.Event) error {
	tell := func(e client.Event) {
		select {
		case to <- e:
		case <-c.stop:
		}
	}
	go func() {
		for r := bufio.NewReader(c); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				tell(client.Event{Raw: line})
			}
			if err != nil {
				tell(client.Event{Gone: true, Err: err})
				return
			}
		}
	}()
	return nil
}

func (c *lineConn) Send(m *client.Outgoing) <-chan error {
	sent := make(chan error, 1)
	_, err := c.Write(append(m.Bytes(), '\n'))
	sent <- err
	return sent
}

func (c *lineConn) HangUp(*client.Outgoing) bool { return false }
func (c *lineConn) CloseSend() {
	if l, ok := c.ReadWriteCloser.(*fakeLive); ok {
		l.fromMock.Close()
	}
}
func (c *lineConn) Close() string {
	close(c.stop)
	if c.ReadWriteCloser != nil {
		c.ReadWriteCloser.Close()
	}
	return ""
}

// newFakeLive starts a server: when it gets a line that contains a key of answers, it writes the
// lines there; "exit" ends it.
func newFakeLive(answers map[string][]string) *fakeLive {
	in, inW := io.Pipe()
	out, outW := io.Pipe()
	l := &fakeLive{Reader: out, toClient: outW, fromMock: inW}
	go func() {
		defer outW.Close()
		for r := bufio.NewReader(in); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			l.mu.Lock()
			l.got = append(l.got, strings.TrimSpace(line))
			l.mu.Unlock()
			for key, say := range answers {
				if !strings.Contains(line, key) {
					continue
				}
				for _, s := range say {
					if s == "exit" {
						in.Close()
						return
					}
					_, _ = io.WriteString(outW, s+"\n")
				}
			}
		}
	}()
	return l
}

const recordedPart = `>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
>{"jsonrpc":"2.0","method":"notifications/initialized"}
>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"old"}}
{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}
>{"jsonrpc":"2.0","id":0,"result":{"model":"m"}}
{"jsonrpc":"2.0","id":1,"result":{"content":[]}}
`

const (
	liveInitialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`
	liveReady      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	liveOld        = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"old"}}`
	liveNew        = `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"new","_meta":{"progressToken":6}}}`
)

// A dialogue is a scripted client on stdio, with a live server and a recording.
type dialogue struct {
	t     *testing.T
	in    *io.PipeWriter
	out   chan string // the received lines, which are read immediately
	l     *Live
	over  chan error
	mu    sync.Mutex
	notes []replay.Note
}

func newDialogue(t *testing.T, recorded string, start func() (io.ReadWriteCloser, error)) *dialogue {
	t.Helper()
	k := &dialogue{t: t, over: make(chan error, 1)}
	k.l = &Live{Dial: dialing(start), Patience: time.Hour}
	rec := loaded(t, lines(recorded), replay.Options{Forward: k.l.Forward})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k.in, k.out = inW, make(chan string, 100)
	go func() {
		defer close(k.out)
		for r := bufio.NewReader(outR); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			k.out <- line
		}
	}()
	go func() {
		_, err := k.l.Stdio(context.Background(), rec.Script, inR, outW, func(n replay.Note) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.notes = append(k.notes, n)
		})
		outW.Close()
		k.over <- err
	}()
	return k
}

func (k *dialogue) say(lines ...string) {
	k.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(k.in, line+"\n"); err != nil {
			k.t.Fatal(err)
		}
	}
}

// hear reads a line, which must contain all the words.
func (k *dialogue) hear(words ...string) string {
	k.t.Helper()
	line, ok := <-k.out
	if !ok {
		k.t.Fatal("no further output")
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			k.t.Errorf("%q has no %q", line, w)
		}
	}
	return line
}

// end ends the client's lane, and returns the frames to add.
func (k *dialogue) end() (added []string) {
	k.t.Helper()
	k.in.Close()
	for line := range k.out {
		k.t.Errorf("unexpected line %q", line)
	}
	if err := <-k.over; err != nil {
		k.t.Error(err)
	}
	for _, f := range k.l.Added() {
		added = append(added, f.Lane.String()+" "+strings.TrimSpace(string(f.Raw)))
	}
	k.l.Close()
	return added
}

func (k *dialogue) kinds() (kinds []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range k.notes {
		kinds = append(kinds, n.Kind.String())
	}
	slices.Sort(kinds) // the session and the live server write concurrently
	return kinds
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Recorded responses come from the recording, the others from the live server, which got the client's
// handshake. Its requests and those of the recorded server are kept apart.
func TestLiveUsesBothServers(t *testing.T) {
	live := newFakeLive(map[string][]string{
		`"initialize"`: {`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"early"}}`, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`},
		`"new"`:        {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":6,"progress":1}}`, `{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"live":true}}`},
		`"live model"`: {`{"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`},
	})
	k := newDialogue(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
	k.say(liveInitialize)
	k.hear(`"serverInfo":{"name":"s"`)
	k.say(liveReady, liveOld)
	k.hear(`"id":0`, "sampling/createMessage") // while this waits:
	k.say(liveNew)
	k.hear("notifications/progress", `"progressToken":6`)
	k.hear("sampling/createMessage", `"live":true`, `"id":1099511627777`)
	k.say(`{"jsonrpc":"2.0","id":0,"result":{"model":"m"}}`)
	k.hear(`"id":5`, `"content":[]`)
	k.say(`{"jsonrpc":"2.0","id":1099511627777,"result":{"model":"live model"}}`)
	k.hear(`"id":6`, `"live"`)
	wantLines(t, "added", k.end(),
		"to_server "+liveNew,
		`to_client {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":6,"progress":1}}`,
		`to_client {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"live":true}}`,
		`to_server {"jsonrpc":"2.0","id":0,"result":{"model":"live model"}}`,
		`to_client {"jsonrpc":"2.0","id":6,"result":{"content":["live"]}}`,
	)
	wantLines(t, "the live server got", live.lines(), liveInitialize, liveReady, liveNew, `{"jsonrpc":"2.0","id":0,"result":{"model":"live model"}}`)
	wantLines(t, "notes", k.kinds(), "forwarded")
}

// If no new request is sent, the live server is not even started.
func TestLiveNothingNew(t *testing.T) {
	k := newDialogue(t, recordedPart, func() (io.ReadWriteCloser, error) {
		t.Error("started")
		return nil, errors.New("no")
	})
	k.say(liveInitialize, liveReady, `{"jsonrpc":"2.0","id":9,"method":"ping"}`, `{"jsonrpc":"2.0","id":10,"method":"server/discover"}`)
	k.hear("serverInfo")
	k.hear(`"id":9`)
	k.hear(`"id":10`, "-32601")
	wantLines(t, "added", k.end())
}

// A request that the live server does not answer, because it cannot be started or ends, gets an
// error, is noted, and is not added.
func TestLiveWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		start func() (io.ReadWriteCloser, error)
		want  string
	}{
		"not started": {func() (io.ReadWriteCloser, error) { return nil, errors.New("no such \"file\"") }, `cannot be started: no such \"file\"`},
		"ends": {func() (io.ReadWriteCloser, error) {
			return newFakeLive(map[string][]string{`"initialize"`: {`{"id":0,"result":{}}`}, `"new"`: {"exit"}}), nil
		}, "the live server has ended"},
		"ends at once": {func() (io.ReadWriteCloser, error) {
			return newFakeLive(map[string][]string{`"initialize"`: {"exit"}}), nil
		}, "the live server has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newDialogue(t, recordedPart, c.start)
			k.say(liveInitialize, liveReady, liveNew)
			k.hear("serverInfo")
			k.hear(`"id":6,"error":{"code":-32603`, c.want)
			k.say(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`) // now it is an ordinary miss
			k.hear(`"id":7`, "no recorded response for tools/list")
			wantLines(t, "added", k.end())
			wantLines(t, "notes", k.kinds(), "forwarded", "miss", "miss")
		})
	}
}

// When the client has ended its input, the live server's input ends too. A request without an answer
// is noted, even if the server does not exit, and not added.
func TestLiveUnansweredAtTheEnd(t *testing.T) {
	silent := map[string][]string{`"initialize"`: {`{"jsonrpc":"2.0","id":0,"result":{}}`}}
	for name, patience := range map[string]time.Duration{"ends": time.Hour, "stays": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			live := newFakeLive(silent)
			k := newDialogue(t, recordedPart, func() (io.ReadWriteCloser, error) {
				if name == "stays" {
					return struct{ io.ReadWriteCloser }{live}, nil // its input does not end
				}
				return live, nil
			})
			k.l.Patience = patience
			k.say(liveInitialize, liveReady)
			k.hear("serverInfo")
			k.say(liveNew)
			k.in.Close()
			if name == "ends" {
				k.hear(`"id":6,"error":{"code":-32603`, "the live server has ended")
			}
			wantLines(t, "added", k.end())
			wantLines(t, "notes", k.kinds(), "forwarded", "miss")
			if last := k.notes[len(k.notes)-1]; !strings.HasPrefix(last.Text, "tools/call new was not recorded, and the live server ") || last.Subject != "new" {
				t.Errorf("%+v", last)
			}
		})
	}
}

// A cancellation reaches the server or client concerned.
func TestLiveCancels(t *testing.T) {
	live := newFakeLive(map[string][]string{
		`"initialize"`: {`{"jsonrpc":"2.0","id":0,"result":{}}`},
		`"new"`:        {`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`},
		`"cancelled"`:  {`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"seen"}}`},
	})
	k := newDialogue(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
	k.say(liveInitialize, liveReady)
	k.hear("serverInfo")
	k.say(liveNew)
	k.hear("roots/list", `"id":"live-1"`)
	k.hear("notifications/cancelled", `"requestId":"live-1"`)
	k.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6,"reason":"cancelled"}}`)
	k.hear("seen")
	k.say(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) // both servers receive it
	added := k.end()
	if len(added) != 5 || !strings.Contains(added[0], `"new"`) || !strings.Contains(added[3], `"requestId":6`) {
		t.Errorf("%q", added)
	}
}

// In 2026-07-28 there is no handshake. If a recording has only notifications, the client performs the
// handshake with the live server.
func TestLiveHandshake(t *testing.T) {
	t.Run("stateless", func(t *testing.T) {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		live := newFakeLive(map[string][]string{`"new"`: {`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}`}})
		k := newDialogue(t, `>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"old",`+meta+`}}
{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}
`, func() (io.ReadWriteCloser, error) { return live, nil })
		request := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"new",` + meta + `}}`
		k.say(request)
		k.hear(`"id":2`)
		if added := k.end(); len(added) != 2 {
			t.Errorf("%q", added)
		}
		wantLines(t, "the live server got", live.lines(), request)
	})
	t.Run("by the client", func(t *testing.T) {
		live := newFakeLive(map[string][]string{`"initialize"`: {`{"jsonrpc":"2.0","id":0,"result":{"live":1}}`}, `"new"`: {`{"jsonrpc":"2.0","id":6,"result":{}}`}})
		k := newDialogue(t, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`+"\n", func() (io.ReadWriteCloser, error) { return live, nil })
		k.hear("notifications/message")
		k.say(liveInitialize)
		k.hear(`"live":1`)
		k.say(liveReady, liveNew)
		k.hear(`"id":6`)
		if added := k.end(); len(added) != 5 || !strings.Contains(added[2], "initialized") {
			t.Errorf("%q", added)
		}
		wantLines(t, "the live server got", live.lines(), liveInitialize, liveReady, liveNew)
	})
}

// Whatever the live server sends, each message reaches the client as one line.
func TestLiveHostile(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	live := newFakeLive(map[string][]string{
		`"initialize"`: {"", "not JSON", `{"id":0,"result":{}}`},
		`"new"`:        {deep, "\x00\xff", `{"id":{},"method":"x"}`, `[]`, `{"id":77,"result":1}`, `{"jsonrpc":"2.0","id":6,"result":{}}`},
	})
	k := newDialogue(t, recordedPart, func() (io.ReadWriteCloser, error) { return live, nil })
	k.say(liveInitialize, liveReady, liveNew)
	k.hear("serverInfo")
	k.hear("[[[[")
	k.hear("\x00\xff")
	k.hear(`"x"`)
	k.hear(`[]`)
	k.hear(`77`)
	k.hear(`"id":6`)
	if added := k.end(); len(added) != 7 {
		t.Errorf("%d lines were added", len(added))
	}
}

// The session is not over until every response that the live server owes has been noted and
// written, even if the client ended its lane long before.
func TestLiveEndsAfterItsAnswers(t *testing.T) {
	sent := make(chan struct{})
	noted := false
	l := &Live{Patience: time.Hour, Dial: func() (client.Conn, error) {
		<-sent
		return nil, errors.New("no such file")
	}}
	note := func(n replay.Note) {
		if n.Kind == replay.NoteMiss {
			time.Sleep(10 * time.Millisecond) // a mock that does not wait would be ahead now
			noted = true
		}
	}
	rec := loaded(t, lines(recordedPart), replay.Options{Forward: l.Forward})
	in := io.MultiReader(strings.NewReader(liveInitialize+"\n"+liveReady+"\n"+liveNew+"\n"), readerFunc(func([]byte) (int, error) {
		close(sent)
		return 0, io.EOF
	}))
	var out bytes.Buffer
	if _, err := l.Stdio(context.Background(), rec.Script, in, &out, note); err != nil {
		t.Fatal(err)
	}
	if !noted || !strings.Contains(out.String(), "cannot be started") {
		t.Errorf("noted: %v, written: %s", noted, &out)
	}
	l.Close()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
