package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// sketch writes a node as text: one line per node, with those below it indented.
func sketch(b *strings.Builder, n *Node, depth int) {
	indent := strings.Repeat("  ", depth)
	if n.Call == nil {
		fmt.Fprintf(b, "%s%d %s\n", indent, n.Row.Part.Message.Seq, n.Row.Kind)
		return
	}
	fmt.Fprintf(b, "%s%d %s %v\n", indent, n.Call.Ref.Seq, n.Call.Method, n.Call.Status)
	for _, e := range n.Entries() {
		switch {
		case e.Kid != nil:
			sketch(b, e.Kid, depth+1)
		case e.Row != nil:
			fmt.Fprintf(b, "%s  %d %v\n", indent, e.Row.Part.Message.Seq, e.Row.Part.Role)
		case e.Asked != nil:
			fmt.Fprintf(b, "%s  asked %s\n", indent, e.Asked.Key)
		case e.Roles != nil:
			fmt.Fprintf(b, "%s  … %d progress\n", indent, e.Roles[session.RoleProgress])
		default:
			fmt.Fprintf(b, "%s  … %d calls\n", indent, e.Calls)
		}
	}
}

// outlined returns the outline of frames as text.
func outlined(t testing.TB, o *Outline, all []tap.Frame) string {
	t.Helper()
	var b strings.Builder
	x := read(t, all, func(_ *session.Tracker, r *session.Entry) {
		for _, n := range o.Add(r) {
			sketch(&b, n, 0)
		}
	})
	for _, n := range o.End(x.Open()) {
		sketch(&b, n, 0)
	}
	if len(o.nodes) != 0 || len(o.overdue) != 0 {
		t.Errorf("%d calls and %d overdue are left", len(o.nodes), len(o.overdue))
	}
	return b.String()
}

func request(id int, method string) string {
	return fmt.Sprintf("> {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q,\"params\":{\"name\":\"t\",\"_meta\":{\"progressToken\":%d}}}\n", id, method, id)
}

func answerTo(id int) string {
	return fmt.Sprintf("< {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", id)
}

func progress(id int) string {
	return fmt.Sprintf("< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%d}}\n", id)
}

const (
	ask    = `< {"jsonrpc":"2.0","id":"%d","method":"sampling/createMessage","params":{}}` + "\n"
	reply  = `> {"jsonrpc":"2.0","id":"%d","result":{}}` + "\n"
	orphan = `< {"jsonrpc":"2.0","id":"nobody","result":{}}` + "\n"
)

func TestOutline(t *testing.T) {
	for _, c := range []struct{ name, frames, want string }{
		{"the messages of a call are together",
			request(1, "tools/call") + request(2, "ping") + progress(1) + answerTo(2) + fmt.Sprintf(ask, 1) + fmt.Sprintf(reply, 1) + progress(1) + answerTo(1), `
1 tools/call done
  3 progress
  5 sampling/createMessage done
    6 response
  7 progress
  8 response
2 ping done
  4 response
`},
		{"a message shortly after the end is below", request(1, "tools/call") + answerTo(1) + progress(1) + answerTo(1), `
1 tools/call done
  2 response
  3 progress
  4 repeat
`},
		{"messages outside calls", orphan + "! x\n. {\"event\":\"start\"}\n. {\"event\":\"eof\"}\n. {\"event\":\"eof\",\"error\":\"x\"}\n< huh\n< []\n", `
1 response
3 start
5 eof
6 invalid
7 invalid
`},
		{"a call without a response comes where it began", request(1, "tools/call") + request(2, "ping") + answerTo(2), `
1 tools/call pending
2 ping done
  3 response
`},
		{"a call is not shown without those within it", request(1, "tools/call") + fmt.Sprintf(ask, 1) + answerTo(1) + request(2, "ping") + answerTo(2), `
1 tools/call done
  2 sampling/createMessage pending
  3 response
4 ping done
  5 response
`},
	} {
		if got := outlined(t, NewOutline(), frames(t, c.frames)); "\n"+got != c.want {
			t.Errorf("%s:\n%swant%s", c.name, got, c.want)
		}
	}
}

