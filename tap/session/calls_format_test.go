package session_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// outline returns the calls of some frames as text: a line for each call, in the order
// of their requests, with its parts below it, and at the end the parts that belong to
// none. It also checks invariants.
func outline(t testing.TB, frames []tap.Frame) string {
	t.Helper()
	// The heads determine the sessions of a recording of HTTP traffic.
	var open func() []*session.Call
	var add func(f *tap.Frame) (m jsonrpc.Message, parts []session.Part, ended []*session.Call)
	if slices.ContainsFunc(frames, func(f tap.Frame) bool { return bytes.Contains(f.Raw, []byte(`{"event":"connect"`)) }) {
		all := &session.Tracker{}
		open = all.Open
		add = func(f *tap.Frame) (jsonrpc.Message, []session.Part, []*session.Call) {
			e := all.Add(f)
			return e.Message, e.Parts, e.Ended
		}
	} else {
		one := &session.Pairing{}
		open = one.Open
		add = func(f *tap.Frame) (m jsonrpc.Message, parts []session.Part, ended []*session.Call) {
			if f.Lane == tap.Lifecycle {
				e, err := tap.ParseEvent(f.Raw)
				if err != nil {
					t.Fatal(err)
				}
				one.AddEvent(f, &e)
			} else {
				m = jsonrpc.PeekFrame(f)
				parts = one.Add(f, &m)
			}
			return m, parts, one.Ended()
		}
	}
	var calls []*session.Call
	parts := map[session.Ref][]session.Part{}
	last := map[session.Ref]session.Ref{} // where a call was handed over
	for _, f := range frames {
		m, got, ended := add(&f)
		checkParts(t, &f, &m, got)
		for _, p := range got {
			parts[p.Call] = append(parts[p.Call], p)
		}
		for _, c := range ended {
			calls = append(calls, c)
			last[c.Ref] = session.Ref{Seq: f.Seq}
		}
	}
	for _, c := range open() {
		calls = append(calls, c)
		last[c.Ref] = session.Ref{Seq: 1 << 60}
	}
	slices.SortFunc(calls, func(a, b *session.Call) int { return compareRefs(a.Ref, b.Ref) })
	var b strings.Builder
	for i, c := range calls {
		if i > 0 && calls[i-1].Ref == c.Ref {
			t.Errorf("call %v was handed over twice", c.Ref)
		}
		checkCall(t, c, parts[c.Ref], last[c.Ref])
		writeCall(&b, c)
		for _, p := range parts[c.Ref] {
			writePart(&b, &p)
		}
		delete(parts, c.Ref)
	}
	if none := parts[session.Ref{}]; len(none) > 0 {
		b.WriteString("no call\n")
		for _, p := range none {
			writePart(&b, &p)
		}
		delete(parts, session.Ref{})
	}
	for ref := range parts {
		t.Errorf("parts of call %v, which was never seen", ref)
	}
	return b.String()
}

func compareRefs(a, b session.Ref) int {
	if a.Seq != b.Seq {
		return int(a.Seq) - int(b.Seq)
	}
	return a.Index - b.Index
}

// checkParts checks that each message is one part.
func checkParts(t testing.TB, f *tap.Frame, m *jsonrpc.Message, got []session.Part) {
	t.Helper()
	want := 1
	switch {
	case f.Lane != tap.ToServer && f.Lane != tap.ToClient, m.Kind == jsonrpc.Other:
		want = 0
	case m.Kind == jsonrpc.Batch:
		want = len(m.Batch)
	}
	if len(got) != want {
		t.Fatalf("frame %d: %d parts, want %d", f.Seq, len(got), want)
	}
	for i, p := range got {
		if p.Message != (session.Ref{Seq: f.Seq, Index: i}) || p.Lane != f.Lane || p.At != f.At {
			t.Errorf("frame %d: part %d is %+v", f.Seq, i, p)
		}
	}
}

