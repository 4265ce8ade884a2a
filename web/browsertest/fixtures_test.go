package browsertest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// writeRecording writes a recording of the frames that next returns, until it returns false.
func writeRecording(t *testing.T, dir, label string, next func(i int) (tap.Frame, bool)) string {
	t.Helper()
	return writeRecordingOf(t, dir, label, "stdio", next)
}

// writeRecordingOf is writeRecording for a transport.
func writeRecordingOf(t *testing.T, dir, label, transport string, next func(i int) (tap.Frame, bool)) string {
	t.Helper()
	h := tap.Header{
		ID: store.NewID(), Label: label, Start: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Transport: transport,
		Command: []string{"server"}, Program: "browsertest",
	}
	w, err := store.NewWriter(filepath.Join(dir, store.FileName(h)), h)
	if err != nil {
		t.Fatal(err)
	}
	var at time.Duration
	for i := 0; ; i++ {
		f, ok := next(i)
		if !ok {
			break
		}
		f.Seq, f.Size = uint64(i+1), int64(len(f.Raw))
		at = max(at, f.At)
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(store.End{At: at}); err != nil {
		t.Fatal(err)
	}
	return h.ID
}

// traffic is a recording of n frames of a busy session: calls, some of them concurrent, one in a thousand
// of which fails.
func traffic(t *testing.T, dir string, n int) string {
	t.Helper()
	return writeRecording(t, dir, fmt.Sprintf("traffic-%d", n), func(i int) (tap.Frame, bool) {
		f := tap.Frame{At: time.Duration(i) * 150 * time.Microsecond, Lane: tap.ToServer}
		switch call := i / 2; {
		case i%2 == 0:
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_%d","arguments":{"city":"Oslo","day":%d,"text":"%0120d"}}}`+"\n", call, call%9, call, call)
		case call%1000 == 7:
			f.Lane = tap.ToClient
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"no station for call %d"}}`+"\n", call, call)
		default:
			f.Lane = tap.ToClient
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"{\"high\":%d,\"note\":\"%080d\"}"}]}}`+"\n", call, call%40, call)
		}
		return f, i < n
	})
}
