package listing

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/filter"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// The words in the column KIND are filter words, and match that frame.
func TestKindsAreFilterWords(t *testing.T) {
	var rows []view.Row
	for k := range jsonrpc.Kinds {
		rows = append(rows, view.Row{Part: session.Part{Lane: tap.ToClient}, Kind: k.String()})
	}
	for _, sort := range []string{"body", "bytes", "ping", "pong", "close", "event", "priming", "comment", "endpoint"} {
		rows = append(rows, view.Row{Part: session.Part{Lane: tap.ToClient}, Kind: "other", Sort: sort})
	}
	for _, event := range []string{
		tap.EventStart, tap.EventSpawnFailed, tap.EventEOF, tap.EventBroken, tap.EventSignal, tap.EventExit, tap.EventGap,
		tap.EventConnect, tap.EventDisconnect, tap.EventRequest, tap.EventResponse, tap.EventRewrite, tap.EventEnd,
	} {
		rows = append(rows, view.Row{Part: session.Part{Lane: tap.Lifecycle}, Kind: event})
	}
	for i := range rows {
		r := &rows[i]
		query := `kind:"` + rowKind(r) + `"`
		f, err := filter.Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		for j := range rows {
			other := &rows[j]
			got := f.Match(&filter.Item{Frame: &tap.Frame{Lane: other.Part.Lane}, Kind: other.Kind, Sort: other.Sort}, nil)
			want := i == j || rowKind(r) == "other" && other.Kind == "other"
			if got != want {
				t.Errorf("%s matches %s %s: %v", query, other.Kind, other.Sort, got)
			}
		}
	}
}
