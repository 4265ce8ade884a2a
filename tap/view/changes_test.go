package view

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

func TestChanges(t *testing.T) {
	long := strings.Repeat("la ", 100)
	for _, c := range []struct{ before, after, want string }{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1.0}`, ""},
		{`[1e400,12345678901234567890]`, `[10e399,1.2345678901234567890e19]`, ""},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, `$.a: 12345678901234567890 > 12345678901234567891`},
		{`{"a":1}`, `{"a":"1"}`, `$.a: 1 > "1"`},
		{`{"a":1,"b":2}`, `{"b":3,"c":[1,{"d":2}]}`, `$.a: 1 > ; $.b: 2 > 3; $.c:  > [1,{"d":2}]`},
		{`{"content":[{"text":"a"},{"text":"b"}]}`, `{"content":[{"text":"a"},{"text":"c"}]}`, `$.content[1].text: "b" > "c"`},
		{`[1,2,3]`, `[1,9,2,3]`, `$[1]:  > 9`},
		{`[1,2,3,4]`, `[1,4]`, `$[1]: 2 > ; $[2]: 3 > `},
		{`[[1,2,3],5]`, `[[1,9,2,3],6]`, `$[0][1]:  > 9; $[1]: 5 > 6`},
		{`{"odd key":1,"":2}`, `{"odd key":2,"":3}`, `$["odd key"]: 1 > 2; $[""]: 2 > 3`},
		{`{"t":"one\ntwo\nthree\nfour"}`, `{"t":"one\n2\nthree\nfour"}`, `$.t line 2: "two" > "2"`},
		{`{"t":"one\ntwo"}`, `{"t":"one\ntwo\nthree"}`, `$.t line 3:  > "three"`},
		{`{"t":"` + long + `x` + long + `"}`, `{"t":"` + long + `y` + long + `"}`, `$.t: …"a la la la la la la xla la la la la la la"… > …"a la la la la la la yla la la la la la la"…`},
		{`{"t":"a"}`, `{"t":"` + long + `"}`, `$.t: "a" > "` + long[:maxShown] + `…"`},
		{`{"t":null}`, `{}`, `$.t: null > `},
		{`true`, `{"a":1}`, `$: true > {"a":1}`},
		{`nonsense`, `nonsense`, ""},
		{`nonsense`, `{}`, `: nonsense > {}`},
	} {
		changes, more := Changes([]byte(c.before), []byte(c.after), 20)
		var got []string
		for _, ch := range changes {
			got = append(got, ch.Path+": "+ch.Old+" > "+ch.New)
		}
		if s := strings.Join(got, "; "); s != c.want || more != 0 {
			t.Errorf("%.60s to %.60s:\ngot  %s, %d more\nwant %s", c.before, c.after, s, more, c.want)
		}
	}
	changes, more := Changes([]byte(`[1,2,3,4,5]`), []byte(`[6,7,8,9,0]`), 2)
	if len(changes) != 2 || more != 3 {
		t.Errorf("%d changes, %d more", len(changes), more)
	}
}

// Whatever is compared, equal values have no changes and others have some, equally many in
// both directions.
func TestChangesProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var random func(depth int) any
	random = func(depth int) any {
		switch n := rng.IntN(7); {
		case n == 0 && depth < 4:
			object := map[string]any{}
			for range rng.IntN(4) {
				object[string(rune('a'+rng.IntN(3)))] = random(depth + 1)
			}
			return object
		case n == 1 && depth < 4:
			list := []any{}
			for range rng.IntN(4) {
				list = append(list, random(depth+1))
			}
			return list
		case n == 2:
			return strings.Repeat("x\n", rng.IntN(4)) + string(rune('a'+rng.IntN(2)))
		case n == 3:
			return rng.IntN(2) == 0
		case n == 4:
			return nil
		}
		return rng.IntN(3)
	}
	for range 20_000 {
		va, vb := random(0), random(0)
		a, _ := json.Marshal(va)
		b, _ := json.Marshal(vb)
		forth, more := Changes(a, b, 1000)
		back, moreBack := Changes(b, a, 1000)
		if len(forth) != len(back) || more != 0 || moreBack != 0 || (len(forth) == 0) != (string(a) == string(b)) {
			t.Fatalf("%s to %s: %v, back %v", a, b, forth, back)
		}
		for _, c := range forth {
			if c.Old == c.New {
				t.Fatalf("%s to %s: %+v", a, b, c)
			}
		}
	}
}

// Hostile responses take bounded stack and time.
func TestChangesHostile(t *testing.T) {
	deep := func(n int, inside string) []byte {
		return []byte(strings.Repeat("[", n) + inside + strings.Repeat("]", n))
	}
	wide := func(last string) []byte {
		return []byte("[" + strings.Repeat(`{"a":"b\nc\nd"},`, 20_000) + last + "]")
	}
	lines := func(c string) []byte { return []byte(`{"t":"` + strings.Repeat(c+`\n`, 100_000) + `"}`) }
	for i, c := range [][2][]byte{
		{deep(9000, "1"), deep(9000, "2")},
		{deep(20_000, "1"), deep(20_000, "2")}, // deeper than can be read
		{deep(1000, strings.Repeat("1,", 50_000)+"1"), deep(1000, strings.Repeat("1,", 50_000)+"2")},
		{wide("1"), wide("2,3")},
		{wide("1"), []byte("[]")},
		{lines("a"), lines("b")},
		{[]byte(`{"t":1e999999999999999999999}`), []byte(`{"t":1e99999999999999999999}`)},
	} {
		changes, _ := Changes(c[0], c[1], MaxChanges)
		if len(changes) == 0 {
			t.Errorf("case %d: nothing changed", i)
		}
		for _, ch := range changes {
			if len(ch.Old)+len(ch.New) > 20*maxShown {
				t.Errorf("case %d: a change of %d bytes", i, len(ch.Old)+len(ch.New))
			}
		}
	}
}

// deltas returns the deltas of some frames as text.
func deltas(t *testing.T, a *Responses, all []tap.Frame) (out []string) {
	t.Helper()
	read(t, all, func(_ *session.Tracker, r *session.Entry) {
		for _, d := range a.Add(r) {
			s := fmt.Sprintf("%d after %d:", d.Message.Seq, d.Previous.Seq)
			for _, c := range d.Changes {
				s += " " + c.Path
			}
			out = append(out, s)
		}
	})
	return out
}

func TestResponses(t *testing.T) {
	got := deltas(t, NewResponses(), frames(t, `
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"y":2},"_meta":{"progressToken":1}}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"one"}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2},"arguments":{"y":2.0,"x":1e0},"name":"a"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"text":"other"}]}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"two"}]}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"y":2}}}
		< {"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"gone"}}
		> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"y":2}}}
		< {"jsonrpc":"2.0","id":5,"error":{"message":"gone","code":1}}
		> {"jsonrpc":"2.0","id":6,"method":"ping"}
		< {"jsonrpc":"2.0","id":6,"result":{}}
		< {"jsonrpc":"2.0","id":7,"method":"ping"}
		> {"jsonrpc":"2.0","id":7,"result":{"a":1}}
		> [{"jsonrpc":"2.0","id":8,"method":"ping"}]
		< [{"jsonrpc":"2.0","id":8,"result":{"a":1}}]
	`))
	want := []string{
		"6 after 2: $.result.content[0].text",
		"8 after 6: $.result $.error",
		"10 after 8:",
		"16 after 12: $.result.a",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Memory is bounded for any number of requests and size of responses, and responses that
// could not be compared are counted.
func TestResponsesAreBounded(t *testing.T) {
	a := NewResponses()
	x := &session.Tracker{}
	seq := uint64(0)
	add := func(lane tap.Lane, raw string) {
		seq++
		r := x.Add(&tap.Frame{Seq: seq, At: time.Duration(seq), Lane: lane, Raw: []byte(raw), Size: int64(len(raw))})
		for _, d := range a.Add(r) {
			t.Errorf("%+v", d)
		}
		if a.last.Len() > MaxResponses || a.bytes > MaxResponseBytes || len(a.open) > 1 {
			t.Fatalf("%d responses of %d bytes, %d open calls", a.last.Len(), a.bytes, len(a.open))
		}
	}
	big := strings.Repeat("x", MaxResponse-100)
	for i := range 3 * MaxResponses {
		text := "small"
		if i%3 == 0 {
			text = big
		}
		if i%100 == 99 {
			text = big + big
		}
		add(tap.ToServer, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n":%d}}`, i, i))
		add(tap.ToClient, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":%q}}`, i, text))
	}
	if a.TooLarge != 15 || a.Forgotten == 0 {
		t.Errorf("%d too large, %d forgotten", a.TooLarge, a.Forgotten)
	}
}
