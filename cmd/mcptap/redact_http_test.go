package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// With --redact no byte of a secret in a body reaches a file of the tap, while it runs or afterwards. The
// traffic is not changed.
func TestHTTPRedactsWhatItRecords(t *testing.T) {
	needSignals(t)
	t.Parallel()
	const secret = "plantedHTTP42"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), secret) {
			t.Errorf("the server got %s", body)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"access_token\":\""+secret+"\"}}\n\n")
	}))
	defer srv.Close()
	r := startHTTP(t, []string{"MCPTAP_REDACT=1"}, srv.URL+"/mcp")
	res, err := http.Post(r.line, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"password":"`+secret+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	if err = joinClose(err, res.Body); err != nil || !strings.Contains(string(got), secret) {
		t.Errorf("the client got %s, %v", got, err)
	}
	files := readAllFiles(t, r.dir)
	if code := r.stop(os.Interrupt); code != exitInterrupted {
		t.Errorf("code %d", code)
	}
	if strings.Contains(files+readAllFiles(t, r.dir), secret) {
		t.Error("the secret is on the disk")
	}
	_, frames := r.recording()
	bodies := 0
	for _, f := range frames {
		if f.Lane == tap.ToServer || f.Lane == tap.ToClient {
			if bodies++; !strings.Contains(string(f.Raw), `"redacted-`) {
				t.Errorf("%s", f.Raw)
			}
		}
	}
	if bodies != 2 {
		t.Errorf("%d bodies", bodies)
	}
}

func joinClose(err error, c io.Closer) error {
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return err
}

// readAllFiles returns the contents of all files in a directory.
func readAllFiles(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) { // the store may just have renamed a file
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}
