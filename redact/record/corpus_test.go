package record

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
)

//go:embed testdata/masking.txt
var maskingCorpus string

// maxMissed is the number of places of the corpus that may reach the disk, and maxFalse the
// number of harmless ones that may be masked.
const maxMissed, maxFalse = 4, 0

// Credentials do not reach the disk, wherever a client or a server puts them: the places of
// the corpus are those that MCP servers and their services use.
func TestMaskingMissesNoCommonCredential(t *testing.T) {
	const secret = "planted-value"
	m := testMasker()
	places, missed, harmless, masked := 0, 0, 0, 0
	for line := range strings.Lines(maskingCorpus) {
		kind, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || kind == "#" {
			continue
		}
		in, out := name, ""
		switch strings.TrimPrefix(kind, "open-") {
		case "header":
			in = secret
			out = m.field(name, in)
		case "query":
			in = "/mcp?a=b&" + name + "=" + secret + "&c=d"
			out, _ = m.url(in)
		case "json":
			in = fmt.Sprintf(`{"a":"b",%q:%q}`, name, secret)
			body, _ := m.json([]byte(in))
			out = string(body)
		case "form":
			in = "a=b&" + name + "=" + secret
			out, _ = m.form(in)
		case "part":
			in = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x\r\nContent-Disposition: form-data; name=\"" + name +
				"\"\r\nContent-Type: text/plain\r\n\r\n" + secret + "\r\n--x--\r\n"
			body, _ := m.multipart([]byte(in))
			out = string(body)
		case "path":
			out, _ = m.url(in)
		case "protocols":
			out = m.field("Sec-WebSocket-Protocol", in)
		default:
			t.Fatalf("the corpus has a %s", kind)
		}
		if strings.HasPrefix(kind, "open-") {
			if harmless++; out != in {
				masked++
				t.Logf("%s %s becomes %s", kind, name, out)
			}
			continue
		}
		if places++; out == in || strings.Contains(out, secret) {
			missed++
			t.Logf("%s %s is kept", kind, name)
		}
	}
	t.Logf("%d of %d places with a credential are missed, %d of %d harmless ones masked", missed, places, masked, harmless)
	if places < 300 || missed > maxMissed || masked > maxFalse {
		t.Errorf("at most %d may be missed, and %d masked", maxMissed, maxFalse)
	}
}

func TestMaskedLinks(t *testing.T) {
	m := testMasker()
	p := m.pseudonym
	for value, want := range map[string]string{
		`<https://x/y?page=2&token=1>; rel="next", </z?sig=2>; rel=prev`: `<https://x/y?page=2&token=` + p("1") + `>; rel="next", </z?sig=` + p("2") + `>; rel=prev`,
		`<https://x/y?token=1`: `<https://x/y?token=` + p("1"),
		`nothing`:              `nothing`,
	} {
		if got := m.field("Link", value); got != want {
			t.Errorf("%s becomes %s, want %s", value, got, want)
		}
	}
}
