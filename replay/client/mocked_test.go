package client_test

import (
	"context"
	"io"
	"testing"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap"
)

func init() {
	client.Mocked = func(t *testing.T, frames []tap.Frame) func(io.Reader, io.Writer) {
		t.Helper()
		rec, err := mock.Load(func(yield func(tap.Frame, error) bool) {
			for i := range frames {
				if !yield(frames[i], nil) {
					return
				}
			}
		}, replay.Options{Pace: replay.Instant})
		if err != nil {
			t.Fatal(err)
		}
		return func(in io.Reader, out io.Writer) {
			_, _ = mock.Stdio(context.Background(), rec.Script, in, out, nil)
		}
	}
}
