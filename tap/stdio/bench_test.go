//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func init() { roles["relay"] = roleRelay }

// roleRelay is the bare relay that the tap is measured against.
func roleRelay(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	in, _ := cmd.StdinPipe()
	cmd.Stderr = os.Stderr
	out, _ := cmd.StdoutPipe()
	if cmd.Start() != nil {
		return 99
	}
	go func() {
		_, _ = io.Copy(in, os.Stdin)
		_ = in.Close()
	}()
	_, _ = io.Copy(os.Stdout, out)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// ways are the programs between the client and an echoing server.
var ways = []struct {
	name string
	argv []string
}{
	{"direct", self("echo")},
	{"relay", append(self("relay"), self("echo")...)},
	{"tap", append(self("tap", "rec=discard", "--"), self("echo")...)},
}

func startWay(b *testing.B, argv []string) (*exec.Cmd, io.WriteCloser, io.ReadCloser) {
	b.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	must(b, err)
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	return cmd, in, out
}

// BenchmarkPingPong measures the round trip of one message.
func BenchmarkPingPong(b *testing.B) {
	for _, size := range []int{200, 4096} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%d/%s", size, way.name), func(b *testing.B) {
				cmd, in, out := startWay(b, way.argv)
				msg := bytes.Repeat([]byte("x"), size)
				took := make([]time.Duration, 0, b.N)
				for i := range b.N + 100 {
					begin := time.Now()
					_, err := in.Write(msg)
					must(b, err)
					_, err = io.ReadFull(out, msg)
					must(b, err)
					if i == 100 {
						b.ResetTimer()
					}
					if i >= 100 {
						took = append(took, time.Since(begin))
					}
				}
				b.StopTimer()
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-µs")
				b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-µs")
				_ = in.Close()
				_ = cmd.Wait()
			})
		}
	}
}

// BenchmarkPipelined measures the throughput without waiting for responses.
func BenchmarkPipelined(b *testing.B) {
	for _, size := range []int{200, 4096, 256 << 10} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%d/%s", size, way.name), func(b *testing.B) {
				cmd, in, out := startWay(b, way.argv)
				msg := bytes.Repeat([]byte("x"), size)
				b.SetBytes(int64(size))
				b.ResetTimer()
				go func() {
					for range b.N {
						if _, err := in.Write(msg); err != nil {
							b.Error(err)
							break
						}
					}
					_ = in.Close()
				}()
				if n, err := io.Copy(io.Discard, out); n != int64(b.N*size) || err != nil {
					b.Errorf("%d bytes came back, want %d (%v)", n, b.N*size, err)
				}
				b.StopTimer()
				_ = cmd.Wait()
			})
		}
	}
}
