package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcptap/mcptap/tap"
)

// A plant is a secret in its context: the whole text, and the part of it that must not
// be left.
type plant struct{ name, text, secret string }

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hexes   = "0123456789abcdef"
)

// planter makes values, the same ones in each run. This file contains none of them, so
// that it is not mistaken for a file with keys.
type planter struct{ rnd *rand.Rand }

func (p *planter) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[p.rnd.IntN(len(alphabet))]
	}
	return string(b)
}

// providerKeys have the shapes in well-maintained collections of rules, and need no name
// next to them.
func (p *planter) providerKeys() (all []plant) {
	add := func(name, prefix, alphabet string, n int) {
		s := prefix + p.of(alphabet, n)
		all = append(all, plant{name, s, s})
	}
	wordy := letters + "_-"
	add("github pat", "ghp_", letters, 36)
	add("github oauth", "gho_", letters, 36)
	add("github app", "ghs_", letters, 36)
	add("github fine-grained", "github_pat_"+p.of(letters, 22)+"_", letters, 59)
	add("gitlab pat", "glpat-", letters, 20)
	add("gitlab deploy", "gldt-", letters, 20)
	add("gitlab runner", "glrt-", letters, 20)
	add("aws id", "AKIA", capital, 16)
	add("aws temporary id", "ASIA", capital, 16)
	add("gcp key", "AIza", letters, 35)
	add("gcp access", "ya29.a0", wordy, 60)
	add("gcp client secret", "GOCSPX-", letters, 28)
	add("azure client secret", p.of(letters, 3)+"8Q~", letters, 34)
	add("slack bot", "xoxb-"+p.of("123456789", 12)+"-"+p.of("123456789", 12)+"-", letters, 24)
	add("slack user", "xoxp-"+p.of("123456789", 12)+"-", letters, 32)
	add("slack app", "xapp-1-A"+p.of(capital, 10)+"-"+p.of("123456789", 12)+"-", hexes, 64)
	add("slack hook", "hooks.slack.com/services/T"+p.of(capital, 8)+"/B"+p.of(capital, 8)+"/", letters, 24)
	add("stripe live", "sk_live_", letters, 24)
	add("stripe restricted", "rk_live_", letters, 24)
	add("stripe hook", "whsec_", letters, 32)
	add("openai", "sk-proj-", wordy, 74)
	add("openai old", "sk-"+p.of(letters, 20)+"T3BlbkFJ", letters, 20)
	add("anthropic", "sk-ant-api03-", letters, 95)
	add("npm", "npm_", letters, 36)
	add("pypi", "pypi-AgEIcHlwaS5vcmc", letters, 90)
	add("hugging face", "hf_", letters[:52], 34)
	add("twilio", "SK", hexes, 32)
	add("sendgrid", "SG."+p.of(letters, 22)+".", letters, 43)
	add("telegram", p.of("123456789", 9)+":AA", letters, 33)
	add("digitalocean", "dop_v1_", hexes, 64)
	add("shopify", "shpat_", hexes, 32)
	return all
}

