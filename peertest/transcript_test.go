package peertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A transcript is what a client observed: lists of normalised JSON values, by kind. The order within a
// kind matters. The order between kinds does not, because the interleaving of unrelated notifications and
// answers differs from one direct run to the next.
type transcript map[string][]string

// Values that differ between two direct runs are normalised.
var volatile = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uuid>"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "<task>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d{4} [\d:]+ GMT[+-]\d{4} \([^)]*\)`), "<time>"},
	{regexp.MustCompile(`"PORT": "\d+"`), `"PORT": "<port>"`},
	{regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d[\s\x{202f}]?([AP]M)?`), "<time>"},
}

// readTranscript reads the transcript of a client. It fails the test if a step ended in a way other than the
// scenario specifies.
func readTranscript(t *testing.T, file string, c clientUnderTest, s serverUnderTest, tmp string) transcript {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr := transcript{}
	for d := json.NewDecoder(f); ; {
		var line map[string]any
		d.UseNumber()
		if err := d.Decode(&line); err == io.EOF {
			return tr
		} else if err != nil {
			t.Fatal(err)
		}
		kind := line["kind"].(string)
		switch kind {
		case "failed":
			if !c.modernOnly || s.modern {
				t.Errorf("the client failed: %v", line["error"])
			}
		case "message":
			kind += " " + line["method"].(string)
		case "step":
			if fails := shouldFail(line["fails"], c.name); fails != (line["error"] != nil) {
				t.Errorf("step %q: fails is %v, got error %v, result %.300v", line["step"], fails, line["error"], line["result"])
			}
		case "exit":
			// The tap returns 128+n if signal n killed the server.
			if n, ok := map[any]int{"SIGTERM": 143, "SIGKILL": 137, "SIGINT": 130}[line["signal"]]; ok {
				line["code"], line["signal"] = n, nil
			}
		}
		value := eachString(line, func(s string) string { return normalise(s, tmp) })
		b := new(bytes.Buffer)
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		tr[kind] = append(tr[kind], b.String())
	}
}

func shouldFail(fails any, client string) bool {
	list, ok := fails.([]any)
	if !ok {
		return fails == true
	}
	return slices.Contains(list, any(client))
}

func normalise(s, tmp string) string {
	s = strings.ReplaceAll(s, tmp, "<tmp>")
	// The everything server puts the time of day into base64.
	if len(s) < 4096 && len(s)%4 == 0 {
		if b, err := base64.StdEncoding.DecodeString(s); err == nil && utf8.Valid(b) && bytes.Contains(b, []byte("created at")) {
			s = "base64 of " + string(b)
		}
	}
	if len(s) < 1<<16 {
		for _, v := range volatile {
			s = v.pattern.ReplaceAllString(s, v.instead)
		}
	}
	return s
}

// eachString maps all strings in a JSON value, keys not included.
func eachString(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = eachString(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachString(v[k], f)
		}
	}
	return v
}

// compare reports the first difference in each kind.
func compare(t *testing.T, direct, tapped transcript) {
	t.Helper()
	kinds := map[string]bool{}
	for k := range direct {
		kinds[k] = true
	}
	for k := range tapped {
		kinds[k] = true
	}
	for k := range kinds {
		a, b := direct[k], tapped[k]
		for i := range max(len(a), len(b)) {
			at := func(list []string) string {
				if i < len(list) {
					return list[i]
				}
				return "(nothing more)"
			}
			if x, y := at(a), at(b); x != y {
				n := commonPrefix(x, y)
				t.Errorf("%s, number %d of %d and %d, differs at byte %d\ndirect: %s\ntapped: %s",
					k, i+1, len(a), len(b), n, around(x, n), around(y, n))
				break
			}
		}
	}
}

func commonPrefix[T ~string | ~[]byte](a, b T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// around returns the text around a byte, for a message.
func around[T ~string | ~[]byte](s T, n int) string {
	from, to := max(0, n-120), min(len(s), n+200)
	return fmt.Sprintf("%q", string(s[from:to]))
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }
