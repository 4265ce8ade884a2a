package web

import (
	"regexp"
	"testing"

	"github.com/mcptap/mcptap/tap/filter"
)

// TestNamesAreFilterWords checks that the filter accepts the names that the page uses for frames.
func TestNamesAreFilterWords(t *testing.T) {
	script, err := assets.ReadFile("assets/words.js")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, table := range []struct{ rows, name, key string }{
		{`(?s)const kindWords = \{(.*?)\n\};`, `: plain\('[^']*', '([^']+)'`, "kind:"},
		{`(?s)const httpWords = \{(.*?)\n\};`, `: '([^']+)'`, "kind:"},
		{`(?s)const roleWords = \{(.*?)\n\};`, `: plain\('[^']*', '([^']+)'`, "is:"},
	} {
		rows := regexp.MustCompile(table.rows).FindSubmatch(script)
		if rows == nil {
			t.Fatalf("words.js has no match for %s", table.rows)
		}
		for _, name := range regexp.MustCompile(table.name).FindAllSubmatch(rows[1], -1) {
			names++
			if _, err := filter.Parse(table.key + `"` + string(name[1]) + `"`); err != nil {
				t.Errorf("the page has %q: %v", name[1], err)
			}
		}
	}
	if names < 35 {
		t.Errorf("only %d names found", names)
	}
}