// others are secrets whose context identifies them.
func (p *planter) others() (all []plant) {
	around := func(name, before, secret, after string) {
		all = append(all, plant{name, before + secret + after, secret})
	}
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	jwt := part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"sub":"`+p.of(letters, 12)+`"}`) + "." + p.of(letters, 43)
	around("jwt", "", jwt, "")
	for _, scheme := range []string{"postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis", "amqp", "amqps", "https", "ftp"} {
		around(scheme, scheme+"://me:", p.of(letters, 14), "@db.example.com/x")
	}
	around("redis without a user", "redis://:", p.of(letters, 14), "@cache:6379/0")
	around("bearer", "Bearer ", p.of(letters, 32), "")
	user := base64.StdEncoding.EncodeToString([]byte("me:" + p.of(letters, 15)))
	around("basic", "Basic ", user, "")
	around("azure account", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", p.of(letters+"+/", 86)+"==", ";EndpointSuffix=core.windows.net")
	around("azure bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=n;SharedAccessKey=", p.of(letters, 43)+"=", "")
	around("azure signature", "https://x.blob.core.windows.net/c?sv=2024-01-01&sig=", p.of(letters, 43), "&se=2030")
	around("ado", "Server=tcp:db,1433;User ID=me;Password=", p.of(letters, 14), ";Encrypt=True")
	around("aws secret", "aws_secret_access_key = ", p.of(letters+"/", 40), "")
	around("variable", "export DB_PASSWORD=", p.of(letters, 12), "")
	around("jdbc", "jdbc:postgresql://db/x?user=me&password=", p.of(letters, 12), "&ssl=true")
	for _, kind := range []string{"RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""} {
		body := p.of(letters, 64) + "\n" + p.of(letters, 64) + "\n" + p.of(letters, 20)
		around(kind+"key", "-----BEGIN "+kind+"PRIVATE KEY-----\n", body, "\n-----END "+kind+"PRIVATE KEY-----\n")
	}
	return all
}

// A slot makes a frame from a text in which ‹› stands for what is planted, in the spelling
// that the slot requires.
type slot struct {
	name  string
	lane  tap.Lane
	form  tap.Form
	spell func(string) string
	text  string
}

func plainly(s string) string { return s }

// quoted spells a text as in a JSON string, without the quotes.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

func times(n int, spell func(string) string) func(string) string {
	return func(s string) string {
		for range n {
			s = spell(s)
		}
		return s
	}
}

func unicoded(s string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func base64of(enc *base64.Encoding, before, after string) func(string) string {
	return func(s string) string { return enc.EncodeToString([]byte(before + s + after)) }
}

// inObject spells a text as a member of an object that is a string in another object, n
// levels deep.
func inObject(n int) func(string) string {
	return func(s string) string {
		for range n {
			s = `{"t":"` + quoted(s) + `","n":1}`
		}
		return quoted(s)
	}
}

// inObject64 spells a text as a member of an object in base64.
func inObject64(s string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"t":"` + quoted(s) + `"}`))
}

func call(text string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":` + text + `}}`
}

func answer(text string) string {
	return `{"jsonrpc":"2.0","id":7,"result":{"content":[` + text + `]}}`
}

