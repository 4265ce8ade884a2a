package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// An httpRecording collects frames of exchanges.
type httpRecording struct {
	frames []tap.Frame
	at     time.Duration
}

func (r *httpRecording) add(x uint64, lane tap.Lane, form tap.Form, raw string) {
	r.at += 5 * time.Millisecond
	r.frames = append(r.frames, tap.Frame{Seq: uint64(len(r.frames) + 1), At: r.at, Exchange: x, Lane: lane, Form: form, Raw: []byte(raw), Size: int64(len(raw))})
}

func (r *httpRecording) event(x uint64, event string) { r.add(x, tap.Lifecycle, tap.FormLine, event) }

func TestHAROfHTTP(t *testing.T) {
	r := &httpRecording{}
	r.event(0, `{"event":"start","transport":"http"}`)
	r.event(1, `{"event":"request","conn":7,"proto":"HTTP/1.1","method":"POST","target":"/mcp?a=1&b=x%20y","header":[["Host","h"],["Content-Type","application/json"],["Cookie","a=masked:1; b=2"]]}`)
	r.add(1, tap.ToServer, tap.FormBody, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.event(2, `{"event":"request","proto":"HTTP/1.1","method":"GET","target":"/ws","header":[["Upgrade","websocket"]]}`)
	r.event(1, `{"event":"response","status":100}`)
	r.event(1, `{"event":"response","proto":"HTTP/1.1","status":200,"reason":"OK","header":[["content-type","text/event-stream"],["Set-Cookie","s=1; Path=/"]]}`)
	r.add(1, tap.ToClient, tap.FormEvent, "data: {\"jsonrpc\":\"2.0\",\n\n")
	r.event(2, `{"event":"response","proto":"HTTP/1.1","status":101,"reason":"Switching Protocols"}`)
	r.add(1, tap.ToClient, tap.FormEvent, "data: x\x1b[31m\u202e\n\n")
	r.add(2, tap.ToServer, tap.FormText, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r.add(2, tap.ToClient, tap.FormBinary, "\xff\x00")
	r.event(1, `{"event":"end","bytes_up":41,"bytes_down":99}`)
	r.event(3, `{"event":"request","proto":"HTTP/1.1","method":"POST","target":"http://other.example/x"}`)
	r.add(3, tap.ToServer, tap.FormBody, "\xff\xfe")
	r.add(4, tap.ToServer, tap.FormBody, `{}`)
	about := testAbout("http")
	about.Header.Upstream = "https://example.com"
	text := exported(t, "har", about, r.frames)
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("recorded text is not escaped")
	}
	f := readHAR(t, schema(t), text)
	if len(f.Log.Entries) != 4 || f.Log.Comment != "" {
		t.Fatalf("%d entries %q", len(f.Log.Entries), f.Log.Comment)
	}
	e := f.Log.Entries[0]
	if e.Request.URL != "https://example.com/mcp?a=1&b=x%20y" || len(e.Request.Query) != 2 || e.Request.Query[1].Value != "x y" ||
		len(e.Request.Cookies) != 2 || e.Response.Cookies[0] != (harPair{"s", "1"}) || e.Response.Status != 200 || e.Connection != "7" ||
		e.Response.Content.Text != "data: {\"jsonrpc\":\"2.0\",\n\ndata: x\x1b[31m\u202e\n\n" || e.Response.BodySize != 99 || e.Request.Post.Type != "application/json" {
		t.Errorf("%+v", e)
	}
	if e.Timings.Send != 5 || e.Timings.Wait != 10 || e.Timings.Receive != 35 || e.Time != 50 {
		t.Errorf("%+v %v", e.Timings, e.Time)
	}
	ws := f.Log.Entries[1]
	if ws.Type != "websocket" || len(ws.Sockets) != 2 || ws.Sockets[0].Type != "send" || ws.Sockets[1].Data != base64.StdEncoding.EncodeToString([]byte{0xff, 0}) || ws.Sockets[1].Opcode != 2 {
		t.Errorf("%+v", ws)
	}
	if e := f.Log.Entries[2]; e.Request.URL != "http://other.example/x" || e.Response.Error == "" || !strings.Contains(e.Request.Post.Comment, "base64") {
		t.Errorf("%+v", e)
	}
	if e := f.Log.Entries[3]; !strings.Contains(e.Comment, "not recorded") {
		t.Errorf("%+v", e)
	}
}

// cutHAR returns the first entry of a file with at most maxBody bytes of each body.
func cutHAR(t *testing.T, about About, maxBody int, frames []tap.Frame) harEntry {
	t.Helper()
	var out bytes.Buffer
	h := newHAR(&out, about)
	h.maxBody = maxBody
	addAll(t, h, frames)
	return readHAR(t, schema(t), out.String()).Log.Entries[0]
}

// TestHARKeepsTheBeginning checks the limit of bodies, however they are loaded.
func TestHARKeepsTheBeginning(t *testing.T) {
	r := &httpRecording{}
	r.event(1, `{"event":"request","method":"POST","target":"/","proto":"HTTP/1.1"}`)
	r.add(1, tap.ToServer, tap.FormBody, strings.Repeat("a", 60))
	r.event(1, `{"event":"response","status":200,"proto":"HTTP/1.1"}`)
	for range 1000 {
		r.add(1, tap.ToClient, tap.FormEvent, strings.Repeat("b", 30))
	}
	whole := string(r.frames[1].Raw)
	r.frames[1].Raw = r.frames[1].Raw[:10] // partially loaded
	about := testAbout("http")
	about.Raw = func(w io.Writer, f tap.Frame) error {
		_, err := io.Copy(w, bytes.NewReader([]byte(whole)))
		return err
	}
	e := cutHAR(t, about, 50, r.frames)
	if e.Request.Post.Text != whole[:50] || e.Request.Post.Comment != "the first 50 of 60 bytes" || e.Request.BodySize != 60 {
		t.Errorf("%+v", e.Request.Post)
	}
	if len(e.Response.Content.Text) != 50 || e.Response.Content.Comment != "the first 50 of 30000 bytes" || e.Response.Content.Size != 30000 {
		t.Errorf("%+v", e.Response.Content)
	}
}

// TestHostileRecordings checks that the files are valid whatever the frames are.
func TestHostileRecordings(t *testing.T) {
	s := schema(t)
	for _, transport := range []string{"stdio", "http", ""} {
		var frames []tap.Frame
		for i, raw := range []string{
			"", "\n", "\x00\xff", "{", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("/", 5000) + `"}`, strings.Repeat("[", 100_000),
			`{"jsonrpc":"2.0","id":1,"method":"x\n` + "```" + `\u0000end"}`, `{"jsonrpc":"2.0","id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":1}`,
			`{"jsonrpc":"2.0","id":1,"result":2}`, `[{"jsonrpc":"2.0","id":5,"method":"a"},{"jsonrpc":"2.0","id":6,"method":"b"},3]`, `{"event":"request"}`,
			`{"event":"response","status":-5}`, `{"event":"end"}`, `{"event":"exit"}`,
		} {
			for lane := range tap.Lanes {
				frames = append(frames, tap.Frame{Seq: uint64(len(frames) + 1), At: time.Duration(i), Lane: lane, Exchange: uint64(i % 3), Form: tap.Form(i % int(tap.Forms)), Raw: []byte(raw), Size: int64(len(raw))})
			}
		}
		readHAR(t, s, exported(t, "har", testAbout(transport), frames))
		readOTLP(t, exported(t, "otlp", testAbout(transport), frames))
		if d := exported(t, "mermaid", testAbout(transport), frames); !mermaidForm.MatchString(d) {
			t.Errorf("%q", d)
		}
	}
}

func TestEmptyRecordings(t *testing.T) {
	if f := readHAR(t, schema(t), exported(t, "har", testAbout("stdio"), nil)); len(f.Log.Entries) > 0 {
		t.Error(f)
	}
	if d := exported(t, "mermaid", testAbout("stdio"), nil); !mermaidForm.MatchString(d) {
		t.Error(d)
	}
	if o := exported(t, "otlp", testAbout("stdio"), nil); o != "" {
		t.Error(o)
	}
}

// TestHAREntriesAreBounded checks that with too many open requests the oldest are written.
func TestHAREntriesAreBounded(t *testing.T) {
	var out bytes.Buffer
	h := newHAR(&out, About{Header: tap.Header{Transport: "stdio"}})
	const more = 100
	for i := range maxEntries + more {
		raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a"}}`, i)
		if err := h.Add(&tap.Frame{Seq: uint64(i + 1), Lane: tap.ToServer, Raw: raw, Size: int64(len(raw))}); err != nil {
			t.Fatal(err)
		}
		if len(h.pending) > maxEntries {
			t.Fatalf("%d entries are pending", len(h.pending))
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	var har struct {
		Log struct{ Entries []struct{ Comment string } }
	}
	if err := json.Unmarshal(out.Bytes(), &har); err != nil || len(har.Log.Entries) != maxEntries+more {
		t.Errorf("%d entries, %v", len(har.Log.Entries), err)
	}
	if h.held != 0 {
		t.Errorf("%d bytes are held", h.held)
	}
}

// TestHARWebSocketMessagesAreWhole reads large messages, which are truncated in their frames.
func TestHARWebSocketMessagesAreWhole(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 1<<20) + `"}`
	r := &httpRecording{}
	r.event(1, `{"event":"request","proto":"HTTP/1.1","method":"GET","target":"/ws","header":[["Upgrade","websocket"]]}`)
	r.event(1, `{"event":"response","proto":"HTTP/1.1","status":101,"reason":"Switching Protocols"}`)
	r.add(1, tap.ToClient, tap.FormText, large)
	r.add(1, tap.ToClient, tap.FormText, large+large)
	for i := range r.frames[2:] {
		r.frames[2+i].Raw = r.frames[2+i].Raw[:100]
	}
	about := testAbout("http")
	about.Raw = func(w io.Writer, f tap.Frame) error {
		_, err := io.WriteString(w, strings.Repeat(large, int(f.Size)/len(large)))
		return err
	}
	e := cutHAR(t, about, 3<<19, r.frames)
	if len(e.Sockets) != 2 || e.Sockets[0].Data != large || e.Sockets[1].Data != (large + large)[:3<<19] {
		t.Errorf("%d messages, the first has %d bytes", len(e.Sockets), len(e.Sockets[0].Data))
	}
	if want := "messages cut at 1572864 bytes: 1"; e.Comment != want || e.Response.Content.Size != int64(3*len(large)) {
		t.Errorf("%q, %d bytes", e.Comment, e.Response.Content.Size)
	}
}
