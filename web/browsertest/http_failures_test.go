package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failures is an HTTP recording: a call that is refused with 500, one whose stream ends without the response,
// a cancelled one, and one that the tap refuses because it does not reach the server.
const failures = `transport: http
end: +2s

-- lifecycle +1ms --
{"event":"start","transport":"http","listen":"127.0.0.1:9000","upstream":"http://127.0.0.1:3001"}
-- lifecycle +2ms --
{"event":"connect","conn":1}
-- lifecycle +3ms exchange=1 --
{"event":"request","conn":1,"proto":"HTTP/1.1","method":"POST","target":"/mcp"}
-- to_server +4ms exchange=1 form=body --
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refused"}}
-- lifecycle +5ms exchange=1 --
{"event":"response","proto":"HTTP/1.1","status":500,"reason":"Internal Server Error","header":[["Content-Type","application/json"]]}
-- to_client +6ms exchange=1 form=body --
{"detail":"the database is down"}
-- lifecycle +7ms exchange=1 --
{"event":"end","by":"server","first_byte_ns":1181919,"bytes_up":71,"bytes_down":33}
-- lifecycle +8ms exchange=2 --
{"event":"request","conn":1,"proto":"HTTP/1.1","method":"POST","target":"/mcp"}
-- to_server +9ms exchange=2 form=body --
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lost"}}
-- lifecycle +10ms exchange=2 --
{"event":"response","proto":"HTTP/1.1","status":200,"reason":"OK","header":[["Content-Type","text/event-stream"]]}
-- lifecycle +110ms exchange=2 --
{"event":"end","by":"server","bytes_up":71}
-- lifecycle +111ms exchange=3 --
{"event":"request","conn":1,"proto":"HTTP/1.1","method":"POST","target":"/mcp"}
-- to_server +112ms exchange=3 form=body --
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}
-- to_server +113ms exchange=4 form=body --
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}
-- lifecycle +114ms exchange=5 --
{"event":"request","conn":1,"proto":"HTTP/1.1","method":"POST","target":"/mcp"}
-- to_server +115ms exchange=5 form=body --
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"unreachable"}}
-- lifecycle +116ms exchange=5 --
{"event":"response","proto":"HTTP/1.1","status":502,"reason":"Bad Gateway","header":[["Content-Type","text/plain"]],"by":"tap"}
-- to_client +117ms exchange=5 form=body --
mcptap: the server could not be reached
-- lifecycle +118ms exchange=5 --
{"event":"end","error":"the server could not be reached","by":"tap","bytes_up":71}
-- lifecycle +119ms --
{"event":"disconnect","error":"the server could not be reached","conn":1,"by":"tap"}
`

// TestHTTPFailures checks that each failure of HTTP is shown once, with its response.
func TestHTTPFailures(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "failures.txtar")
	if err := os.WriteFile(file, []byte(failures), 0o600); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(run(t, dir, "import", file))
	base, _ := startWeb(t, dir)

	// The calls are those of `mcptap show --calls`, without the cancellation, which is folded.
	p := newTab(t, at(t, base, "/r/"+id), 1280, 800, false)
	p.read()
	if got := strings.Fields(p.text(".pad > .row .no")); strings.Join(got, " ") != "1 4 9 11 13 16" {
		t.Errorf("the rows are %s", got)
	}
	if got := p.text(".foot"); !strings.Contains(got, "⊘ 1 call cancelled") || !strings.Contains(got, "1 call unanswered") {
		t.Errorf("foot: %s", got)
	}

	// The response of a refused call is the head and the body.
	p.do(navigate(at(t, base, "/r/"+id+"?f=4")))
	p.wait("document.querySelectorAll('.card h3').length === 3")
	if got, want := p.text(".chips"), "✕ refused · 3.0 ms HTTP response #5 HTTP body #6"; got != want {
		t.Errorf("the links are %q, want %q", got, want)
	}
	if got, want := p.text(".card h3"), "#4 request\n#5 HTTP response\n#6 HTTP body"; got != want {
		t.Errorf("the cards are %q, want %q", got, want)
	}
	p.picture("http-refused")

	// The foot counts calls, and selects the cancelled ones.
	p.click(".foot .link.odd")
	p.wait("/^1 of 4 calls/.test(document.querySelector('.foot').innerText)")
	p.keys("c")
	p.find("is:error\r")
	p.wait("/^3 of 4 calls/.test(document.querySelector('.foot').innerText)")
	p.wait("[...document.querySelectorAll('.pad > .row:not([hidden]) .no')].map((e) => e.innerText.trim()).join(' ') === '4 9 16'") // drawn later
	p.find("tool:nothing\r")
	p.wait("/^0 of 4 calls/.test(document.querySelector('.foot').innerText)")

	// In the sequence, a refused call is red, the bar of a lost call ends with its stream, and the tap's message
	// is not an arrow of the server.
	p.do(navigate(at(t, base, "/r/"+id+"?v=sequence")))
	p.wait("document.querySelector('.row.step .lifeline.server i.on')")
	step := func(seq string) string {
		return "[...document.querySelectorAll('.pad > .row.step')].find((e) => e.innerText.includes('#" + seq + " '))"
	}
	p.wait(step("4") + ".classList.contains('bad')")
	p.wait(step("4") + ".innerText.includes('refused')")
	p.wait(step("18") + ".classList.contains('lifecycle')")
	p.wait("!" + step("16") + ".querySelector('.lifeline.server i.on:not(.begins)')")
	p.picture("http-failures-sequence")

	p.do(navigate(at(t, base, "/r/"+id+"?v=stats")))
	p.wait("document.querySelector('.stats table')")
	got := p.text(".stats")
	for _, want := range []string{"1 unanswered", "1 cancelled", "✕ lost", "⊘ cancelled", "✕ refused"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the statistics:\n%s", want, got)
		}
	}
}
