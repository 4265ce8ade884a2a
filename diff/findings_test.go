package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/internal/jsontree"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// A number in a definition that is only spelled differently is reported as respelled.
func TestRespelledDefinition(t *testing.T) {
	r, _ := compareScript(t, `
		rev 2025-11-25
		> tools/list
		a< {"tools":[{"name":"f","inputSchema":{"type":"object","properties":{"n":{"type":"number","minimum":1}}}},{"name":"g"}]}
		b< {"tools":[{"name":"f","inputSchema":{"type":"object","properties":{"n":{"type":"number","minimum":1.0}}}},{"name":"g"}]}`, Options{})
	if len(r.Differences) != 1 || r.Differences[0].Kind != Respelled || !strings.Contains(r.Differences[0].Path, "minimum") {
		t.Errorf("got\n%s", reportLines(r))
	}
}

// If a side has one equal note more, the last one is unpaired.
func TestSurplusNotes(t *testing.T) {
	method := "notifications/message"
	say := func(texts ...string) (all []note) {
		for _, s := range texts {
			s, guess := strings.CutSuffix(s, "?")
			all = append(all, note{method: method, guess: guess, payload: payload{value: jsontree.HashString(s), spelled: jsontree.HashString(s)}})
		}
		return all
	}
	for _, c := range []struct {
		a, b         string
		restA, restB []int
	}{
		{"x", "x y x", nil, []int{1, 2}},
		{"x y x", "x", []int{1, 2}, nil},
		{"x", "x x x", nil, []int{1, 2}},
		{"x y", "y x", nil, nil},
		{"x", "x? x", nil, []int{0}},
		{"x x? x? x", "x x", []int{1, 2}, nil},
		{"x? x x", "x", []int{0, 2}, nil},
		{"", "x", nil, []int{0}},
	} {
		as, bs := say(strings.Fields(c.a)...), say(strings.Fields(c.b)...)
		same := true
		for side, notes := range surplusNotes(as, bs) {
			list, want := [][]note{as, bs}[side], [][]int{c.restA, c.restB}[side]
			same = same && len(notes) == len(want)
			for i := 0; same && i < len(notes); i++ {
				same = notes[i] == &list[want[i]]
			}
		}
		if !same {
			t.Errorf("%s | %s: unpaired %v", c.a, c.b, surplusNotes(as, bs))
		}
	}
}

// Resuming a stream and opening one are different kinds of exchanges.
func TestStreamsThatAreResumed(t *testing.T) {
	side := func(resumes bool, status int) []tap.Frame {
		frames := exchanged(t, "2025-11-25")
		c := &carrier{frames: frames, last: 9}
		e := tap.Event{Name: tap.EventRequest, Method: "GET", Target: "/mcp", Header: [][2]string{{"Accept", "text/event-stream"}}}
		if resumes {
			e.Header = append(e.Header, [2]string{"last-event-id", "7"})
		}
		c.event(9, e)
		c.event(9, tap.Event{Name: tap.EventResponse, Status: status})
		c.event(9, tap.Event{Name: tap.EventEnd, By: "server"})
		return c.frames
	}
	for resumes, want := range map[bool]string{true: "the GET that resumes a stream", false: "the GET of a stream"} {
		r := compare(t, side(resumes, 200), side(resumes, 404), Options{})
		if len(r.Differences) != 1 || !strings.Contains(r.Differences[0].What, want) {
			t.Errorf("resumes %v: got\n%s", resumes, reportLines(r))
		}
	}
}

// Whether a server reports the end of a subscription depends on timing if no requests follow;
// otherwise it is a difference. The frame numbers of the other session do not matter.
func TestSubscriptionThatTheServerEnds(t *testing.T) {
	const listen = `
		rev 2026-07-28
		> subscriptions/listen {"notifications":{"toolsListChanged":true}}
		<~ notifications/subscriptions/acknowledged {"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}
		`
	opening, _ := parseTruth(listen)
	for more, same := range map[string]bool{"": true, "\n> tools/list\n< {\"tools\":[]}": false} {
		lines, _ := parseTruth(listen + more)
		all := play(t, 'b', lines)
		at := len(play(t, 'b', opening))
		raw := `{"jsonrpc":"2.0","id":` + string(jsonrpc.Peek(all[at-2].Raw).ID) + `,"result":{"resultType":"complete"}}`
		ended := slices.Insert(slices.Clone(all), at, tap.Frame{Lane: tap.ToClient, Raw: []byte(raw), Size: int64(len(raw))})
		for i := range ended {
			ended[i].Seq = uint64(1000 + i)
		}
		web := (&carrier{header: [][2]string{{"Mcp-Method", "x"}}}).carry(play(t, 'a', lines))
		r := compare(t, web, ended, Options{})
		if got := !strings.Contains(reportLines(r), "result has a response"); got != same {
			t.Errorf("then %q: no difference %v, want %v:\n%s", more, got, same, reportLines(r))
		}
	}
}

// In a replay, a call may have a response that the recorded client did not wait for.
func TestResponseThatWasNotAwaited(t *testing.T) {
	const script = "\nrev 2025-11-25\n> tools/call {\"name\":\"f\"}\nb< {\"content\":[]}"
	for _, c := range []struct {
		lost map[session.Ref]string
		want Class
	}{{nil, Behaviour}, {map[session.Ref]string{}, Timing}} {
		r, _ := compareScript(t, script, Options{Lost: c.lost})
		if worst, any := r.Worst(); !any || worst != c.want {
			t.Errorf("%v, %v, want %v:\n%s", worst, any, c.want, reportLines(r))
		}
	}
}