// A call that hangs delays neither the others nor itself: the others are returned when a
// window of them is ready, and it is returned when it ends.
func TestOutlineWindow(t *testing.T) {
	text := request(0, "tools/call") + fmt.Sprintf(ask, 7)
	for id := 1; id <= 2*DefaultWindow; id++ {
		text += request(id, "ping") + answerTo(id)
	}
	text += fmt.Sprintf(reply, 7) + answerTo(0) + orphan
	o := NewOutline()
	var order []uint64
	firstAt, most := uint64(0), 0
	x := read(t, frames(t, text), func(_ *session.Tracker, r *session.Entry) {
		for _, n := range o.Add(r) {
			order = append(order, n.Row.Part.Message.Seq)
			if firstAt == 0 {
				firstAt = r.Frame.Seq
			}
		}
		most = max(most, len(o.queue)-o.head)
	})
	for _, n := range o.End(x.Open()) {
		order = append(order, n.Row.Part.Message.Seq)
	}
	if want := uint64(2*DefaultWindow + 2); firstAt != want {
		t.Errorf("the first node came with frame %d, want %d", firstAt, want)
	}
	if most > DefaultWindow+1 {
		t.Errorf("%d nodes waited", most)
	}
	if len(order) != 2*DefaultWindow+2 || !slices.Contains(order, 1) {
		t.Fatalf("%d nodes: %v", len(order), order)
	}
	hung := slices.Index(order, 1)
	rest := slices.Delete(slices.Clone(order), hung, hung+1)
	if hung < DefaultWindow || !slices.IsSorted(rest) {
		t.Errorf("order %v", order)
	}
}

// In a live outline, each call is returned when it is over.
func TestOutlineLive(t *testing.T) {
	o := NewOutline()
	o.Live()
	got := outlined(t, o, frames(t, request(1, "tools/call")+request(2, "ping")+answerTo(2)+orphan+answerTo(1)+progress(1)))
	want := `
2 ping done
  3 response
4 response
1 tools/call done
  5 response
6 notification
`
	if "\n"+got != want {
		t.Errorf("%swant%s", got, want)
	}
}

func TestOutlineOptions(t *testing.T) {
	o := NewOutline()
	o.Flat, o.Stderr = true, true
	o.Keep = func(r *session.Entry, i int) bool { return i >= 0 || string(r.Frame.Raw) != "y" }
	got := outlined(t, o, frames(t, request(1, "tools/call")+"! x\n! y\n"+fmt.Sprintf(ask, 1)+fmt.Sprintf(reply, 1)+answerTo(1)+orphan))
	want := `
1 tools/call done
  6 response
2 stderr
4 sampling/createMessage done
  5 response
7 response
`
	if "\n"+got != want {
		t.Errorf("%swant%s", got, want)
	}
}

// The nesting of calls is bounded.
func TestOutlineDepth(t *testing.T) {
	const deep = 1000
	text := ""
	for i := range deep {
		meta := ""
		if i > 0 {
			meta = fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t%d"}}`, i-1)
		}
		side, other := ">", "<"
		if i%2 == 1 {
			side, other = other, side
		}
		text += fmt.Sprintf("%s {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"task\":{}%s}}\n", side, i, meta)
		text += fmt.Sprintf("%s {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"task\":{\"taskId\":\"t%d\",\"status\":\"working\"}}}\n", other, i, i)
	}
	o := NewOutline()
	x := read(t, frames(t, text), func(_ *session.Tracker, r *session.Entry) { o.Add(r) })
	deepest, calls := 0, 0
	var walk func(n *Node, depth int)
	walk = func(n *Node, depth int) {
		calls++
		deepest = max(deepest, depth)
		for _, kid := range n.Kids {
			walk(kid, depth+1)
		}
	}
	for _, n := range o.End(x.Open()) {
		walk(n, 0)
	}
	if deepest != MaxDepth || calls != deep {
		t.Errorf("%d calls, %d deep", calls, deepest)
	}
}

