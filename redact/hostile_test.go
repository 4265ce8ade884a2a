package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcptap/mcptap/tap"
)

// Whatever a frame is, redacting it takes time in proportion to its length.
func TestHostileFrames(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	deep := 9_000
	nested := `{"password":"plantedDeep1"}`
	for range 10 {
		b, _ := json.Marshal(nested)
		nested = `{"s":` + string(b) + `}`
	}
	redactors := map[tap.Form]*Redactor{}
	for _, form := range []tap.Form{tap.FormLine, tap.FormEvent} {
		redactors[form] = New(Options{Key: []byte("k"), Emails: true})
	}
	for name, raw := range map[string]string{
		"deep":       strings.Repeat(`{"password":[`, deep/2) + `"plantedX1"` + strings.Repeat(`]}`, deep/2),
		"too deep":   strings.Repeat(`[`, 20_000),
		"one name":   strings.Repeat("password", 10_000),
		"names":      strings.Repeat("password=", 10_000),
		"at signs":   "http://" + strings.Repeat("@", 10_000),
		"schemes":    strings.Repeat("a://", 20_000),
		"quotes":     strings.Repeat(`token":"`, 10_000),
		"backslash":  strings.Repeat(`token\`, 10_000),
		"keys":       strings.Repeat("-----BEGIN PRIVATE KEY-----", 20_000),
		"dots":       strings.Repeat("eyJhbGciOiJIUzI1NiJ9.", 10_000),
		"base64":     strings.Repeat("QUJD", 20_000),
		"long name":  `{"` + long + `":"x","password":"` + long + `"}`,
		"controls":   "\x00\x01\x1b[31m password=\x00\xff\xfe",
		"half":       `{"password":"\ud83d","t":"\ud83d\udca9 token=abc123","x":"\u00`,
		"surrogates": `{"password":"a\ud83d\udca9b1","x":"\ud83d"}`,
		"empty":      "",
		"nothing":    "\n",
		"nested":     nested,
		"percents":   strings.Repeat("%25", 30_000) + "password%3Dx",
		"slashes":    strings.Repeat(`\`, 60_000) + `"password=x`,
		"objects":    "x " + strings.Repeat(`{"a":`, 20_000),
		"arrays":     "x " + strings.Repeat(`[{"password":[`, 8_000),
		"brackets":   "x " + strings.Repeat(`[`, 60_000) + `"`,
		"pairs":      strings.Repeat(`{"value":`, deep) + `1` + strings.Repeat(`}`, deep),
		"tokens":     strings.Repeat(`{"token":`, deep) + `1` + strings.Repeat(`}`, deep),
		"lists":      strings.Repeat(`[["password",`, deep/2) + `1` + strings.Repeat(`]]`, deep/2),
		"texts":      "x " + strings.Repeat(`{"password":"x"} `, 6_000),
		"mixed":      strings.Repeat(`%5C%22%7B%22password%22%3A%5B%22`, 3_000),
		"open lists": strings.Repeat(`password=["`, 10_000),
		"telegrams":  strings.Repeat("12345:A", 10_000),
		"tildes":     strings.Repeat("8Q~", 20_000),
		"inserts":    strings.Repeat("insert into t (password) values ('", 10_000),
		"rows":       "insert into t (a, password) values " + strings.Repeat("('a', 'b1c2d3e4'), ", 10_000),
		"blocks":     strings.Repeat("password:\n- abc1234567\n", 10_000),
		"deep block": "password: |\n" + strings.Repeat(" password: |\n", 10_000),
		"curls":      "curl " + strings.Repeat(" -u a:b1c2d3 ", 10_000),
		"one curl":   strings.Repeat("curl ", 20_000),
		"calls":      strings.Repeat("password=a(", 10_000),
		"commas":     "password=" + strings.Repeat("a,", 20_000),
		"three":      strings.Repeat(`token="""`, 10_000),
		"tags":       strings.Repeat("<token a", 10_000),
		"sentences":  strings.Repeat("the password is for of ", 5_000),
		"types":      strings.Repeat("token: string = ", 10_000),
		"digits":     `{"pin":48291734,"x":"` + strings.Repeat("48291734", 10_000) + `"}`,
		"colours":    strings.Repeat("\x1b[1m", 20_000) + "password=abc123" + strings.Repeat("\x1b[", 20_000),
		"entities":   strings.Repeat("&quot;", 10_000) + "password=abc123" + strings.Repeat("&", 20_000),
		"hexes":      strings.Repeat(`\x5c`, 20_000) + "x1b[1m",
		"coded":      strings.Repeat("/eyJ", 20_000) + strings.Repeat("-eyJ", 20_000) + strings.Repeat("_eyJhIjogIiAgICAgICAgICAgICAgICJ9", 5_000),
		"parts":      strings.Repeat("Content-Disposition: form-data; name=\"password\"\n", 5_000),
		"jar":        strings.Repeat("a\tTRUE\t/\tTRUE\t0\t", 10_000),
		"joined":     strings.Repeat(`"token: "+`, 10_000),
		"digests":    strings.Repeat(`"Authorization: Digest a="`, 5_000),
		"paths":      `{"event":"x","target":"` + strings.Repeat("/OGE1YjdkMWUtM2Y4Yi00ZDJj", 5_000) + strings.Repeat("?key=", 5_000) + `"}`,
		"unicode":    strings.Repeat(`\ud83d`, 20_000) + `\u00`,
	} {
		for form, r := range redactors {
			r.Again()
			out := r.Frame(&tap.Frame{Seq: 1, Lane: tap.ToClient, Form: form, Raw: []byte(raw)})
			if json.Valid([]byte(raw)) && form != tap.FormEvent && !json.Valid(out) {
				t.Errorf("%s as %v is no longer JSON", name, form)
			}
			if form != tap.FormEvent && (bytes.Contains(out, []byte("plantedX1")) || bytes.Contains(out, []byte("plantedDeep1"))) {
				t.Errorf("%s as %v is left", name, form)
			}
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"password":"abc123","t":"token=x\u0031\n"}`), byte(0))
	f.Add([]byte("data: {\"a\":\ndata: \"secret=abc123\"}\n: token: 'x1'\n\n"), byte(2))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nQUJDREVGR0hJSktMTU5PUFFSU1RVVg==\n"), byte(0))
	f.Add([]byte(`x {"a":"%7B%22password%22%3A%22ab12cd%22%7D"} [["token","x1"]] \"secret\":[\"y2\"] cGFzc3dvcmQ9YWJjMTIzNDU2Nzg5`), byte(0))
	f.Add([]byte(`{"a":"x,password\n\"1\",abc123\n","b":"|a|token|\n|-|-|\n|1|abc123|","c":"cGFzc3dvcmQ9YWJjMTIzNDU2Nzg5\nIGFuZCBzbyBvbg=="}`), byte(0))
	f.Add([]byte(`{"event":"x","target":"/?code=abcdefgh1","header":[["Set-Cookie2","a=\"1\",b=2"],["WWW-Authenticate","NTLM abcdefgh"]]}`), byte(0))
	f.Add([]byte(`{"a":"\u001b[1mtoken\u001b[0m=\u001b[2mabc123\u001b[0m","b":"{&quot;password&quot;:&quot;ab1&quot;}","c":"'\\x1b[1mkey\\x3dab12'","d":"x?c=eyJ0b2tlbiI6ImFiYzEyMyJ9/eyJhIjoxfQ"}`), byte(0))
	f.Add([]byte(`{"event":"x","target":"https://h/s/OGE1YjdkMWUtM2Y4Yi00ZDJj/?key=abcdefgh1","header":[["Sec-WebSocket-Protocol","a, bearer, b1"],["X-Session","s1"]]}`), byte(0))
	f.Fuzz(func(t *testing.T, raw []byte, form byte) {
		r := New(Options{Key: []byte("k"), Emails: true})
		frame := tap.Frame{Seq: 1, Lane: tap.ToClient, Form: tap.Form(form % byte(tap.Forms)), Raw: bytes.Clone(raw)}
		out := r.Frame(&frame)
		if !bytes.Equal(frame.Raw, raw) {
			t.Fatal("the frame itself was changed")
		}
		if json.Valid(raw) && utf8.Valid(raw) && frame.Form != tap.FormEvent && !json.Valid(out) {
			t.Errorf("%q became %q", raw, out)
		}
		frame.Lane = tap.Lifecycle
		r.Frame(&frame)
	})
}

func BenchmarkFrame(b *testing.B) {
	for name, raw := range map[string]string{
		"ping":  `{"jsonrpc":"2.0","id":12,"method":"ping"}`,
		"call":  `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello there"},"_meta":{"progressToken":3}}}`,
		"tools": `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.TrimSuffix(strings.Repeat(`{"name":"read_file","description":"Reads a file from the disk and returns what is in it.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"encoding":{"type":"string","enum":["utf8","latin1"]}},"required":["path"]}},`, 100), ",") + `]}}`,
		"log":   answer(`{"type":"text","text":"` + strings.Repeat(`2026-11-20T10:00:00Z INFO the token of user 42 is refreshed, password: set, see (\"secret\", 12) for more\n`, 1000) + `"}`),
		"image": `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ` + strings.Repeat("AAAADUlEQVR42mNk", 6000) + `"}]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			r := New(Options{Key: []byte("k")})
			f := tap.Frame{Seq: 1, Lane: tap.ToClient, Raw: []byte(raw)}
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				r.Frame(&f)
			}
		})
	}
}