// checkCall checks that a call agrees with the parts that Add returned for it before the
// frame in which it ended.
func checkCall(t testing.TB, c *session.Call, parts []session.Part, last session.Ref) {
	t.Helper()
	var counts session.RoleCounts
	n := len(c.Parts) + int(c.Skipped)
	for i, p := range parts {
		if i >= n && p.Message.Seq < last.Seq {
			t.Errorf("call %v: part %v is not counted", c.Ref, p.Message)
		}
	}
	for _, p := range parts[:n] {
		counts[p.Role]++
		if p.Parent != c.Parent {
			t.Errorf("call %v: parent %v, but of part %v it is %v", c.Ref, c.Parent, p.Message, p.Parent)
		}
	}
	if c.Counts != counts {
		t.Errorf("call %v: counts %v, but its parts have %v", c.Ref, c.Counts, counts)
	}
	same := func(a, b session.Part) bool {
		b.State = a.State // which only Add returns
		return a == b
	}
	if c.Skipped == 0 && !slices.EqualFunc(c.Parts, parts[:n], same) {
		t.Errorf("call %v: its parts are not those that Add returned:\n%+v\n%+v", c.Ref, c.Parts, parts[:n])
	}
	if len(c.Requests) == 0 || c.Requests[0] != c.Ref || c.Parts[0].Role != session.RoleRequest {
		t.Errorf("call %v does not begin with its request: %+v", c.Ref, c)
	}
	if c.Status.Settled() != (c.Answer != session.Ref{}) {
		t.Errorf("call %v is %v, but its answer is %v", c.Ref, c.Status, c.Answer)
	}
}

func refText(r session.Ref) string {
	if r.Index > 0 {
		return fmt.Sprintf("#%d.%d", r.Seq, r.Index)
	}
	return fmt.Sprintf("#%d", r.Seq)
}

func mark(guess bool) string {
	if guess {
		return "?"
	}
	return ""
}

func writeCall(b *strings.Builder, c *session.Call) {
	fmt.Fprintf(b, "%s %s", refText(c.Ref), c.Method)
	if c.Subject != "" {
		fmt.Fprintf(b, " %q", c.Subject)
	}
	fmt.Fprintf(b, " id %s: %v", c.ID, c.Status)
	if c.Status.Settled() {
		fmt.Fprintf(b, " by %s after %v", refText(c.Answer), c.End-c.At)
	}
	if !c.Status.Settled() && c.End != 0 {
		fmt.Fprintf(b, ", lost after %v", c.End-c.At)
	}
	if c.FirstAnswer != 0 && c.FirstAnswer != c.End {
		fmt.Fprintf(b, ", first answer after %v", c.FirstAnswer-c.At)
	}
	if c.ErrorCode != "" {
		fmt.Fprintf(b, ", error %s", c.ErrorCode)
	}
	if c.ErrorText != "" {
		fmt.Fprintf(b, ", %q", c.ErrorText)
	}
	if c.Cancel != (session.Ref{}) {
		fmt.Fprintf(b, ", cancel %s %v %q", refText(c.Cancel), c.CancelledBy, c.CancelReason)
	}
	if c.TaskID != "" {
		fmt.Fprintf(b, ", task %q %s", c.TaskID, c.TaskStatus)
	}
	if c.Parent != (session.Ref{}) {
		fmt.Fprintf(b, ", within %s%s", refText(c.Parent), mark(c.Guess))
	}
	for i, n := range c.Nested {
		b.WriteString([]string{", nested ", " "}[min(i, 1)] + refText(n))
	}
	if c.Notes != 0 {
		fmt.Fprintf(b, ", notes %v", c.Notes)
	}
	fmt.Fprintf(b, ", %d+%d bytes", c.BytesToServer, c.BytesToClient)
	if c.Revision != "" {
		fmt.Fprintf(b, ", %s", c.Revision)
	}
	b.WriteString("\n")
	for _, e := range c.Asked {
		fmt.Fprintf(b, "    asks in %s %q: %s %q", refText(e.Request), e.Key, e.Method, e.Subject)
		if e.Response != (session.Ref{}) {
			fmt.Fprintf(b, ", answered in %s %q", refText(e.Response), e.Answer)
		}
		b.WriteString("\n")
	}
}

func writePart(b *strings.Builder, p *session.Part) {
	arrow := map[tap.Lane]string{tap.ToServer: ">", tap.ToClient: "<"}[p.Lane]
	fmt.Fprintf(b, "    %s %s %v%s", refText(p.Message), arrow, p.Role, mark(p.Guess))
	if p.Late {
		b.WriteString(" late")
	}
	if p.Method != "" {
		fmt.Fprintf(b, " %s", p.Method)
	}
	if p.Kind == jsonrpc.ErrorResponse {
		b.WriteString(" error")
	}
	if p.Request != (session.Ref{}) {
		fmt.Fprintf(b, " to %s after %v", refText(p.Request), p.Latency)
	}
	if p.First != (session.Ref{}) {
		fmt.Fprintf(b, " of %s", refText(p.First))
	}
	if p.Clash != (session.Ref{}) {
		fmt.Fprintf(b, " clash %s", refText(p.Clash))
	}
	if p.Exchange != 0 {
		fmt.Fprintf(b, " exchange %d", p.Exchange)
	}
	b.WriteString("\n")
}
