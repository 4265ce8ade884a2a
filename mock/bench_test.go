package mock

import (
	"bufio"
	"io"
	"os"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// roundTrips sends requests over system pipes to a server, and waits for each answer.
func roundTrips(b *testing.B, frames []tap.Frame, serve func(in io.Reader, out io.Writer)) {
	inR, inW := osPipe(b)
	outR, outW := osPipe(b)
	over := make(chan struct{})
	go func() {
		defer close(over)
		serve(inR, outW)
		outW.Close()
	}()
	r := bufio.NewReaderSize(outR, 64<<10)
	n := 2
	for b.Loop() {
		if _, err := inW.Write(frames[n].Raw); err != nil {
			b.Fatal(err)
		}
		if line, err := r.ReadSlice('\n'); err != nil || len(line) < 50 {
			b.Fatal(string(line), err)
		}
		if n += 2; n >= len(frames) {
			n = 2
		}
	}
	inW.Close()
	<-over
	inR.Close()
	outR.Close()
}

func osPipe(b *testing.B) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return r, w
}

// echo is a minimal server.
func echo(in io.Reader, out io.Writer) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if _, err := out.Write(line); err != nil {
			return
		}
	}
}
