package web

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

func TestBundleIsWhole(t *testing.T) {
	script := bundle("saved", "saved_source")
	for name, script := range map[string]string{"saved": script, "page": string(asset("page.js"))} {
		if left := regexp.MustCompile(`(?m)^\s*(import|export)\b.*`).FindString(script); left != "" {
			t.Errorf("%s: %q is left", name, left)
		}
	}
	if strings.Contains(strings.ToLower(script), "</script") || strings.Contains(script, "<!--") {
		t.Error("the script contains the end of a script")
	}
	if strings.Contains(script, "fetch(") || strings.Contains(script, "WebSocket") {
		t.Error("the script makes requests")
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown module is not an error")
		}
	}()
	bundle("no_such_module", "")
}

func TestSavedPage(t *testing.T) {
	m := &memory{key: "x", label: `</title><script>alert(1)</script>`}
	m.add(tap.ToServer, `{"jsonrpc":"2.0","id":1,"method":"</script><script>alert(2)</script>","params":{"a":"<!--"}}`)
	m.add(tap.ToClient, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	m.add(tap.ToClient, strings.Repeat("x", 2*maxSavedFrame))
	var out bytes.Buffer
	if err := Offline(context.Background(), &out, m.reader()); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if strings.Contains(page, "alert(1)</script>") && !strings.Contains(page, `&lt;script&gt;alert(1)`) || strings.Contains(page, "alert(2)</script>") {
		t.Error("recorded text is markup")
	}
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	for _, word := range []string{"src=", "href=\"http", "@import", "url(h", "url('", `url("`} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %s", word)
		}
	}
	if out.Len() > 1<<20 {
		t.Errorf("the page has %d bytes: the long frame is not cut", out.Len())
	}
}