// An invalid multipleOf in a schema is compared but not used as a divisor.
func TestMultiples(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		class Class
	}{
		{"2", "4", Breaking}, {"4", "2", Behaviour}, {"2", "3", Behaviour}, {"0", "5", Behaviour}, {"5", "0", Behaviour}, {"-2", "4", Behaviour},
		{"2", "-4", Behaviour}, {"0.5", "1", Behaviour}, {"1", "99999999999999999999", Behaviour},
	} {
		schema := func(n string) string {
			return `{"tools":[{"name":"f","inputSchema":{"type":"object","properties":{"n":{"type":"number","multipleOf":` + n + `}}}}]}`
		}
		r, _ := compareScript(t, "\nrev 2025-11-25\n> tools/list\na< "+schema(c.a)+"\nb< "+schema(c.b), Options{})
		if worst, any := r.Worst(); !any || worst != c.class {
			t.Errorf("%s and %s: %v, %v\n%s", c.a, c.b, worst, any, reportLines(r))
		}
	}
}

// What a client repeats about itself in each message is compared if it differs from its first value
// in the session, on either side.
func TestRepeatedClientInfo(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","version":"%"}}`
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"as at first on both sides": {"1", "1", false}, "otherwise in the first": {"2", "1", true}, "otherwise in the second": {"1", "2", true},
	} {
		text := "\nrev 2026-07-28\n> tools/list {" + strings.ReplaceAll(meta, "%", "1") + "}\n< {\"tools\":[]}\n"
		for _, side := range [][2]string{{"a", c.a}, {"b", c.b}} {
			text += side[0] + `> tools/call {"name":"f",` + strings.ReplaceAll(meta, "%", side[1]) + "}\n" + side[0] + "< {\"content\":[]}\n"
		}
		r, _ := compareScript(t, text, Options{})
		if got := strings.Contains(reportLines(r), "clientInfo"); got != c.want {
			t.Errorf("%s: got %v\n%s", name, got, reportLines(r))
		}
	}
}

// The references of a choice are resolved in the schema that contains it.
func TestChoicesAmongDefinitions(t *testing.T) {
	const plain = `{"tools":[{"name":"f","inputSchema":{"type":"object","properties":{"x":{"type":"string","maxLength":5}},` +
		`"$defs":{"s":{"type":"number"},"l":{"type":"boolean"}}}}]}`
	choice := func(defs string) string {
		return `{"tools":[{"name":"f","inputSchema":{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/$defs/s"},{"$ref":"#/$defs/l"}]}},"$defs":` + defs + `}}]}`
	}
	const wider = `{"s":{"type":"string","maxLength":5},"l":{"type":"string","maxLength":9}}`
	for _, c := range []struct {
		a, b  string
		class Class
	}{{plain, choice(wider), Behaviour}, {choice(wider), plain, Breaking}} {
		r, _ := compareScript(t, "\nrev 2025-11-25\n> tools/list\na< "+c.a+"\nb< "+c.b, Options{})
		if worst, any := r.Worst(); !any || worst != c.class {
			t.Errorf("%v, %v, want %v\n%s", worst, any, c.class, reportLines(r))
		}
	}
}

// A notification that is only in one era's session is reported with its content, on the side that
// has it. If it is in the older era, it is expected unless the client of the newer era subscribed to
// it; if it is in the newer era, it is never expected.
func TestNotificationsOfOneEra(t *testing.T) {
	const gone, come, unasked = "only in 2025-11-25", "only in 2026-07-28", "not asked for either"
	lines, _ := parseTruth(`
		arev 2025-11-25
		brev 2026-07-28
		a<~ notifications/resources/updated {"uri":"file:///x","by":"` + gone + `"}
		b> subscriptions/listen {"notifications":{"resourceSubscriptions":["file:///y"]}}
		b<~ notifications/subscriptions/acknowledged {"notifications":{"resourceSubscriptions":["file:///y"]},"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}
		b<~ notifications/resources/updated {"uri":"file:///y","by":"` + come + `","_meta":{"io.modelcontextprotocol/subscriptionId":$id}}
		b<~ notifications/resources/updated {"uri":"file:///z","by":"` + unasked + `","_meta":{"io.modelcontextprotocol/subscriptionId":$id}}`)
	older, newer := play(t, 'a', lines), play(t, 'b', lines)
	at := func(frames []tap.Frame, text string) (seq uint64) {
		for _, f := range frames {
			if strings.Contains(string(f.Raw), text) {
				seq = f.Seq
			}
		}
		return seq
	}
	for _, c := range []struct {
		name string
		a, b []tap.Frame
	}{{"the newer one is the second", older, newer}, {"the newer one is the first", newer, older}} {
		var got []string
		for _, d := range compare(t, c.a, c.b, Options{}).Differences {
			if d.Message != "notifications/resources/updated" {
				continue
			}
			has := func(text string) bool {
				return strings.Contains(d.Old, text) && d.New == "" && d.A.Seq == at(c.a, text) && d.B.Seq == 0 && d.Kind == Removed ||
					strings.Contains(d.New, text) && d.Old == "" && d.B.Seq == at(c.b, text) && d.A.Seq == 0 && d.Kind == Added
			}
			i := slices.IndexFunc([]string{gone, come, unasked}, has)
			if i < 0 {
				t.Fatalf("%s: %+v", c.name, d)
			}
			got = append(got, d.Class.String()+" "+[]string{gone, come, unasked}[i])
		}
		slices.Sort(got)
		if want := []string{"behaviour " + unasked, "behaviour " + come, "expected " + gone}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
