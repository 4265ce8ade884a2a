package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

const secret = "plantedSecret123"

func redactor() *redact.Redactor { return redact.New(redact.Options{Key: []byte("k")}) }

// pump sends bytes through a recorder as a tap does, in chunks of a size.
func pump(r tap.Recorder, lane tap.Lane, data string, size int) string {
	var forwarded strings.Builder
	for len(data) > 0 {
		n := min(size, len(data))
		r.Chunk(lane, []byte(data[:n]))
		forwarded.WriteString(data[:n])
		data = data[n:]
	}
	return forwarded.String()
}

// onDisk returns all bytes of all files in a directory.
func onDisk(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

func frames(t *testing.T, path string) (list []tap.Frame) {
	t.Helper()
	rec, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range rec.Frames(0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// Neither the recording nor its queue ever holds the secret, in whatever pieces it
// arrives; the forwarded bytes do.
func TestSecretsNeverReachTheDisk(t *testing.T) {
	lines := fmt.Sprintf("{\"id\":1,\"method\":\"x\",\"params\":{\"password\":%q}}\nplain %s\nno end token=%s", secret, secret, secret)
	for _, size := range []int{1, 7, 1 << 20} {
		dir := t.TempDir()
		st := store.Create(dir, redactor().Header(tap.Header{Label: "t", Transport: "stdio", Command: []string{"s", "--token", secret}}), store.Options{})
		r := New(redactor(), st)
		r.Event(0, tap.Event{Name: tap.EventStart, Command: []string{"s", "--token", secret}})
		if got := pump(r, tap.ToServer, lines, size); got != lines {
			t.Errorf("forwarded %q", got)
		}
		pump(r, tap.Stderr, "PASSWORD="+secret+"\n", size)
		live := onDisk(t, dir) // includes the queue
		r.Chunk(tap.ToServer, nil)
		r.Chunk(tap.Stderr, nil)
		st.Close()
		if strings.Contains(live+onDisk(t, dir), secret) {
			t.Errorf("size %d: the secret is on the disk", size)
		}
		list := frames(t, st.Path())
		if len(list) != 5 || string(list[3].Raw) == "" {
			t.Fatalf("%d frames", len(list))
		}
		for _, f := range list {
			if strings.Contains(string(f.Raw), secret) || !strings.Contains(string(f.Raw), "redacted-") {
				t.Errorf("frame %d: %s", f.Seq, f.Raw)
			}
		}
	}
}

// Without redaction the secret is found where the test above looks for it. It arrives in
// one piece, as a commit may separate two.
func TestSecretReachesTheDiskUnredacted(t *testing.T) {
	dir := t.TempDir()
	st := store.Create(dir, tap.Header{Label: "t", Transport: "stdio"}, store.Options{})
	pump(st, tap.ToServer, "token="+secret+"\n", 1<<20)
	st.Chunk(tap.ToServer, nil)
	st.Close()
	if !strings.Contains(onDisk(t, dir), secret) {
		t.Error("the secret is not on the disk")
	}
}

func TestTooLongLine(t *testing.T) {
	dir := t.TempDir()
	st := store.Create(dir, tap.Header{Label: "t", Transport: "stdio"}, store.Options{})
	r := New(redactor(), st)
	pump(r, tap.ToClient, strings.Repeat("x", MaxFrame)+"token="+secret+"\nafter\n", 256<<10)
	r.Chunk(tap.ToClient, nil)
	st.Close()
	list := frames(t, st.Path())
	want := fmt.Sprintf("redacted: a frame of %d bytes was withheld\n", MaxFrame+len("token="+secret+"\n"))
	if len(list) != 2 || string(list[0].Raw) != want || string(list[1].Raw) != "after\n" {
		t.Errorf("%d frames, %.80q", len(list), list[0].Raw)
	}
}

func TestStreams(t *testing.T) {
	dir := t.TempDir()
	st := store.Create(dir, tap.Header{Label: "t", Transport: "http"}, store.Options{})
	r := New(redactor(), st)
	var wg sync.WaitGroup
	for x := uint64(1); x <= 8; x++ {
		wg.Go(func() {
			r.Event(x, tap.Event{Name: tap.EventRequest, Method: "POST", Target: "/mcp?token=" + secret, Header: [][2]string{{"Authorization", "Bearer " + secret}}})
			for i := range len(secret) {
				r.Piece(x, tap.ToServer, tap.FormBody, []byte(secret[i:i+1]), false)
			}
			r.Piece(x, tap.ToServer, tap.FormBody, nil, true)
			r.Piece(x, tap.ToClient, tap.FormEvent, []byte("data: {\"password\":\""+secret[:4]), false)
			r.Piece(x, tap.ToClient, tap.FormEvent, []byte(secret[4:]+"\"}\n\n"), x%2 == 0)
		})
	}
	wg.Wait()
	r.Flush()
	live := onDisk(t, dir)
	st.Close()
	if strings.Contains(live+onDisk(t, dir), secret) {
		t.Error("the secret is on the disk")
	}
	list := frames(t, st.Path())
	if len(list) != 24 {
		t.Fatalf("%d frames", len(list))
	}
	for _, f := range list {
		if strings.Contains(string(f.Raw), secret) || !strings.Contains(string(f.Raw), "redacted-") {
			t.Errorf("frame %d of exchange %d: %s", f.Seq, f.Exchange, f.Raw)
		}
	}
}

// The incomplete frames of many streams share one memory limit.
func TestStreamsShareTheirMemory(t *testing.T) {
	got := map[uint64]int{}
	r := New(redact.New(redact.Options{}), pieces(func(exchange uint64, p []byte) { got[exchange] = len(p) }))
	part := bytes.Repeat([]byte("x"), 15<<20)
	const streams = 6
	for i := range uint64(streams) {
		r.Piece(i+1, tap.ToServer, tap.FormBody, part, false)
	}
	if r.total > MaxHeld {
		t.Errorf("%d bytes are held", r.total)
	}
	whole := 0
	for i := range uint64(streams) {
		r.Piece(i+1, tap.ToServer, tap.FormBody, nil, true)
		if got[i+1] == len(part) {
			whole++
		}
	}
	if whole != MaxHeld/len(part) || r.total != 0 || len(got) != streams {
		t.Errorf("%d of %d frames are whole, and %d bytes are held at the end", whole, len(got), r.total)
	}
}

// pieces is a recorder that passes each frame to a function.
type pieces func(exchange uint64, p []byte)

func (f pieces) Piece(exchange uint64, _ tap.Lane, _ tap.Form, p []byte, _ bool) { f(exchange, p) }
func (pieces) Chunk(tap.Lane, []byte)                                            {}
func (pieces) Event(uint64, tap.Event)                                           {}
