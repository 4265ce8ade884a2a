package tree

const (
	// fewEdits is up to how many elements may be on one side only for the
	// shortest way to be looked for.
	fewEdits = 24
	// fewSteps is how many comparisons of elements that may cost, for each
	// element.
	fewSteps = 4
)

// ways is how far each diagonal gets with so many edits: diagonal k, on which A
// is ahead of B by k, stands at k+fewEdits+1.
type ways [2*fewEdits + 3]int32

// few aligns a span in which all but few elements are the same, by the shortest
// way from one to the other (Myers, An O(ND) Difference Algorithm, 1986). It
// gives up, and says so, where there is more to it.
func (x *aligner) few(s span) bool {
	n, m := s.aEnd-s.a, s.bEnd-s.b
	if n-m > fewEdits || m-n > fewEdits {
		return false
	}
	var (
		v     ways
		trace [fewEdits + 1]ways
		left  = fewSteps * (n + m)
	)
	for d := range fewEdits + 1 {
		for k := -d; k <= d; k += 2 {
			i := v.next(d, k)
			from := i
			for j := i - k; i < n && j < m && x.a[s.a+i] == x.b[s.b+j]; j++ {
				i++
			}
			if v[k+fewEdits+1] = int32(i); i >= n && i-k >= m {
				x.back(s, d, &trace)
				return true
			}
			if left -= i - from + 1; left < 0 {
				return false
			}
		}
		trace[d] = v
	}
	return false
}

// down reports whether the way to diagonal k takes an element of B at its last
// edit, the d-th, rather than one of A.
func (v *ways) down(d, k int) bool {
	at := k + fewEdits + 1
	return k == -d || k != d && v[at-1] < v[at+1]
}

// next is where diagonal k begins with the d-th edit.
func (v *ways) next(d, k int) int {
	switch at := k + fewEdits + 1; {
	case d == 0:
		return 0
	case v.down(d, k):
		return int(v[at+1])
	default:
		return int(v[at-1]) + 1
	}
}

// back goes the way of d edits back from its end, and pairs what it meets.
func (x *aligner) back(s span, d int, trace *[fewEdits + 1]ways) {
	i, k := s.aEnd-s.a, s.aEnd-s.a-(s.bEnd-s.b)
	for ; d >= 0; d-- {
		from, before := 0, k
		if d > 0 {
			v := &trace[d-1]
			if from = v.next(d, k); v.down(d, k) {
				before = k + 1
			} else {
				before = k - 1
			}
		}
		for i > from {
			i--
			x.pair(s.a+i, s.b+i-k)
		}
		if d > 0 {
			i, k = int(trace[d-1][before+fewEdits+1]), before
		}
	}
}
