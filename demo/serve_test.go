package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// A served is a pipe to Serve, which runs in this process.
type served struct {
	in   *os.File // its stdin
	out  *bufio.Reader
	log  *lockedBuffer
	done chan error
}

func serve(t *testing.T, ctx context.Context) served {
	t.Helper()
	inR, inW, err1 := os.Pipe()
	outR, outW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close() })
	s := served{in: inW, out: bufio.NewReader(outR), log: new(lockedBuffer), done: make(chan error, 1)}
	go func() { s.done <- Serve(ctx, inR, outW, s.log) }()
	return s
}

// ask sends a line and returns the response.
func (s served) ask(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	response, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func (s served) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(5 * time.Second):
		t.Fatal("Serve did not return")
		return nil
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestServeSpeaksBothEras(t *testing.T) {
	t.Parallel()
	for opening, want := range map[string]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`: `"protocolVersion":"2025-11-25"`,
		`{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{` + modernMeta + `}}`:                                                                `"supportedVersions":["2026-07-28"`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"radar","arguments":{"city":"lima"},` + modernMeta + `}}`:                            `"resultType":"complete"`,
	} {
		s := serve(t, t.Context())
		if got := s.ask(t, opening); !strings.Contains(got, want) {
			t.Errorf("%s: the response is %s", opening, got)
		}
		_ = s.in.Close()
		if err := s.ends(t); err != nil {
			t.Error(err)
		}
		if got := s.log.String(); got != serverName+": ready, 4 stations\n"+serverName+": the client has left, bye\n" {
			t.Errorf("the log is %q", got)
		}
	}
}

// TestServeEndsInTheMiddleOfACall closes the input, or cancels the context, during a call.
func TestServeEndsInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(served, context.CancelFunc){
		"end of input": func(s served, _ context.CancelFunc) { _ = s.in.Close() },
		"context":      func(_ served, cancel context.CancelFunc) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, ctx)
		progress := s.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sweep","arguments":{},`+
			strings.Replace(modernMeta, `{`, `{"progressToken":9,`, 1)+`}}`)
		if !strings.Contains(progress, `"progressToken":9`) {
			t.Errorf("%s: %s", name, progress)
		}
		end(s, cancel)
		if err := s.ends(t); (err != nil) != (name == "context") {
			t.Errorf("%s: Serve returned %v", name, err)
		}
		cancel()
	}
}
