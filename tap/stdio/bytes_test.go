//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// hostile returns streams that break programs that expect a message in each line.
func hostile() map[string][]byte {
	noise := make([]byte, 300_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"empty":            {},
		"good":             []byte(`{"jsonrpc":"2.0","id":0,"method":"ping"}` + "\n"),
		"bad JSON":         []byte("{\"a\":\nnull}}\n]]\n\n\n"),
		"bad UTF-8":        []byte("{\"a\":\"\xff\xfe\xc3\x28\xed\xa0\x80\"}\n"),
		"NUL":              []byte("\x00\x00{}\x00\n\x00"),
		"CRLF":             []byte("{}\r\n\r\n{}\r\n"),
		"BOM":              []byte("\xef\xbb\xbf{}\n\xef\xbb\xbf"),
		"no final newline": []byte("{}\n{\"last\":true}"),
		"only newlines":    bytes.Repeat([]byte("\n"), 70_000),
		"noise":            noise,
	}
}

// A plumbing makes the client's ends and the tap's ends of one stream.
type plumbing struct {
	name string
	make func(t *testing.T) (r, w *os.File)
}

var plumbings = []plumbing{
	{"pipe", func(t *testing.T) (r, w *os.File) { return rawPipe(t, false) }},
	{"non-blocking pipe", func(t *testing.T) (r, w *os.File) { return rawPipe(t, true) }},
	{"socketpair", func(t *testing.T) (r, w *os.File) { return rawSockets(t, false) }},
	{"non-blocking socketpair", func(t *testing.T) (r, w *os.File) { return rawSockets(t, true) }},
}

func rawPipe(t *testing.T, nonblock bool) (r, w *os.File) {
	t.Helper()
	a, b, err := newPipe()
	must(t, err)
	return wrap(t, int(a), nonblock), wrap(t, int(b), nonblock)
}

func rawSockets(t *testing.T, nonblock bool) (r, w *os.File) {
	t.Helper()
	p, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(t, err)
	syscall.CloseOnExec(p[0])
	syscall.CloseOnExec(p[1])
	return wrap(t, p[0], nonblock), wrap(t, p[1], nonblock)
}

func wrap(t *testing.T, d int, nonblock bool) *os.File {
	t.Helper()
	must(t, syscall.SetNonblock(d, nonblock))
	f := os.NewFile(uintptr(d), "stream")
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestBytesAreExact(t *testing.T) {
	for _, pl := range plumbings {
		for name, data := range hostile() {
			t.Run(pl.name+"/"+name, func(t *testing.T) { throughBoth(t, pl, data, len(data)+1) })
		}
		t.Run(pl.name+"/one byte at a time", func(t *testing.T) {
			throughBoth(t, pl, []byte("{\"id\":1}\n\r\n\x00\xff{"), 1)
		})
	}
}

func TestLongLine(t *testing.T) {
	line := bytes.Repeat([]byte("0123456789abcdef"), 64<<20/16)
	for _, pl := range plumbings {
		t.Run(pl.name, func(t *testing.T) {
			data := line
			if strings.HasPrefix(pl.name, "non-blocking") {
				data = line[:8<<20]
			}
			throughBoth(t, pl, data, len(data))
		})
	}
}

// throughBoth sends data through a tap to a server that copies it to its stdout
// and stderr, in writes of step bytes, and compares all three lanes at the
// client and in the recording.
func throughBoth(t *testing.T, pl plumbing, data []byte, step int) {
	t.Helper()
	var r rigIO
	r.open(t, pl)
	tp := tapping(t, self("both"))
	tp.Stdin, tp.Stdout, tp.Stderr = r.in[0], r.out[1], r.err[1]
	must(t, tp.Start())
	keepNonblocking(t, pl, r.in[0], r.out[1], r.err[1])
	for _, f := range []*os.File{r.in[0], r.out[1], r.err[1]} {
		must(t, f.Close())
	}
	want := sum(bytes.NewReader(data))
	got := make(chan digest, 1)
	go func() { got <- sum(r.out[0]) }()
	go func() {
		for rest := data; len(rest) > 0; {
			n := min(step, len(rest))
			if _, err := r.in[1].Write(rest[:n]); err != nil {
				t.Error(err)
				break
			}
			rest = rest[n:]
		}
		_ = r.in[1].Close()
	}()
	if got := sum(r.err[0]); got != want {
		t.Errorf("client's stderr: %v, want %v", got, want)
	}
	if got := <-got; got != want {
		t.Errorf("client's stdout: %v, want %v", got, want)
	}
	if code := tp.code(); code != 0 {
		t.Errorf("status %d", code)
	}
	rec := tp.recorded()
	for _, lane := range []tap.Lane{tap.ToServer, tap.ToClient, tap.Stderr} {
		if rec.Sums[lane] != want.sum {
			t.Errorf("the recorded bytes of %v differ from those that crossed", lane)
		}
		if rec.Ended[lane] != 1 {
			t.Errorf("%v ended %d times", lane, rec.Ended[lane])
		}
		rec.note(t, tap.EventEOF, lane)
	}
}

// A digest stands for a stream that may be too long to hold.
type digest struct {
	size int64
	sum  [sha256.Size]byte
}

func (d digest) String() string { return fmt.Sprintf("%d bytes (%x…)", d.size, d.sum[:4]) }

// sum reads r to its end.
func sum(r io.Reader) digest {
	h := sha256.New()
	n, _ := io.Copy(h, r)
	return digest{n, [sha256.Size]byte(h.Sum(nil))}
}

// keepNonblocking restores the mode that os/exec has changed.
func keepNonblocking(t *testing.T, pl plumbing, files ...*os.File) {
	t.Helper()
	if !strings.HasPrefix(pl.name, "non-blocking") {
		return
	}
	for _, f := range files {
		c, err := f.SyscallConn()
		must(t, err)
		must(t, c.Control(func(d uintptr) { err = syscall.SetNonblock(int(d), true) }))
		must(t, err)
	}
}

// rigIO has the three streams between client and tap, read end first.
type rigIO struct{ in, out, err [2]*os.File }

func (r *rigIO) open(t *testing.T, pl plumbing) {
	t.Helper()
	for _, s := range []*[2]*os.File{&r.in, &r.out, &r.err} {
		s[0], s[1] = pl.make(t)
	}
}

// Merging or splitting writes changes what the peer sees: SDKs lose the last progress
// notification when it is read together with the response.
func TestOneWriteIsOneRead(t *testing.T) {
	sizes := []int{1, 2, 100, 4096, 4097, 60_000, 1, 33}
	t.Run("to server", func(t *testing.T) {
		tp := tapping(t, self("sizes"))
		in, out := tp.pipes()
		for _, n := range sizes {
			_, err := in.Write(make([]byte, n))
			must(t, err)
			wantLine(t, out, fmt.Sprint(n))
		}
		must(t, in.Close())
	})
	t.Run("to client", func(t *testing.T) {
		tp := tapping(t, self("echo"))
		in, err := tp.StdinPipe()
		must(t, err)
		out, err := tp.StdoutPipe()
		must(t, err)
		must(t, tp.Start())
		b := make([]byte, 1<<20)
		for _, n := range sizes {
			_, err := in.Write(make([]byte, n))
			must(t, err)
			got, err := out.Read(b)
			if got != n {
				t.Fatalf("one write of %d bytes was read as %d (%v)", n, got, err)
			}
		}
		must(t, in.Close())
	})
}
