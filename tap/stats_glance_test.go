package tap

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// plainFrames are frames that are ordinary, or nearly so.
var plainFrames = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":[1,-2.5e+3,true,false,null,{}],"b":"\u00e4\n"}}}`,
	`{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"_meta":{"progressToken":7,"x":{"y":[]}},"arguments":{},"name":"é"}}`,
	`{"method":"resources/read","params":{"uri":"file:///a"},"id":0}`,
	`{"method":"ping","id":12345678901234567890}` + "\r\n",
	` { "id" : 3 , "result" : { "content" : [ { "type" : "text" , "text" : "x" } ] , "isError" : false } } ` + "\n",
	`{"result":{"resultType":"complete","structuredContent":{"isError":true},"_meta":{}},"id":"x"}`,
	`{"jsonrpc":"1.0","id":5,"result":{},"extra":[[[]]]}`,
	`{"id":6,"method":"own/word","params":{},"params2":{"task":1}}`,
	`{"id":6,"method":"tools/call","params":{"x":{"name":1,"task":2}}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":0.5,"message":"\"half\""}}`,
	`{"method":"notifications/message","params":{"level":"info","data":{"task":1}}}`,
}

// oddFrames are frames that only a Peek can tell of, or that are not for a
// Meter to decide about.
var oddFrames = []string{
	``, ` `, `null`, `[]`, `{}`, `{"id":1}`, `{"method":"a"}`, `{"id":1,"method":"a"} x`, `{"id":1,"method":"a"}{}`,
	`{"id":1,"method":"a"`, `{"id":1,"method":"a",}`, `{"id":1 "method":"a"}`, `{"id":1,"method":a}`, `{id:1,"method":"a"}`,
	"\xef\xbb\xbf" + `{"id":1,"method":"a"}`,
	`[{"id":1,"method":"a"}]`,
	`{"id":null,"method":"a"}`, `{"id":true,"method":"a"}`, `{"id":{},"method":"a"}`, `{"id":[1],"result":{}}`,
	`{"id":-1,"method":"a"}`, `{"id":1.0,"method":"a"}`, `{"id":1e0,"method":"a"}`, `{"id":01,"method":"a"}`, `{"id":"\u0061","method":"a"}`,
	`{"id":"` + strings.Repeat("1", 50) + `","method":"a"}`,
	`{"id":1,"id":2,"method":"a"}`, `{"id":1,"method":"a","method":"b"}`, `{"id":1,"method":"a","params":{},"params":{}}`,
	`{"id":1,"\u006dethod":"a"}`, `{"id":1,"method":"\u0061"}`, `{"id":1,"method":7}`, `{"id":1,"method":null}`,
	`{"id":1,"method":"a","result":{}}`, `{"id":1,"method":"a","error":{}}`, `{"id":1,"result":{},"error":null}`,
	`{"id":1,"error":{"code":1,"message":"m"}}`, `{"id":1,"result":null}`, `{"id":1,"result":[]}`, `{"id":1,"result":"x"}`,
	`{"id":1,"result":{"isError":true}}`, `{"id":1,"result":{"isError":"false"}}`, `{"id":1,"result":{"isError":false,"isError":true}}`,
	`{"id":1,"result":{"\u0069sError":true}}`, `{"id":1,"result":{"resultType":"input_required"}}`, `{"id":1,"result":{"resultType":"task"}}`,
	`{"id":1,"result":{"resultType":"comp\u006cete"}}`, `{"id":1,"result":{"resultType":"complete","resultType":"task"}}`, `{"id":1,"result":{"resultType":null}}`,
	`{"id":1,"method":"a","params":[]}`, `{"id":1,"method":"a","params":null}`,
	`{"id":1,"method":"a","params":{"task":{}}}`, `{"id":1,"method":"a","params":{"requestState":"s"}}`, `{"id":1,"method":"a","params":{"inputResponses":{}}}`,
	`{"id":1,"method":"a","params":{"t\u0061sk":{}}}`, `{"id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}}`,
	`{"id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol\/related-task":{"taskId":"1"}}}}`, `{"id":1,"method":"a","params":{"_meta":1}}`,
	`{"id":1,"method":"a","params":{"_meta":{},"_meta":{}}}`, `{"id":1,"method":"a","params":{"_meta":{"progressToken":1.0}}}`,
	`{"id":1,"method":"a","params":{"_meta":{"progressToken":1,"progressToken":2}}}`, `{"id":1,"method":"a","params":{"_meta":{"progressToken":null}}}`,
	`{"id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}`,
	`{"method":"notifications/progress","params":{}}`, `{"method":"notifications/progress","params":{"progressToken":{}}}`,
	`{"method":"notifications/progress","params":{"progressToken":1,"progressToken":2}}`, `{"method":"progress","params":{"id":1}}`,
	`{"method":"notifications/message","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"k"}}}}`,
	`{"method":"notifications/cancelled","params":{"requestId":1}}`, `{"result":{}}`,
	`{"id":1,"method":"tools/call","params":{"name":1}}`, `{"id":1,"method":"tools/call","params":{"name":"a\n"}}`, `{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`,
	`{"id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("n", MaxSubject+1) + `"}}`,
	`{"id":1,"method":"` + strings.Repeat("m", MaxSubject+1) + `"}`,
	`{"id":1,"method":"a","params":{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`,
	`{"id":1,"method":"a","x":tru}`, `{"id":1,"method":"a","x":nul}`, `{"id":1,"method":"a","x":1.}`, `{"id":1,"method":"a","x":.5}`,
	`{"id":1,"method":"a","x":-}`, `{"id":1,"method":"a","x":1e}`, `{"id":1,"method":"a","x":00}`, `{"id":1,"method":"a","x":+1}`,
	`{"id":1,"method":"a","x":"\x"}`, `{"id":1,"method":"a","x":"\u12g4"}`, `{"id":1,"method":"a","x":"\u12`, `{"id":1,"method":"a","x":"` + "\n" + `"}`,
	`{"id":1,"method":"a","x":"\`, `{"id":1,"method":"a","x":[1,]}`, `{"id":1,"method":"a","x":[1 2]}`, `{"id":1,"method":"a","x":{"a"}}`, `{"id":1,"method":"a","x":{,}}`,
}

func TestGlance(t *testing.T) {
	for _, raw := range plainFrames {
		if !checkGlance(t, []byte(raw)) {
			t.Errorf("not ordinary: %s", raw)
		}
	}
	for _, raw := range oddFrames {
		if checkGlance(t, []byte(raw)) {
			t.Errorf("ordinary: %.200s", raw)
		}
	}
	if large := `{"id":1,"result":{"x":"` + strings.Repeat("x", maxGlance) + `"}}`; checkGlance(t, []byte(large)) {
		t.Error("a large frame is ordinary")
	}
}

// checkGlance checks what a glance says against a Peek, and reports whether it
// takes the frame for ordinary.
func checkGlance(t *testing.T, raw []byte) bool {
	t.Helper()
	var g glance
	if !g.read(raw) {
		return false
	}
	m := Peek(raw)
	var w callWords
	w.read(m.Params)
	switch {
	case m.Kind != g.kind || m.Kind == Invalid:
		t.Errorf("kind %v, a Peek says %v (%s): %q", g.kind, m.Kind, m.Reason, raw)
	case string(g.id.of(raw)) != string(m.ID):
		t.Errorf("id %s, a Peek says %s: %q", g.id.of(raw), m.ID, raw)
	case string(g.method.of(raw)) != m.Method:
		t.Errorf("method %s, a Peek says %s: %q", g.method.of(raw), m.Method, raw)
	case isNamed(m.Method) && string(g.name.of(raw)) != Subject(m):
		t.Errorf("name %q, a Peek says %q: %q", g.name.of(raw), Subject(m), raw)
	case m.IsError || m.ResultType != "" && m.ResultType != "complete":
		t.Errorf("isError %v, result type %q: %q", m.IsError, m.ResultType, raw)
	case m.Kind == Request && string(w.meta.token) != string(g.metaToken.of(raw)) || m.Kind == Notification && string(w.progressToken) != string(g.token.of(raw)):
		t.Errorf("token %s or %s, the words say %s and %s: %q", g.metaToken.of(raw), g.token.of(raw), w.meta.token, w.progressToken, raw)
	case w.meta.logLevel != nil:
		t.Errorf("asks for log messages: %q", raw)
	case w.task != nil || w.state != nil || w.inputs != nil || w.meta.relatedTask != nil:
		t.Errorf("words of params: %q", raw)
	}
	return true
}

// pieces are what frames are made of, in all the wrong places too.
var pieces = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", `"`, `\`, `"id"`, `"method"`, `"params"`, `"result"`, `"error"`, `"name"`, `"_meta"`, `"isError"`,
	`"resultType"`, `"task"`, `"requestState"`, `"io.modelcontextprotocol/related-task"`, `"complete"`, `"progressToken"`, `"notifications/progress"`, `"tools/call"`, `"a"`, `1`, `0`, `-`, `.`, `e`,
	`true`, `false`, `null`, `\u0061`, `{}`, `[]`, "\x00", "\xff", `"id":2,`, `"method":"x",`, `"isError":true,`, `"name":"b",`,
}

