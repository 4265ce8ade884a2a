package streamable

import "testing"

func TestSwapOrigin(t *testing.T) {
	up := origin{"https", "mcp.example.com", "443"}
	for raw, want := range map[string]string{
		"https://mcp.example.com/a?b#c":     "http://tap/a?b#c",
		"https://MCP.example.com:443/a":     "http://tap/a",
		"HTTPS://mcp.example.com":           "http://tap",
		"https://mcp.example.com?x":         "http://tap?x",
		"//mcp.example.com/a":               "http://tap/a",
		"http://mcp.example.com/a":          "",
		"https://mcp.example.com:8443/a":    "",
		"https://mcp.example.com.evil.com/": "",
		"https://evil@mcp.example.com/":     "",
		"https://mcp.example.com@evil.com/": "",
		"https:/mcp.example.com/a":          "",
		"/a":                                "",
		"":                                  "",
		"https://":                          "",
		"javascript:alert(1)":               "",
	} {
		got, ok := swapOrigin(raw, up, "http://tap")
		if ok != (want != "") || ok && got != want || !ok && got != raw {
			t.Errorf("%s becomes %s, %v", raw, got, ok)
		}
	}
}

func TestSwapMetadata(t *testing.T) {
	tr := &traffic{Tap: &Tap{hosts: hosts{upstream: origin{"http", "u", "80"}}}}
	for raw, want := range map[string]string{
		`Bearer resource_metadata="http://u/x"`:                  `Bearer resource_metadata="http://tap/x"`,
		`Bearer Resource_Metadata=http://u/x, scope="http://u/"`: `Bearer Resource_Metadata=http://tap/x, scope="http://u/"`,
		`Bearer resource_metadata="http://v/x"`:                  "",
		`Bearer resource_metadata="http://u/x`:                   `Bearer resource_metadata="http://tap/x`,
		`Bearer`:                                                 "",
		`Bearer resource_metadata=`:                              "",
	} {
		got, ok := tr.swapMetadata(raw, "http://tap")
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s becomes %s", raw, got)
		}
	}
}
