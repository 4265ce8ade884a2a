package diff

import (
	"fmt"
	"testing"
)

// TestRows lists calls side by side: all of them if there is room, otherwise those that differ, with
// the others folded.
func TestRows(t *testing.T) {
	const calls = 100
	a := conversation(calls, answer, tool)
	b := conversation(calls, func(i int) string {
		if i == 50 {
			return "Rain"
		}
		return answer(i)
	}, tool)
	for most, want := range map[int]string{
		0:     "",
		1000:  "50 same, 1 differs [0], 49 same, 0 more",
		100:   "50 same, 1 differs [0], 49 same, 0 more",
		99:    "50 folded, 1 differs [0], 49 folded, 0 more",
		2:     "50 folded, 1 differs [0], 49 more",
		1:     "50 folded, 50 more",
		10000: "50 same, 1 differs [0], 49 same, 0 more",
	} {
		r := compare(t, a, b, Options{Rows: most})
		if got := rowsText(r); got != want {
			t.Errorf("%d rows: %s, want %s", most, got, want)
		}
	}
}

func rowsText(r *Report) (s string) {
	same := 0
	flush := func() {
		if same > 0 {
			s += fmt.Sprintf("%d same, ", same)
		}
		same = 0
	}
	for i := range r.Rows {
		switch row := &r.Rows[i]; {
		case row.Same > 0:
			flush()
			s += fmt.Sprintf("%d folded, ", row.Same)
		case row.Class != "":
			flush()
			s += fmt.Sprintf("1 differs %v, ", row.Differences)
		default:
			same++
		}
	}
	flush()
	if len(r.Rows) > 0 {
		s += fmt.Sprintf("%d more", r.MoreRows)
	}
	return s
}
