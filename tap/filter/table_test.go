package filter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

// items reads testdata/items.txt.
func items(t testing.TB) []*Item {
	t.Helper()
	var all []*Item
	lines := strings.Split(readFile(t, "testdata/items.txt"), "\n")
	for i, line := range lines {
		if line == "" || line[0] < '0' || line[0] > '9' {
			continue
		}
		it, err := newItem(strings.Fields(line), lines[i+1])
		if err != nil {
			t.Fatalf("items.txt:%d: %v", i+1, err)
		}
		if it.Frame.Seq != uint64(len(all)+1) {
			t.Fatalf("items.txt:%d: number %d out of order", i+1, it.Frame.Seq)
		}
		all = append(all, it)
	}
	return all
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newItem(words []string, payload string) (it *Item, err error) {
	raw := []byte(payload + "\n")
	it = &Item{Frame: &tap.Frame{Raw: raw, Size: int64(len(raw))}, Kind: words[2]}
	if it.Frame.Seq, err = strconv.ParseUint(words[0], 10, 64); err != nil {
		return nil, err
	}
	if it.Frame.Lane, err = tap.ParseLane(words[1]); err != nil {
		return nil, err
	}
	for _, w := range words[3:] {
		name, v, _ := strings.Cut(w, "=")
		if err := it.set(name, v); err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
	}
	return it, nil
}

func (it *Item) set(name, v string) (err error) {
	switch name {
	case "id":
		it.ID = []byte(v)
	case "sort":
		it.Sort = v
	case "method":
		it.Method = v
	case "tool":
		it.Tool = v
	case "prompt":
		it.Prompt = v
	case "uri":
		it.URI = v
	case "session":
		it.Session = v
	case "rev":
		it.Revision = v
	case "torn":
		it.Frame.Truncated = true
	case "at":
		it.Frame.At, err = time.ParseDuration(v)
	case "latency":
		it.Answered = true
		it.Latency, err = time.ParseDuration(v)
	case "status":
		it.Status, err = strconv.Atoi(v)
	case "size":
		it.Frame.Size, err = strconv.ParseInt(v, 10, 64)
	case "exchange":
		it.Frame.Exchange, err = strconv.ParseUint(v, 10, 64)
	case "is":
		for _, word := range strings.Split(v, ",") {
			it.Is |= map[string]Is{
				"error": IsError, "pending": IsPending, "orphan": IsOrphan, "cancelled": IsCancelled, "late": IsLate,
				"invalid": IsInvalid, "nested": IsNested, "duplicate": IsDuplicate, "unsolicited": IsUnsolicited, "batch": IsBatch,
				"stray": IsUnmatched, "cancel": IsCancel, "retry": IsRetry, "interim": IsInterim, "progress": IsProgress, "log": IsLog,
			}[word]
		}
	default:
		err = fmt.Errorf("unknown")
	}
	return err
}

// queries reads testdata/queries.txt: what the queries are, and what they
// match. A query may take several lines.
func queries(t testing.TB) (qs, results []string) {
	t.Helper()
	pending := ""
	for _, line := range strings.Split(readFile(t, "testdata/queries.txt"), "\n") {
		if pending == "" && (line == "" || line[0] == '#') {
			continue
		}
		q, want, ok := strings.Cut(line, "=> ")
		if !ok {
			pending += line + "\n"
			continue
		}
		qs, results = append(qs, pending+strings.TrimRight(q, " ")), append(results, want)
		pending = ""
	}
	return qs, results
}

func mustParse(t testing.TB, q string) *Filter {
	t.Helper()
	f, err := Parse(q)
	if err != nil {
		t.Fatalf("%q: %v", q, err)
	}
	return f
}

// matches applies a filter as callers do.
func matches(t testing.TB, f *Filter, it *Item) bool {
	t.Helper()
	all := f.Search(it.Frame.Raw)
	ok := f.Match(it, all)
	if f.MatchAny([]Item{*it}) != ok {
		t.Errorf("%s: NeedsPayload is false, but the payload decides on frame %d", f, it.Frame.Seq)
	}
	return ok
}

func matching(t testing.TB, f *Filter, all []*Item) string {
	var seqs []string
	for _, it := range all {
		if matches(t, f, it) {
			seqs = append(seqs, strconv.FormatUint(it.Frame.Seq, 10))
		}
	}
	switch len(seqs) {
	case 0:
		return "none"
	case len(all):
		return "all"
	}
	return strings.Join(seqs, " ")
}

// TestQueries is the table of queries and frames.
func TestQueries(t *testing.T) {
	all := items(t)
	qs, results := queries(t)
	for i, q := range qs {
		f, err := Parse(q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		if got := matching(t, f, all); got != results[i] {
			t.Errorf("%s\n got %s\nwant %s", q, got, results[i])
		}
	}
}

// TestNegated tries each query with the opposite outcome.
func TestNegated(t *testing.T) {
	all := items(t)
	qs, _ := queries(t)
	for _, q := range qs {
		if q == "" {
			continue
		}
		yes, no := mustParse(t, q), mustParse(t, "-("+q+")")
		for _, it := range all {
			if matches(t, yes, it) == matches(t, no, it) {
				t.Errorf("%s: frame %d matches both or neither", q, it.Frame.Seq)
			}
		}
	}
}

// TestStringMeansTheSame parses the canonical form of filters.
func TestStringMeansTheSame(t *testing.T) {
	all := items(t)
	qs, results := queries(t)
	for i, q := range qs {
		once := mustParse(t, q).String()
		f := mustParse(t, once)
		if got := matching(t, f, all); got != results[i] {
			t.Errorf("%s became %s\n got %s\nwant %s", q, once, got, results[i])
		}
		if twice := f.String(); twice != once {
			t.Errorf("%s became %s, then %s", q, once, twice)
		}
	}
}
