package web

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/text"
	"github.com/mcptap/mcptap/tap/view"
)

// TestCallsAreThoseOfShow checks that a filter selects the same calls as in `mcptap show --calls`:
// for each session of the corpus, read as a whole or as it grows.
func TestCallsAreThoseOfShow(t *testing.T) {
	names, err := filepath.Glob("../testdata/sessions/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		if filepath.Base(name) == "2026-07-28-tasks-broken.txtar" {
			continue // a call starts after the end of its parent, when the viewer has already decided about the parent
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, frames, err := text.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"is:error", "is:pending", "-is:error", "is:nested", "kind:response", "message", "is:cancelled"} {
			want := selectedCalls(t, frames, query)
			for _, every := range []int{len(frames), 1} { // frames between two decisions
				if got := sentCalls(t, frames, query, every); !slices.Equal(got, want) {
					t.Errorf("%s, %s, every %d frames: calls %v, want %v", filepath.Base(name), query, every, got, want)
				}
			}
		}
	}
}

// selectedCalls returns the calls that a filter selects, with the calls around them and those
// nested in them.
func selectedCalls(t *testing.T, frames []tap.Frame, query string) []rowID {
	t.Helper()
	f, err := filter.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	var tracker session.Tracker
	outline := view.NewOutline()
	outline.Search = f.Search
	var nodes []*view.Node
	for i := range frames {
		nodes = append(nodes, outline.Add(tracker.Add(&frames[i]))...)
	}
	nodes = append(nodes, outline.End(tracker.Open())...)
	end := frames[len(frames)-1].At
	var selects func(n *view.Node) bool
	selects = func(n *view.Node) bool {
		it := n.Item(end)
		return f.Match(&it, n.Found()) || slices.ContainsFunc(n.Kids, selects)
	}
	calls := map[rowID]bool{}
	var add func(n *view.Node)
	add = func(n *view.Node) {
		calls[idOf(n.Call.Ref)] = true
		for _, kid := range n.Kids {
			add(kid)
		}
	}
	for _, n := range nodes {
		if n.Call != nil && selects(n) {
			add(n)
		}
	}
	return slices.Sorted(maps.Keys(calls))
}

// sentCalls returns the calls that a page has after receiving all rows and updates.
func sentCalls(t *testing.T, frames []tap.Frame, query string, every int) []rowID {
	t.Helper()
	g, err := newGatherer(viewOptions{Filter: query, Calls: true}, &seen{})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[rowID]rowID{} // calls and their parents
	for i := range frames {
		g.add(&frames[i])
		if (i+1)%every == 0 {
			g.decideOpen()
		}
		rows, updates := g.take(1 << 20)
		for _, r := range rows {
			if r.Role == session.RoleRequest.String() && r.Call == r.ID {
				calls[r.ID] = r.Parent
			}
		}
		for _, u := range updates {
			if u.Drop {
				maps.DeleteFunc(calls, func(id, _ rowID) bool {
					for id != 0 && id != u.ID {
						id = calls[id]
					}
					return id == u.ID
				})
			}
		}
	}
	return slices.Sorted(maps.Keys(calls))
}
