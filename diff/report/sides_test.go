package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// weatherSides compares the two transcripts in testdata, with a maximum number of rows.
func weatherSides(t *testing.T, rows int) *Sides {
	t.Helper()
	sides := weatherSessions(t)
	r, err := diff.Compare(sides[0], sides[1], diff.Options{Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	return NewSides(r)
}

func TestSides(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(weatherSides(t, diff.DefaultRows)); err != nil {
		t.Fatal(err)
	}
	golden(t, "sides.json", b.Bytes())
}

// TestSidesNameEachDifference checks that each difference is referenced by a row or by the session.
func TestSidesNameEachDifference(t *testing.T) {
	s := weatherSides(t, diff.DefaultRows)
	var named []int
	for i := range s.Rows {
		row := &s.Rows[i]
		named = append(named, row.Differences...)
		if (len(row.Differences) > 0) != (row.Class != "") {
			t.Errorf("row %d is of class %q and has the differences %v", i, row.Class, row.Differences)
		}
		for _, k := range row.Differences {
			if call := s.Differences[k].Call; row.A != nil && !strings.HasPrefix(call, row.A.Method) && !strings.HasPrefix(call, row.B.Method) {
				t.Errorf("row %d is %s, its difference %d of %s", i, row.A.Method, k, call)
			}
		}
	}
	named = append(named, s.Session...)
	slices.Sort(named)
	if named = slices.Compact(named); len(named) != len(s.Differences) {
		t.Errorf("%d of %d differences are referenced", len(named), len(s.Differences))
	}
}

func TestSidesAreBounded(t *testing.T) {
	all := weatherSides(t, diff.DefaultRows)
	for n := 1; n < len(all.Rows); n++ {
		s := weatherSides(t, n)
		if len(s.Rows) != n || int(s.MoreRows) != len(all.Rows)-n {
			t.Errorf("of %d rows %d and %d more", n, len(s.Rows), s.MoreRows)
		}
	}
	if s := weatherSides(t, 0); len(s.Rows) != 0 || s.MoreRows != 0 {
		t.Errorf("%d unrequested rows", len(s.Rows))
	}
}

func TestSidesEscape(t *testing.T) {
	raw, err := json.Marshal(NewSides(hostile(t).Reports[0]))
	if err != nil {
		t.Fatal(err)
	}
	var values any
	if err := json.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if !escape.Clean(v) {
				t.Errorf("a text that must not be shown: %q", v)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(values)
}
