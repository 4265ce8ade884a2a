package main

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// mcpServer echoes a POST, and passes on the fields of the request.
func mcpServer(seen chan<- http.Header) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if seen != nil {
			seen <- r.Header.Clone()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "session-of-"+r.Host)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"echo":%q}}`, body)
	}
}

// A running is a `mcptap` process that listens.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	line   string // the line that it printed
	stderr *bytes.Buffer
	dir    string
	rest   chan string // further output
}

// start starts a command that listens, and waits for its line.
func start(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	r := &running{t: t, stderr: new(bytes.Buffer), rest: make(chan string, 1)}
	r.cmd = exec.Command("mcptap", args...)
	r.cmd.Env = append(os.Environ(), env...)
	r.cmd.Stderr = r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	if r.line, err = lines.ReadString('\n'); err != nil {
		_ = r.cmd.Wait()
		t.Fatalf("%v: %v\n%s", args, err, r.stderr)
	}
	r.line = strings.TrimSuffix(r.line, "\n")
	go func() {
		b, _ := io.ReadAll(lines)
		r.rest <- string(b)
	}()
	return r
}

// startHTTP starts `mcptap http`.
func startHTTP(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rec")
	r := start(t, env, append([]string{"http", "--dir", dir}, args...)...)
	r.dir = dir
	return r
}

// complaints returns the lines on stderr other than where it listens and what it records.
func (r *running) complaints() (lines string) {
	for line := range strings.Lines(r.stderr.String()) {
		if !strings.HasPrefix(line, "mcptap: connect the client to ") && !strings.HasPrefix(line, "mcptap: recording ") {
			lines += line
		}
	}
	return lines
}

// stop sends a signal and returns the exit code.
func (r *running) stop(s os.Signal) int {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
	if rest := <-r.rest; rest != "" {
		r.t.Errorf("more than one line on stdout: %q", rest)
	}
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

// recording returns the only recording that it made, and its frames.
func (r *running) recording() (store.Info, []tap.Frame) {
	r.t.Helper()
	infos, err := store.List(r.dir)
	if err != nil || len(infos) != 1 {
		r.t.Fatalf("%d recordings, %v", len(infos), err)
	}
	return infos[0], framesOf(r.t, infos[0].Path)
}

func say(t *testing.T, client *http.Client, url string, header ...string) string {
	t.Helper()
	req, err := http.NewRequest("POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func needSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: a process cannot be asked to end")
	}
}

func TestHTTPRecords(t *testing.T) {
	needSignals(t)
	t.Parallel()
	for sig, code := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if signal.Ignored(sig) { // as under nohup; mcptap then ignores it too
			t.Logf("%v is ignored here", sig)
			continue
		}
		seen := make(chan http.Header, 1)
		server := httptest.NewServer(mcpServer(seen))
		defer server.Close()
		r := startHTTP(t, nil, server.URL+"/mcp?x=%zz", "--header", "X-Key: of the person", "--header=X-Empty:")
		if want := "http://127.0.0.1:"; !strings.HasPrefix(r.line, want) || !strings.HasSuffix(r.line, "/mcp?x=%zz") {
			t.Errorf("it printed %q", r.line)
		}
		answer := say(t, http.DefaultClient, r.line, "Authorization", "Bearer of-the-client")
		if !strings.Contains(answer, "tools/list") {
			t.Errorf("the response is %s", answer)
		}
		if h := <-seen; h.Get("X-Key") != "of the person" || h["X-Empty"] == nil || h.Get("Authorization") != "Bearer of-the-client" {
			t.Errorf("the server saw %v", h)
		}
		if got := r.stop(sig); got != code || r.complaints() != "" {
			t.Errorf("%v: exit code %d, want %d; stderr %s", sig, got, code, r.stderr)
		}
		info, frames := r.recording()
		host := strings.TrimPrefix(server.URL, "http://")
		if info.Status != store.Ended || info.Header.Transport != "http" || info.Header.Label != host || info.Header.Upstream != server.URL {
			t.Errorf("%v, %+v", info.Status, info.Header)
		}
		var all []byte
		for _, f := range frames {
			all = append(all, f.Raw...)
		}
		for text, want := range map[string]bool{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`: true, `"event":"end"`: true, "Bearer masked:": true, "X-Key": true,
			"of the person": false, "of-the-client": false, "session-of": false,
		} {
			if bytes.Contains(all, []byte(text)) != want {
				t.Errorf("the recording has %q: %v, want %v\n%s", text, !want, want, all)
			}
		}
	}
}

func TestHTTPInJSON(t *testing.T) {
	needSignals(t)
	t.Parallel()
	server := httptest.NewServer(mcpServer(nil))
	defer server.Close()
	r := startHTTP(t, []string{"MCPTAP_LABEL=from env", "MCPTAP_KEEP_SECRETS=1", "MCPTAP_HEADER=X-A: 1\nX-B: 2"}, server.URL+"/mcp", "--json")
	var line map[string]any
	if err := json.Unmarshal([]byte(r.line), &line); err != nil {
		t.Fatalf("%q: %v", r.line, err)
	}
	say(t, http.DefaultClient, line["url"].(string), "Authorization", "Bearer of-the-client")
	if code := r.stop(syscall.SIGTERM); code != 143 {
		t.Errorf("exit code %d", code)
	}
	info, frames := r.recording()
	want := map[string]any{"v": 1.0, "type": "listening", "url": line["url"], "listen": line["listen"], "upstream": server.URL,
		"label": "from env", "id": info.Header.ID, "path": info.Path}
	if fmt.Sprint(line) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", line, want)
	}
	var all []byte
	for _, f := range frames {
		all = append(all, f.Raw...)
	}
	for _, text := range []string{"of-the-client", "session-of", `"keeps_secrets":true`, "X-A", "X-B"} {
		if !bytes.Contains(all, []byte(text)) {
			t.Errorf("the recording lacks %q\n%s", text, all)
		}
	}
}

