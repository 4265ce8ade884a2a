package web

import (
	"os"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap/session"
)

// TestStates checks that the page knows the states of calls, in their order.
func TestStates(t *testing.T) {
	rows, err := os.ReadFile("assets/rows.js")
	if err != nil {
		t.Fatal(err)
	}
	words, err := os.ReadFile("assets/words.js")
	if err != nil {
		t.Fatal(err)
	}
	list := "['', "
	for i, s := range session.States {
		if i > 0 {
			list += ", "
		}
		list += "'" + string(s) + "'"
		if name := string(s); !strings.Contains(string(words), " "+name+": [") && !strings.Contains(string(words), "'"+name+"': [") {
			t.Errorf("words.js has no shape for the state %q", s)
		}
	}
	if !strings.Contains(string(rows), list+"];") {
		t.Errorf("rows.js does not have the states %s]", list)
	}
}
