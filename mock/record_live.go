package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// run starts the live server, greets it, and passes on what it says until it ends.
func (e *Extender) run(greet bool) {
	live, err := e.Start()
	e.mu.Lock()
	ended := e.ended
	if err == nil && !ended {
		e.live = live
	}
	e.mu.Unlock()
	switch {
	case err != nil:
		e.gone(fmt.Sprintf("the live server cannot be started: %v", err))
		return
	case ended:
		live.Close()
		return
	}
	go e.write(live, greet)
	r := bufio.NewReaderSize(live, 64<<10)
	for {
		line, err := readLine(r)
		if len(line) > 0 {
			e.said(line)
		}
		if err != nil {
			e.gone("the live server has ended")
			return
		}
	}
}

// write sends what is queued, the client's opening first.
func (e *Extender) write(live io.Writer, greet bool) {
	if greet {
		if _, err := live.Write(e.hello); err != nil {
			return // reading finds out too
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		for !e.ended && e.state != liveGone && (len(e.queue) == 0 || e.state == liveGreeting) {
			e.more.Wait()
		}
		if len(e.queue) == 0 || e.state == liveGone {
			return
		}
		lines := e.queue
		e.queue = nil
		for _, line := range lines {
			e.mu.Unlock()
			_, err := live.Write(line)
			e.mu.Lock()
			if err != nil {
				return
			}
		}
	}
}

// said takes a line of the live server's.
func (e *Extender) said(line []byte) {
	m := jsonrpc.Peek(line)
	e.mu.Lock()
	toClient := line
	if e.state == liveGreeting {
		if toClient = e.greeting(&m, line); toClient == nil {
			e.mu.Unlock()
			return
		}
	}
	e.record(tap.ToClient, line)
	switch m.Kind {
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		delete(e.open, string(m.ID))
		e.telling++
		defer e.told()
	case jsonrpc.Request:
		id := e.clientID(m.ID)
		e.asked[string(id)] = bytes.Clone(m.ID)
		toClient = replay.Rewrite(line, id, "id")
	case jsonrpc.Notification:
		toClient = e.cancelled(&m, line)
	}
	e.mu.Unlock()
	e.tell(toClient)
}

// told is called when an answer, or what stands for it, has been noted and written.
func (e *Extender) told() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.telling--
	e.idle.Broadcast()
}

// greeting takes what the server says before it has answered initialize, nil for
// what the client need not know. The answer is not recorded, nor what comes before
// it.
func (e *Extender) greeting(m *jsonrpc.Message, line []byte) []byte {
	hello := jsonrpc.Peek(e.hello)
	if m.Kind != jsonrpc.Response && m.Kind != jsonrpc.ErrorResponse || string(m.ID) != string(hello.ID) {
		return nil
	}
	e.state = liveUp
	if e.ready != nil {
		e.queue, e.readied = append([][]byte{e.ready}, e.queue...), true
	}
	e.more.Broadcast()
	return nil
}

// cancelled gives the cancellation of a request of the server's the id that the
// client knows.
func (e *Extender) cancelled(m *jsonrpc.Message, line []byte) []byte {
	if m.Method != "notifications/cancelled" {
		return line
	}
	id := replay.Value(line, "params", "requestId")
	for known, own := range e.asked {
		if string(own) == string(id) {
			delete(e.asked, known)
			return replay.Rewrite(line, []byte(known), "params", "requestId")
		}
	}
	return line
}

// tell writes a line to the client, in a write of its own.
func (e *Extender) tell(line []byte) {
	if line[len(line)-1] != '\n' {
		line = append(line[:len(line):len(line)], '\n')
	}
	// A client that reads no more has ended its lane too, and that ends the session.
	_, _ = outWriter{e}.Write(line)
}

// gone answers what the live server will not.
func (e *Extender) gone(why string) {
	e.mu.Lock()
	e.state = liveGone
	open := e.open
	e.open = map[string]string{}
	e.forget(open)
	e.more.Broadcast()
	e.telling++
	defer e.told()
	ended := e.ended
	e.mu.Unlock()
	if ended {
		return // and so has the client
	}
	for id, method := range open {
		e.excuse(id, method, why)
	}
}

// excuse answers a request that the live server does not answer.
func (e *Extender) excuse(id, method, why string) {
	text := method + " was not recorded, and " + why
	e.note(replay.Note{Kind: replay.NoteMiss, Method: method, Text: text})
	message, err := json.Marshal("mcptap mock: " + text)
	if err != nil { // a string: cannot happen
		panic(err)
	}
	e.tell(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`+"\n", id, message))
}

// Refuse says that the live server will not answer a request, and why: its transport
// says so.
func (e *Extender) Refuse(id []byte, why string) {
	e.mu.Lock()
	if e.state == liveGreeting && string(jsonrpc.Peek(e.hello).ID) == string(id) {
		e.mu.Unlock()
		e.gone("the live server does not take initialize: " + why)
		return
	}
	method, ok := e.open[string(id)]
	if ok {
		e.forget(map[string]string{string(id): method})
		delete(e.open, string(id))
		e.telling++
		defer e.told()
	}
	ended := e.ended
	e.mu.Unlock()
	if ok && !ended {
		e.excuse(string(id), method, "the live server does not answer it: "+why)
	}
}

// forget takes requests out of what is to be added.
func (e *Extender) forget(open map[string]string) {
	kept := e.added[:0]
	for _, f := range e.added {
		if m := jsonrpc.Peek(f.Raw); f.Lane == tap.ToServer && m.Kind == jsonrpc.Request && open[string(m.ID)] != "" {
			continue
		}
		kept = append(kept, f)
	}
	e.added = kept
}
