package report

import (
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/tap/session"
)

// TestFold checks that missing notifications of a call are one entry of the report, and that
// those of other calls, methods and sides are not.
func TestFold(t *testing.T) {
	of := func(call uint64, message string, kind diff.Kind, value string) diff.Difference {
		d := diff.Difference{
			Class: diff.Behaviour, Kind: kind, In: diff.InNotification, By: "server", Method: "tools/call", Message: message, Path: "$.params",
			CallA: session.Ref{Seq: call}, Times: 1,
		}
		if d.Old = value; kind == diff.Added {
			d.Old, d.New = "", value
		}
		return d
	}
	r := &diff.Report{Differences: []diff.Difference{
		of(1, "notifications/progress", diff.Removed, "1"), of(1, "notifications/progress", diff.Removed, "2"),
		of(1, "notifications/progress", diff.Removed, "3"), of(1, "notifications/progress", diff.Removed, "4"), of(1, "notifications/progress", diff.Removed, "5"),
		of(1, "notifications/progress", diff.Added, "6"), of(1, "notifications/message", diff.Added, "7"), of(2, "notifications/message", diff.Added, "8"),
	}}
	var got []string
	for _, call := range ByCall(r, diff.Behaviour) {
		for _, d := range call.Differences {
			line := d.Message + " " + Times(d)
			for _, l := range Lines(d) {
				line += "|" + l.String()
			}
			got = append(got, line)
		}
	}
	want := "notifications/progress 5 times|- 1|- 2|- 3|  … 2 more lines\nnotifications/progress |+ 6\nnotifications/message |+ 7\nnotifications/message |+ 8"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if r.Differences[0].Times != 1 {
		t.Error("the report was changed")
	}
}