// Every call and every message of every session is shown once.
func TestOutlineLosesNothing(t *testing.T) {
	sessions(t, func(t *testing.T, all []tap.Frame) {
		for _, live := range []bool{false, true} {
			o := NewOutline()
			o.Stderr = true
			if live {
				o.Live()
			}
			seen := map[session.Ref]int{}
			var note func(n *Node)
			note = func(n *Node) {
				seen[n.Row.Part.Message]++
				for i := range n.First {
					seen[n.First[i].Part.Message]++
				}
				for i := range n.Last {
					seen[n.Last[i].Part.Message]++
				}
				for _, kid := range n.Kids {
					note(kid)
				}
			}
			skipped := uint64(0)
			x := read(t, all, func(_ *session.Tracker, r *session.Entry) {
				for _, n := range o.Add(r) {
					note(n)
					for _, k := range n.Skipped {
						skipped += k
					}
				}
			})
			for _, n := range o.End(x.Open()) {
				note(n)
				for _, k := range n.Skipped {
					skipped += k
				}
			}
			missing := uint64(0)
			read(t, all, func(_ *session.Tracker, r *session.Entry) {
				for i := range r.Parts {
					switch seen[r.Parts[i].Message] {
					case 0:
						missing++
					case 1:
					default:
						t.Errorf("message %v is shown twice", r.Parts[i].Message)
					}
				}
			})
			if missing != skipped {
				t.Errorf("%d messages are missing, but %d are reported as skipped", missing, skipped)
			}
		}
	})
}

// Memory is bounded by the open calls, whatever the number of frames.
func TestOutlineIsBounded(t *testing.T) {
	x, o := &session.Tracker{}, NewOutline()
	o.Responses = NewResponses()
	seq := uint64(0)
	add := func(line string) {
		seq++
		lane := tap.ToServer
		if line[0] == '<' {
			lane = tap.ToClient
		}
		raw := []byte(line[2:])
		r := x.Add(&tap.Frame{Seq: seq, At: time.Duration(seq), Lane: lane, Raw: raw, Size: int64(len(raw))})
		o.Add(r)
	}
	add(request(-1, "tools/call"))
	most := 0
	for id := range 20_000 {
		add(request(id, "tools/call"))
		add(fmt.Sprintf(ask, id))
		add(progress(-1))
		add(fmt.Sprintf(reply, id))
		add(answerTo(id))
		most = max(most, len(o.nodes)+len(o.queue)-o.head+len(o.overdue)+len(o.Responses.open)+cap(o.queue)/8)
	}
	if most > 8*DefaultWindow {
		t.Errorf("%d entries were held", most)
	}
}

func FuzzOutline(f *testing.F) {
	f.Add([]byte(request(1, "tools/call") + progress(1) + answerTo(1)))
	f.Add([]byte(`> [{"id":1,"method":"x"},{"id":1,"result":[]},3]` + "\n" + answerTo(1)))
	f.Add([]byte(". {\"event\":\"exit\"}\n! x\n< \xff\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, o := &session.Tracker{}, NewOutline()
		o.Responses, o.Stderr = NewResponses(), true
		seq := uint64(0)
		for line := range strings.Lines(string(data)) {
			if len(line) < 3 {
				continue
			}
			seq++
			lane := map[byte]tap.Lane{'>': tap.ToServer, '<': tap.ToClient, '!': tap.Stderr}[line[0]]
			fr := tap.Frame{Seq: seq, At: time.Duration(seq), Lane: lane, Raw: []byte(line[2:]), Size: int64(len(line) - 2),
				Exchange: uint64(line[1] & 3), Form: tap.Form(line[1]>>2) % tap.Forms}
			r := x.Add(&fr)
			_ = NewRow(r)
			_ = Items(nil, r)
			o.Add(r)
		}
		for _, n := range o.End(x.Open()) {
			var b strings.Builder
			sketch(&b, n, 0)
		}
	})
}
