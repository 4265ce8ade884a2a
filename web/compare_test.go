package web

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", label: "the first", frames: busy(4)}, &memory{key: "y", frames: busy(4)})
	var res struct {
		Sessions []struct{ Summary string }
		Unpaired []Unpaired
		A, B     recordingJSON
	}
	getJSON(t, s, "/api/compare?a=x&b=y&bs=2", &res)
	if len(res.Sessions) != 1 || res.Sessions[0].Summary != "{x 0} and {y 2} are the same." {
		t.Errorf("sessions %v", res.Sessions)
	}
	if res.A.Label != "the first" || res.B.Key != "y" {
		t.Errorf("sides %v and %v", res.A, res.B)
	}
	if len(res.Unpaired) != 1 || res.Unpaired[0] != (Unpaired{"b", `second\x1b[31m`}) {
		t.Errorf("unpaired %q", res.Unpaired)
	}
	for _, query := range []string{"", "?a=x", "?a=x&b=none", "?a=none&b=x", "?a=x&b=..%2fx"} {
		if w := get(t, s, "/api/compare"+query); w.Code != http.StatusNotFound {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
	for _, session := range []string{"-1", "x", "1e9", "99999999999999999999"} {
		if w := get(t, s, "/api/compare?a=x&b=y&as="+session); w.Code != http.StatusBadRequest {
			t.Errorf("session %s: %d", session, w.Code)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4711/api/compare?a=x&b=y", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("without the token: %d", w.Code)
	}
}

// TestCompareHasItsOwnStyle checks that the style of comparisons does not apply to other views, which have
// classes with the same names.
func TestCompareHasItsOwnStyle(t *testing.T) {
	for _, m := range regexp.MustCompile(`(?m)^\s*([^@\s/}][^{]*)\{`).FindAllStringSubmatch(string(asset("compare.css")), -1) {
		for _, selector := range regexp.MustCompile(`,\s+`).Split(strings.TrimSpace(m[1]), -1) {
			if !strings.HasPrefix(selector, ".compare") && !strings.HasPrefix(selector, ".pick") {
				t.Errorf("%s", selector)
			}
		}
	}
}