// slots returns the places in which a frame holds text.
func slots() []slot {
	const line, event = tap.FormLine, tap.FormEvent
	long := strings.Repeat("nothing to see here. ", 300)
	return []slot{
		{"argument", tap.ToServer, line, quoted, call(`{"note":"‹›","n":1}`)},
		{"element", tap.ToServer, line, quoted, call(`{"list":["a","‹›","b"]}`)},
		{"name of a member", tap.ToServer, line, quoted, call(`{"‹›":1}`)},
		{"in a sentence", tap.ToClient, line, quoted, answer(`{"type":"text","text":"It is ‹› now, go on."}`)},
		{"in quotes", tap.ToClient, line, quoted, answer(`{"type":"text","text":"It is \"‹›\", go on."}`)},
		{"in Markdown", tap.ToClient, line, quoted, answer(`{"type":"text","text":"Use:\n` + "```" + `\n‹›\n` + "```" + `\n"}`)},
		{"in a long text", tap.ToClient, line, quoted, answer(`{"type":"text","text":"` + long + `‹› ` + long + `"}`)},
		{"structured content", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"a":{"b":[{"c":"‹›"}]}}}}`},
		{"message of an error", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"cannot use ‹› here","data":null}}`},
		{"data of an error", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no","data":{"cause":["‹›"]}}}`},
		{"log message", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"‹›"}}`},
		{"progress message", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"‹›"}}`},
		{"_meta", tap.ToServer, line, quoted, `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"example.com/x":"‹›"}}}`},
		{"method", tap.ToServer, line, quoted, `{"jsonrpc":"2.0","id":7,"method":"‹›"}`},
		{"id", tap.ToServer, line, quoted, `{"jsonrpc":"2.0","id":"‹›","method":"ping"}`},
		{"description of a tool", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"a","description":"‹›","inputSchema":{"type":"object","properties":{"password":{"type":"string","description":"like ‹›"}}}}]}}`},
		{"instructions", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"},"instructions":"‹›"}}`},
		{"batch", tap.ToServer, line, quoted, `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":8,"method":"b","params":{"x":"‹›"}}]`},
		{"JSON in a string", tap.ToClient, line, inObject(1), answer(`{"type":"text","text":"‹›"}`)},
		{"JSON in strings", tap.ToClient, line, inObject(7), answer(`{"type":"text","text":"‹›"}`)},
		{"JSON in a sentence", tap.ToClient, line, inObject(2), answer(`{"type":"text","text":"got ‹› back"}`)},
		{"escaped", tap.ToClient, line, unicoded, answer(`{"type":"text","text":"‹›"}`)},
		{"escaped twice", tap.ToClient, line, times(2, quoted), answer(`{"type":"text","text":"{\"a\":\"‹›\"}"}`)},
		{"blob", tap.ToClient, line, base64of(base64.StdEncoding, "", ""), `{"jsonrpc":"2.0","id":7,"result":{"contents":[{"uri":"file:///x","blob":"‹›"}]}}`},
		{"blob of a file", tap.ToClient, line, base64of(base64.StdEncoding, "# settings\nkey: ", "\nmore: x\n"), `{"jsonrpc":"2.0","id":7,"result":{"contents":[{"uri":"file:///x","blob":"‹›"}]}}`},
		{"blob for URLs", tap.ToClient, line, base64of(base64.RawURLEncoding, "ü ", " ü"), call(`{"state":"‹›"}`)},
		{"blob twice", tap.ToClient, line, times(2, base64of(base64.StdEncoding, "a ", "")), call(`{"state":"‹›"}`)},
		{"data URL", tap.ToClient, line, base64of(base64.StdEncoding, "so: ", "."), answer(`{"type":"text","text":"data:text/plain;base64,‹›"}`)},
		{"base64 of a parameter", tap.Stderr, line, base64of(base64.StdEncoding, "it is ", ""), "GET /mcp?config=‹› HTTP/1.1\n"},
		{"base64 of an object in a path", tap.ToClient, line, inObject64, answer(`{"type":"text","text":"https://example.com/a/b/‹›/mcp"}`)},
		{"base64 of an object after a sign", tap.ToClient, line, inObject64, answer(`{"type":"text","text":"-x\n+‹›\n"}`)},
		{"query", tap.ToClient, line, url.QueryEscape, answer(`{"type":"text","text":"https://example.com/?q=‹›&page=2"}`)},
		{"path", tap.ToClient, line, url.PathEscape, answer(`{"type":"text","text":"https://example.com/cb/‹› is"}`)},
		{"query in a query", tap.ToClient, line, times(2, url.QueryEscape), answer(`{"type":"text","text":"https://example.com/?next=%2Fcb%3Fq%3D‹›"}`)},
		{"no JSON", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"result":{"text":"‹›",}`},
		{"half a message", tap.ToClient, line, quoted, `{"jsonrpc":"2.0","id":7,"result":{"text":"‹›`},
		{"a word on stdout", tap.ToClient, line, plainly, `DEBUG ‹› is in use`},
		{"stderr", tap.Stderr, line, plainly, "2026-11-20T10:00:00Z INFO ‹›\n"},
		{"stderr with colours", tap.Stderr, line, plainly, "\x1b[32mINFO\x1b[0m ‹›\x1b[0m\n"},
		{"stderr as HTML", tap.Stderr, line, func(s string) string { return html.EscapeString(quoted(s)) }, "<a data-x=\"{&quot;note&quot;:&quot;‹›&quot;}\">\n"},
		{"stderr as JSON", tap.Stderr, line, quoted, `{"level":"info","msg":"‹›","x":1}` + "\n"},
		{"start", tap.Lifecycle, line, quoted, `{"event":"start","transport":"stdio","command":["npx","-y","srv","‹›"],"dir":"/x","pid":7}`},
		{"header field", tap.Lifecycle, line, quoted, `{"event":"request","method":"POST","target":"/mcp","header":[["Accept","*/*"],["X-Note","‹›"]]}`},
		{"target", tap.Lifecycle, line, url.QueryEscape, `{"event":"request","method":"POST","target":"/mcp?q=‹›","header":[["Accept","*/*"]]}`},
		{"failure", tap.Lifecycle, line, quoted, `{"event":"spawn_failed","error":"exec: ‹›: not found"}`},
		{"event", tap.ToClient, event, quoted, "id: 1\ndata: " + answer(`{"type":"text","text":"‹›"}`) + "\n\n"},
		{"event in lines", tap.ToClient, event, quoted, "data: {\"a\":1,\ndata: \"t\":\"‹›\"\ndata: }\n\n"},
		{"id of an event", tap.ToClient, event, url.QueryEscape, "id: ‹›\ndata: {}\n\n"},
		{"comment of an event", tap.ToClient, event, url.QueryEscape, ": ‹›\ndata: {}\n\n"},
		{"body", tap.ToServer, tap.FormBody, quoted, call(`{"note":"‹›"}`)},
		{"form", tap.ToServer, tap.FormBody, url.QueryEscape, "a=1&note=‹›&b=2"},
		{"page", tap.ToClient, tap.FormBody, plainly, "<html><body><p>‹›</p></body></html>"},
		{"WebSocket text", tap.ToServer, tap.FormText, quoted, call(`{"note":"‹›"}`)},
		{"WebSocket binary", tap.ToServer, tap.FormBinary, quoted, call(`{"note":"‹›"}`)},
		{"ping", tap.ToServer, tap.FormPing, url.QueryEscape, "‹›"},
		{"close", tap.ToServer, tap.FormClose, url.QueryEscape, "\x03\xe8‹›"},
		{"bytes", tap.ToServer, tap.FormBytes, plainly, "GET / HTTP/1.0\r\nX-Note: ‹›\r\n\r\n"},
	}
}

// traces are the forms in which a secret would still be a secret.
func traces(secret string) []string {
	all := []string{secret, quoted(secret), url.QueryEscape(secret), url.PathEscape(secret), unicoded(secret),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			coded := enc.EncodeToString([]byte(strings.Repeat(" ", shift) + secret))
			all = append(all, coded[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
	return all
}

// trace returns the form in which redacted frames contain a secret, "" for none.
func trace(out [][]byte, secret string) string {
	for _, b := range out {
		for _, s := range traces(secret) {
			if bytes.Contains(b, []byte(s)) {
				return s
			}
		}
	}
	return ""
}

// bystander is a frame that holds no secret.
const bystander = `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"read","arguments":{"path":"/home/me/projects/x/index.ts","sha":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","uuid":"550e8400-e29b-41d4-a716-446655440000"},"_meta":{"progressToken":6}}}`

// planted checks one secret in one slot, and that nothing else is changed.
func planted(t *testing.T, r *Redactor, p plant, s slot) {
	t.Helper()
	r.Again()
	r.known = known{} // otherwise it would be found because it was found before
	before, after, _ := strings.Cut(s.text, "‹›")
	spelled := s.spell(p.text)
	raw := strings.ReplaceAll(s.text, "‹›", spelled)
	list := []tap.Frame{
		{Seq: 1, Lane: tap.ToServer, Raw: []byte(bystander)},
		{Seq: 2, Lane: s.lane, Form: s.form, Raw: []byte(raw)},
		{Seq: 3, Lane: tap.ToClient, Raw: []byte(bystander)},
	}
	out := twice(r, list)
	if left := trace(out, p.secret); left != "" {
		t.Errorf("%s, %s: %s is left in\n%.600s", p.name, s.name, left, out[1])
	}
	if string(out[0]) != bystander || string(out[2]) != bystander {
		t.Errorf("%s, %s: another frame was changed:\n%s\n%s", p.name, s.name, out[0], out[2])
	}
	if !strings.Contains(after, "‹›") && (!bytes.HasPrefix(out[1], []byte(before)) || !bytes.HasSuffix(out[1], []byte(after))) {
		t.Errorf("%s, %s: the text around it was changed:\n%.600s\nbecame\n%.600s", p.name, s.name, raw, out[1])
	}
	if json.Valid([]byte(raw)) && !json.Valid(out[1]) {
		t.Errorf("%s, %s: no longer JSON: %.600s", p.name, s.name, out[1])
	}
}

// Each secret that needs no name, in each slot.
func TestEveryKeyInEveryPlace(t *testing.T) {
	p := &planter{rand.New(rand.NewPCG(8, 1))}
	plants := append(p.providerKeys(), p.others()...)
	r := New(testOptions())
	for _, one := range plants {
		for _, s := range slots() {
			planted(t, r, one, s)
		}
	}
}