func TestHTTPOff(t *testing.T) {
	needSignals(t)
	t.Parallel()
	server := httptest.NewServer(mcpServer(nil))
	defer server.Close()
	r := startHTTP(t, nil, server.URL, "--off", "--json")
	var line struct{ URL, ID, Path string }
	if err := json.Unmarshal([]byte(r.line), &line); err != nil || line.ID+line.Path != "" {
		t.Fatalf("%q: %v", r.line, err)
	}
	say(t, http.DefaultClient, line.URL)
	r.stop(os.Interrupt)
	if _, err := os.Stat(r.dir); err == nil {
		t.Error("there is a recording")
	}
}

// TLS on both sides, with a private certificate authority and a proxy in between.
func TestHTTPWithTLS(t *testing.T) {
	needSignals(t)
	t.Parallel()
	server := httptest.NewTLSServer(mcpServer(nil))
	defer server.Close()
	tmp := t.TempDir()
	ca, cert, key := filepath.Join(tmp, "ca.pem"), filepath.Join(tmp, "cert.pem"), filepath.Join(tmp, "key.pem")
	own := server.TLS.Certificates[0]
	writePEM(t, ca, "CERTIFICATE", own.Certificate[0])
	writePEM(t, cert, "CERTIFICATE", own.Certificate[0])
	writePEM(t, key, "PRIVATE KEY", pkcs8(t, own.PrivateKey))

	// The certificate is for example.com, which only the proxy can reach.
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		up, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer up.Close()
		w.WriteHeader(200)
		down, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer down.Close()
		go func() { _, _ = io.Copy(up, buf) }()
		_, _ = io.Copy(down, up)
	}))
	defer proxy.Close()
	r := startHTTP(t, []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY="}, "https://example.com/mcp",
		"--ca-file", ca, "--tls-cert", cert, "--tls-key", key, "--name", "example.com")
	if !strings.HasPrefix(r.line, "https://127.0.0.1:") {
		t.Errorf("it printed %q", r.line)
	}
	if answer := say(t, server.Client(), r.line); !strings.Contains(answer, "tools/list") {
		t.Errorf("the response is %q", answer)
	}
	if got := <-asked; got != "CONNECT example.com:443" {
		t.Errorf("the proxy was asked for %s", got)
	}
	if code := r.stop(syscall.SIGTERM); code != 143 || r.complaints() != "" {
		t.Errorf("exit code %d, stderr %s", code, r.stderr)
	}
	if info, _ := r.recording(); info.Header.Label != "example.com" || info.Header.Upstream != "https://example.com" {
		t.Errorf("%+v", info.Header)
	}
}

// A tap that is reachable from other machines warns about the consequences.
func TestHTTPForOthers(t *testing.T) {
	needSignals(t)
	t.Parallel()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, []string{"which other machines may reach", "is not encrypted", "--name"}},
		{[]string{"--listen", ":0", "--name", "box"}, []string{"which other machines may reach", "is not encrypted"}},
		{[]string{"--listen", "localhost:0"}, nil},
	} {
		r := startHTTP(t, nil, append(c.args, "http://127.0.0.1:1/mcp")...)
		r.stop(syscall.SIGTERM)
		output := r.complaints()
		for _, text := range c.want {
			if !strings.Contains(output, text) {
				t.Errorf("%v: stderr does not contain %q:\n%s", c.args, text, output)
			}
		}
		if n := strings.Count(output, "\n"); n != len(c.want) {
			t.Errorf("%v: stderr:\n%s", c.args, output)
		}
	}
}

// A server that cannot be reached is reported once, with the cause.
func TestHTTPUnreachable(t *testing.T) {
	t.Parallel()
	r := startHTTP(t, nil, "http://127.0.0.1:1/mcp")
	for range 2 {
		say(t, http.DefaultClient, r.line)
	}
	r.stop(syscall.SIGTERM)
	if output := r.complaints(); strings.Count(output, "\n") != 1 || !strings.Contains(output, "the server at http://127.0.0.1:1 could not be reached: ") {
		t.Errorf("stderr: %q", output)
	}
}

// A second signal ends it immediately, unless it is that of a wrapper that passes on the first one.
func TestHTTPSecondSignal(t *testing.T) {
	needSignals(t)
	t.Parallel()
	r := startHTTP(t, nil, "http://127.0.0.1:1/mcp")
	first := time.Now()
	for range 2 {
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil && err != os.ErrProcessDone {
			t.Fatal(err)
		}
	}
	echo := time.Since(first) < 50*time.Millisecond
	<-r.rest
	_ = r.cmd.Wait()
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !(status.Exited() && status.ExitStatus() == 143 || !echo && status.Signaled() && status.Signal() == syscall.SIGTERM) {
		t.Errorf("it ended with %v", r.cmd.ProcessState)
	}
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
