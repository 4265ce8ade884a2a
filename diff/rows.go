package diff

import (
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// What of the calls side by side is bounded.
const (
	// DefaultRows is a good number for [Options.Rows].
	DefaultRows = 5000
	// MaxInRow is how many differences a [CallRow] names.
	MaxInRow = 50
	// foldFrom is how many calls in a row have to be the same for one row to
	// stand for them, where not all have one of their own.
	foldFrom = 4
)

// A CallRow is a call of both sides, or of one, in a list of the calls side by
// side.
type CallRow struct {
	// A and B are the call on each side, nil where it is not.
	A, B *CallSide
	// Differs reports that there is a difference in it, Worst is the highest class.
	Differs bool
	Worst   Class
	// Differences are indexes in [Report.Differences], at most
	// [MaxInRow]. One that occurs in many calls is named in each.
	Differences []int
	// Same is how many calls without a difference the row stands for. If it is
	// not 0, nothing else is set.
	Same uint64
}

// A CallSide is a call on one side of a [CallRow].
type CallSide struct {
	// Ref names its first request, Lane is the request's.
	Ref  session.Ref
	Lane tap.Lane
	// Method and Subject are as in [Difference], as they came.
	Method, Subject string
	Status          session.CallStatus
	// At is when it was asked, Took how long it took without the time in which
	// the answering side waited for the other; 0 if it was not answered.
	At, Took time.Duration
}

// rows lists the calls side by side. Where there are more than most, calls that
// are the same stand in one row. It returns how many calls are left out.
func rows(pairs []*pair, most int) (all []CallRow, left uint64) {
	fold := len(pairs) > most
	for i := 0; i < len(pairs); i++ {
		switch n := 0; {
		case pairs[i].elsewhere:
		case len(all) == most:
			left++
		default:
			if fold {
				n = sameRun(pairs[i:])
			}
			if n < foldFrom {
				all = append(all, pairs[i].row())
				continue
			}
			all = append(all, CallRow{Same: uint64(n)})
			i += n - 1
		}
	}
	return all, left
}

// sameRun is how many of the first pairs do not differ.
func sameRun(pairs []*pair) int {
	for n, p := range pairs {
		if p.told || p.elsewhere {
			return n
		}
	}
	return len(pairs)
}

func (p *pair) row() CallRow {
	return CallRow{A: p.a.sided(), B: p.b.sided(), Differs: p.told, Worst: p.worst, Differences: p.differences}
}

func (u *unit) sided() *CallSide {
	if u == nil {
		return nil
	}
	s := &CallSide{Ref: u.ref, Lane: u.lane, Method: u.method, Subject: u.subject, Status: u.status, At: u.at}
	if u.answered() {
		s.Took = u.own
	}
	return s
}

// note remembers that a difference, by its index in the report, is in a call.
func (p *pair) note(i int) {
	n := len(p.differences)
	if n < MaxInRow && (n == 0 || p.differences[n-1] != i) {
		p.differences = append(p.differences, i)
	}
}
