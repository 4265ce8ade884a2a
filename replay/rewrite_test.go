package replay

import (
	"strings"
	"testing"
)

// A value is found and replaced, whatever surrounds it. A message without the value, or that is
// not JSON, is not changed.
func TestRewriteMember(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct{ message, path, value, want string }{
		{`{"id":1,"method":"a"}`, "id", "1", `{"id":"x","method":"a"}`},
		{" \ufeff{ \"a\" : [ {\"id\":2} ] , \"id\" :  \"7\" }\n", "id", `"7"`, " \ufeff{ \"a\" : [ {\"id\":2} ] , \"id\" :  \"x\" }\n"},
		{`{"params":{"requestId":12345678901234567890}}`, "params.requestId", "12345678901234567890", `{"params":{"requestId":"x"}}`},
		{`{"id":1,"id":2}`, "id", "2", `{"id":1,"id":"x"}`},
		{` {"\u0062" : {"c":[1,{"d":"}"}],"c": "é" } ,"e":{} }`, "b.c", `"é"`, ` {"\u0062" : {"c":[1,{"d":"}"}],"c": "x" } ,"e":{} }`},
		{`{"method":"a"}`, "id", "", `{"method":"a"}`},
		{`{"params":[1]}`, "params.id", "", `{"params":[1]}`},
		{`{"id":` + deep, "id", deep, `{"id":` + deep},
		{``, "id", "", ``},
		{`[{"id":1}]`, "id", "", `[{"id":1}]`},
		{"\x00\xff", "id", "", "\x00\xff"},
	} {
		path := strings.Split(c.path, ".")
		if got := string(Value([]byte(c.message), path...)); got != c.value {
			t.Errorf("%.80q at %s: %.80q, want %.80q", c.message, c.path, got, c.value)
		}
		if got := string(Rewrite([]byte(c.message), []byte(`"x"`), path...)); got != c.want {
			t.Errorf("%.80q at %s: %.80q, want %.80q", c.message, c.path, got, c.want)
		}
	}
}
