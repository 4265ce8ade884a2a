package web

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// get sends a request with the cookie.
func get(t *testing.T, s *Server, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4711"+path, nil)
	r.AddCookie(&http.Cookie{Name: s.guard.cookie, Value: s.guard.session})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func getJSON(t *testing.T, s *Server, path string, v any) {
	t.Helper()
	w := get(t, s, path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestListEscapesHostileNames(t *testing.T) {
	m := &memory{key: "x", label: "a\u202eb\x1b[2J\u200b<script>" + strings.Repeat("y", 1000)}
	var res struct{ Recordings []recordingJSON }
	getJSON(t, newTestServer(t, "", m), "/api/recordings", &res)
	label := res.Recordings[0].Label
	if !strings.HasPrefix(label, `a\u202eb\x1b[2J\u200b<script>y`) || len(label) > 400 {
		t.Errorf("label %q", label)
	}
}

func TestUnknown(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", frames: busy(4)})
	for path, want := range map[string]int{
		"/api/recordings/none/frames/1":                   404,
		"/api/recordings/x/frames/9":                      404,
		"/api/recordings/x/frames/0":                      400,
		"/api/recordings/x/frames/-1":                     400,
		"/api/recordings/x/frames/1e3":                    400,
		"/api/recordings/x/frames/1/bytes?from=-1":        400,
		"/api/recordings/x/frames/1/bytes?from=9&to=1":    400,
		"/api/recordings/x/frames/1/changes":              400,
		"/api/recordings/x/export?format=exe":             400,
		"/api/recordings/x/export?format=..%2f..%2fetc":   400,
		"/assets/..%2fserver.go":                          404,
		"/assets/none.js":                                 404,
		"/assets/index.html":                              404,
		"/api/nothing":                                    404,
		"/api/recordings/x/frames/1/bytes?from=0&to=1e99": 400,
		"/api/recordings/%2e%2e%2fx/frames/1":             404,
	} {
		if w := get(t, s, path); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
}

func TestDetail(t *testing.T) {
	m := &memory{key: "x"}
	m.add(tap.ToServer, `{"jsonrpc":"2.0","id":"\ud800","method":"ping","method":"ping"}`+"\n")
	m.add(tap.ToClient, "not \xff JSON")
	m.frames = append(m.frames, tap.Frame{Seq: 3, Lane: tap.ToClient, Form: tap.FormEvent, Exchange: 1, Raw: []byte("id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"ping\",\"id\":1}\n\n")})
	m.frames[2].Size = int64(len(m.frames[2].Raw))
	s := newTestServer(t, "", m)
	var d detailJSON
	getJSON(t, s, "/api/recordings/x/frames/1", &d)
	if d.Kind != "request" || d.ID != `"\ud800"` || !d.Duplicates || d.Size != m.frames[0].Size {
		t.Errorf("%+v", d)
	}
	getJSON(t, s, "/api/recordings/x/frames/2", &d)
	if d.Kind != "invalid" || d.Remark == "" {
		t.Errorf("%+v", d)
	}
	getJSON(t, s, "/api/recordings/x/frames/3", &d)
	if d.Kind != "request" || d.Event == nil || d.Event.ID == nil || *d.Event.ID != "7" || d.Payload == 0 || d.Payload == d.Size {
		t.Errorf("%+v", d)
	}
	w := get(t, s, "/api/recordings/x/frames/3/bytes?part=payload")
	if want := "{\"jsonrpc\":\"2.0\",\n\"method\":\"ping\",\"id\":1}"; w.Body.String() != want {
		t.Errorf("payload %q", w.Body)
	}
}

func TestBytesInPieces(t *testing.T) {
	raw := make([]byte, 300)
	for i := range raw {
		raw[i] = byte(i)
	}
	for _, maxRaw := range []int{0, 100} { // loaded completely, or not
		m := &memory{key: "x", maxRaw: maxRaw}
		m.add(tap.ToClient, string(raw))
		s := newTestServer(t, "", m)
		for _, c := range [][2]int{{0, 300}, {0, 1}, {299, 300}, {100, 200}, {0, 0}, {300, 300}, {250, 9999}, {400, 500}} {
			w := get(t, s, fmt.Sprintf("/api/recordings/x/frames/1/bytes?from=%d&to=%d", c[0], c[1]))
			want := raw[min(c[0], 300):min(c[1], 300)]
			if w.Code != 200 || w.Body.String() != string(want) {
				t.Errorf("limit %d, %v: %d, %d bytes of %d", maxRaw, c, w.Code, w.Body.Len(), len(want))
			}
			if h := w.Header(); h.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
				!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("a browser may render it: %v", h)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	m := &memory{key: "x"}
	m.add(tap.ToClient, `{"id":1,"result":{"n":1.0,"s":"a"}}`)
	m.add(tap.ToClient, `{"id":2,"result":{"n":1,"s":"b\u202e"}}`)
	var res struct{ Changes []changeJSON }
	getJSON(t, newTestServer(t, "", m), "/api/recordings/x/frames/2/changes?before=1", &res)
	if len(res.Changes) != 1 || res.Changes[0] != (changeJSON{"$.result.s", `"a"`, `"b\u202e"`}) {
		t.Errorf("%+v", res.Changes)
	}
}

func TestComplete(t *testing.T) {
	s := newTestServer(t, "", &memory{key: "x", frames: busy(20)})
	dial(t, s, "x", viewOptions{}).until(func(m message) bool { return m.Done })
	var res struct {
		Problem     *problem
		Completions []completionJSON
	}
	// Positions are in UTF-16 code units: the emoji has two.
	getJSON(t, s, "/api/recordings/x/complete?q=%F0%9F%98%80+tool:tool_7&cursor=10", &res)
	if len(res.Completions) != 9 || res.Completions[0].Text != "tool_0" || res.Completions[0].From != 8 || res.Completions[0].To != 14 {
		t.Errorf("%+v", res.Completions)
	}
	if res.Problem != nil {
		t.Errorf("%+v", res.Problem)
	}
	getJSON(t, s, "/api/recordings/x/complete?q=%F0%9F%98%80+kind:x", &res)
	if res.Problem == nil || res.Problem.From != 8 || res.Problem.To != 9 {
		t.Errorf("%+v", res.Problem)
	}
	for _, query := range []string{"cursor=-5", "cursor=99999", "cursor=x", "q=%22"} {
		if w := get(t, s, "/api/recordings/x/complete?"+query); w.Code != 200 {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	if w := get(t, s, "/api/recordings/x/complete?q=%ff"); w.Code != 400 {
		t.Errorf("not UTF-8: %d", w.Code)
	}
}

func TestStats(t *testing.T) {
	var j statsJSON
	getJSON(t, newTestServer(t, "", &memory{key: "x", frames: busy(4000)}), "/api/recordings/x/stats", &j)
	if j.Total.Calls != 2000 || j.Total.Errors != 2 || len(j.Groups) != 9 || len(j.Slowest) != maxSlowest {
		t.Errorf("%+v", j.Total)
	}
	var n uint64
	for _, b := range j.Histogram {
		n += b.Calls
	}
	if n != 2000 {
		t.Errorf("%d calls in the histogram %v", n, j.Histogram)
	}
	// The buckets have all calls of each group.
	for _, g := range j.Groups {
		n = 0
		for _, calls := range g.Spread {
			n += calls
		}
		if n != g.Calls || len(g.Spread) != len(j.Histogram) {
			t.Errorf("%s: %d calls of %d in the buckets %v", g.Name, n, g.Calls, g.Spread)
		}
	}
}

// TestSpread checks that a latency above all buckets is counted in the last one.
func TestSpread(t *testing.T) {
	var l session.Latencies
	for _, d := range []time.Duration{time.Millisecond, 2 * time.Millisecond, time.Hour} {
		l.Add(d)
	}
	got := spread(&l, []bucketJSON{{Below: int64(time.Microsecond)}, {Below: int64(10 * time.Millisecond)}, {Below: int64(time.Second)}})
	if fmt.Sprint(got) != "[0 2 1]" {
		t.Errorf("%v", got)
	}
	if got := spread(&l, nil); got != nil {
		t.Errorf("without buckets: %v", got)
	}
}

func TestURL(t *testing.T) {
	s := newTestServer(t, "")
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	for _, c := range []struct {
		key     string
		session int
		want    string
	}{
		{"", 0, "http://127.0.0.1:80/?token=" + testToken},
		{"1ee9dfb0", 0, "http://127.0.0.1:80/r/1ee9dfb0?token=" + testToken},
		{"1ee9dfb0", 2, "http://127.0.0.1:80/r/1ee9dfb0?token=" + testToken + "&q=session:2"},
	} {
		if got := s.URL(addr, c.key, c.session); got != c.want {
			t.Errorf("%s#%d: %s", c.key, c.session, got)
		}
	}
}

func TestExport(t *testing.T) {
	s := newTestServer(t, "", &memory{key: `a"b c`})
	w := get(t, s, "/api/recordings/a%22b%20c/export?format=ndjson")
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, `"type":"recording","id":"a\"b c"`) ||
		!strings.HasSuffix(body, `"status":"ended","frames":0}`+"\n") || w.Header().Get("Content-Disposition") != `attachment; filename="a-b-c.ndjson"` {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

// TestAssets checks the files of the page: their types, and that they contain no foreign URLs and no sinks
// that parse markup.
func TestAssets(t *testing.T) {
	s := newTestServer(t, "")
	files, err := os.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new Function|DOMParser|srcdoc|javascript:|\son\w+="`)
	foreign := regexp.MustCompile(`https?://[^\s'"` + "`" + `)]+`)
	imports := regexp.MustCompile(`from '\./([\w.]+)'`)
	total := 0
	for _, f := range files {
		b, err := os.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		total += len(b)
		if m := sinks.Find(b); m != nil {
			t.Errorf("%s has %s", f.Name(), m)
		}
		for _, u := range foreign.FindAll(b, -1) {
			if string(u) != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", f.Name(), u)
			}
		}
		for _, m := range imports.FindAllSubmatch(b, -1) {
			if asset(string(m[1])) == nil {
				t.Errorf("%s imports %s, which does not exist", f.Name(), m[1])
			}
		}
		if lines := strings.Count(string(b), "\n"); lines > 400 {
			t.Errorf("%s has %d lines", f.Name(), lines)
		}
		if strings.HasSuffix(f.Name(), ".html") {
			continue
		}
		w := get(t, s, "/assets/"+f.Name())
		if w.Code != 200 || w.Body.Len() != len(b) || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", f.Name(), w.Code, w.Header())
		}
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", f.Name(), got)
		}
	}
	if total > 250_000 {
		t.Errorf("the page has %d bytes", total)
	}
}
