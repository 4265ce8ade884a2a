package tap_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A count that was written as JSON after every frame goes on as if it had not.
func TestSessionCountIsContinued(t *testing.T) {
	var c, again tap.SessionCount
	each := func(do func(c *tap.SessionCount)) {
		t.Helper()
		do(&c)
		do(&again)
		b, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		var read tap.SessionCount
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatal(err)
		}
		if again = read; !reflect.DeepEqual(c, again) && fmt.Sprint(c) != fmt.Sprint(again) {
			t.Fatalf("%+v became %+v", c, again)
		}
	}
	request := func(exchange uint64, text string) {
		t.Helper()
		m := tap.Peek([]byte(text))
		each(func(c *tap.SessionCount) { c.Request(exchange, &m) })
	}
	response := func(exchange uint64, status int) {
		t.Helper()
		each(func(c *tap.SessionCount) { c.Response(exchange, status) })
	}
	for _, step := range []struct {
		do   func()
		want uint64
		why  string
	}{
		{func() { request(1, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`) }, 1, "a handshake"},
		{func() { response(1, 100) }, 1, "it is not refused yet"},
		{func() { response(1, 401) }, 0, "now it is"},
		{func() { request(2, `[{"id":0,"params":{},"jsonrpc":"2.0","method":"initialize"}]`) }, 1, "a handshake in an odd form"},
		{func() { response(2, 200) }, 1, "granted"},
		{func() { response(2, 500) }, 1, "of no handshake"},
		{func() { request(3, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"initialize"}}`) }, 1, "about one"},
		{func() {
			request(3, `{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"text":"\"initialize\""}}`)
		}, 1, "about one, too"},
		{func() { request(4, modernRequest(1)) }, 2, "a client of 2026-07-28"},
		{func() { request(5, modernRequest(2)) }, 2, "the same"},
		{func() {
			request(6, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo" : {"version":"4","name":"cli"},"x":{"name":"no"}},"name":"never"}}`)
		}, 3, "another version of it"},
		{func() {
			request(6, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"cli","version":"4"}}}}`)
		}, 3, "the same, otherwise written"},
		{func() {
			request(7, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"probe"}}}}`)
		}, 3, "it only asks"},
		{func() { request(8, `{"io.modelcontextprotocol/clientInfo":`) }, 3, "cut off"},
		{func() { request(8, `"io.modelcontextprotocol/clientInfo":{"name":"`) }, 3, "cut off in the name"},
	} {
		step.do()
		if n, more := c.N(); n != step.want || more {
			t.Errorf("%s: %d, %v, want %d", step.why, n, more, step.want)
		}
	}
}

// What a large request says of its client is found wherever it stands.
func TestSessionCountOfLargeRequests(t *testing.T) {
	filler := strings.Repeat("x", 64<<10)
	info := func(name string) string {
		return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"` + name + `","version":"1"}}`
	}
	var c tap.SessionCount
	for _, step := range []struct {
		params string
		want   uint64
	}{
		{info("before") + `,"arguments":{"text":"` + filler + `"}`, 1},
		{`"arguments":{"text":"` + filler + `"},` + info("behind"), 2},
		{strings.Repeat(" ", 16<<10-130) + info("across the edge of the beginning") + `,"text":"` + filler + `"`, 3},
		{`"text":"` + filler + `",` + info("inside") + `,"more":"` + filler + `"`, 4},
	} {
		m := tap.Peek([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + step.params + `}}`))
		c.Request(1, &m)
		if n, _ := c.N(); n != step.want {
			t.Errorf("%.60s: %d clients, want %d", step.params, n, step.want)
		}
	}
}

func TestSessionCountIsBounded(t *testing.T) {
	var c tap.SessionCount
	for i := range 1000 {
		m := tap.Peek([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`))
		c.Request(uint64(i), &m)
		m = tap.Peek(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"%d"}}}}`, i))
		c.Request(uint64(i), &m)
	}
	n, more := c.N()
	b, err := json.Marshal(c)
	if n != 1000+tap.MaxCountedClients || !more || err != nil || len(b) > 4096 {
		t.Errorf("%d, %v, %d bytes, %v", n, more, len(b), err)
	}
}

func BenchmarkSessions(b *testing.B) {
	var all tap.Sessions
	c := &chat{add: func(f *tap.Frame) {
		m := tap.PeekFrame(f)
		all.Add(f, &m)
	}}
	exchange := uint64(0)
	for b.Loop() {
		exchange++
		c.post(exchange, "masked:0123456789ab", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
}
