package main

import (
	"fmt"

	"github.com/mcptap/mcptap/tap/view"
)

// deltaWords says what changed from one answer to the next, a line each,
// escaped. A change that has no room of so many columns on one line, 0 for any,
// gets three.
func deltaWords(d *view.Delta, room int) (out []string) {
	if d == nil {
		return nil
	}
	if len(d.Changes) == 0 {
		return []string{fmt.Sprintf("= the same as #%d", d.Previous.Seq)}
	}
	out = append(out, fmt.Sprintf("≠ changed from #%d:", d.Previous.Seq))
	for _, c := range d.Changes {
		path, before, after := escape(c.Path), escape(c.Old), escape(c.New)
		line := "~ " + path + ": " + before + " → " + after
		switch {
		case c.Old == "":
			line = "+ " + path + ": " + after
		case c.New == "":
			line = "- " + path + ": " + before
		case room > 0 && columns.StringWidth(line) > room:
			out = append(out, "~ "+path+":", "  - "+before)
			line = "  + " + after
		}
		out = append(out, line)
	}
	if d.More > 0 {
		out = append(out, "… "+plural(uint64(d.More), "more change", "more changes"))
	}
	return out
}