// mutated is a frame with a few changes that may leave it JSON.
func mutated(rng *rand.Rand, raw string) string {
	for range 1 + rng.IntN(3) {
		i := rng.IntN(len(raw) + 1)
		switch rng.IntN(4) {
		case 0: // in front of some token
			if j := strings.IndexAny(raw[i:], `{},:"`); j >= 0 {
				i += j
			}
			raw = raw[:i] + pieces[rng.IntN(len(pieces))] + raw[i:]
		case 1:
			raw = raw[:i] + pieces[rng.IntN(len(pieces))] + raw[i:]
		case 2:
			raw = raw[:i] + raw[min(len(raw), i+1+rng.IntN(3)):]
		case 3: // behind an opening brace, where a member may stand
			if j := strings.IndexByte(raw[i:], '{'); j >= 0 {
				i += j + 1
			}
			raw = raw[:i] + pieces[len(pieces)-1-rng.IntN(4)] + raw[i:]
		}
	}
	return raw
}

// What a glance takes for ordinary, a Peek takes for the same, whatever is done
// to a frame.
func TestGlanceAgreesWithPeek(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	sources := append(append([]string(nil), plainFrames...), oddFrames...)
	for _, f := range corpus(t) {
		sources = append(sources, string(f.Raw))
	}
	took := 0
	for _, raw := range sources {
		if checkGlance(t, []byte(raw)) {
			took++
		}
	}
	const rounds = 200_000
	for range rounds {
		if checkGlance(t, []byte(mutated(rng, sources[rng.IntN(len(sources))]))) {
			took++
		}
	}
	if took < rounds/50 {
		t.Errorf("only %d of %d were ordinary: this tests little", took, rounds)
	}
}

func FuzzGlance(f *testing.F) {
	for _, raw := range append(plainFrames, oddFrames...) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkGlance(t, raw) })
}

func BenchmarkGlance(b *testing.B) {
	for _, f := range benchFrames() {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.raw)))
			b.ReportAllocs()
			var g glance
			for b.Loop() {
				g.read(f.raw)
			}
		})
	}
}
