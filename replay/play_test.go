package replay

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/tap"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestPlay plays the cases of testdata/play. Each has a description, options, a recording, and the
// actions of a live client with their outcome. In both halves a line with > is from the client and
// one with < from the server; a number after the sign is the stream; +5ms advances the clock. In
// the live half, * is a note, "end" the end of the client's lane, "close 3" closes a stream and
// "open 3" opens a standing one. The client's actions are input, the rest is compared.
func TestPlay(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "play", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(data), "\r\n", "\n")
			head, rest, ok := strings.Cut(text, recordedMark)
			recorded, live, also := strings.Cut(rest, liveMark)
			if !ok || !also {
				t.Fatal("the case has no recording or no live part")
			}
			got := replyCase(t, head, live, script(t, readFrames(t, recorded), readOptions(t, head)))
			if *update {
				err = os.WriteFile(name, []byte(head+recordedMark+recorded+liveMark+got), 0o644)
				if err != nil {
					t.Fatal(err)
				}
			} else if got != live {
				t.Errorf("got\n%s\nwant\n%s", got, live)
			}
		})
	}
}

const (
	recordedMark = "-- recorded --\n"
	liveMark     = "-- live --\n"
)

// readOptions reads the lines in the head of a case that begin with "option".
func readOptions(t *testing.T, head string) (opt Options) {
	t.Helper()
	for line := range strings.Lines(head) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "option" {
			continue
		}
		var err error
		value := strings.Join(words[2:], " ")
		switch words[1] {
		case "match":
			opt.Match, err = ParseMatch(value)
		case "repeat":
			opt.Repeat, err = ParseRepeat(value)
		case "pace":
			opt.Pace, err = ParsePace(value)
		case "seed":
			opt.Seed, err = strconv.ParseUint(value, 10, 64)
		case "gate-timeout":
			opt.GateTimeout, err = time.ParseDuration(value)
		case "ignore":
			var p Path
			p, err = ParsePath(value)
			opt.Ignore = append(opt.Ignore, p)
		case "fault":
			var f Fault
			f, err = ParseFault(value)
			opt.Faults = append(opt.Faults, f)
		default:
			t.Fatalf("no such option: %s", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return opt
}

// readFrames reads the recorded half. Each line takes a millisecond.
func readFrames(t *testing.T, text string) (frames []tap.Frame) {
	t.Helper()
	now := time.Duration(0)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line[0] == '+' {
			now += duration(t, line[1:])
			continue
		}
		sign, rest, _ := strings.Cut(line, " ")
		now += time.Millisecond
		f := tap.Frame{Seq: uint64(len(frames) + 1), At: now, Raw: []byte(rest + "\n")}
		switch sign[0] {
		case '>':
			f.Lane = tap.ToServer
		case '<':
			f.Lane = tap.ToClient
		default: // eof LANE
			f.Raw = tap.Event{Name: sign, Lane: rest}.Encode()
		}
		if len(sign) > 1 && f.Lane != tap.Lifecycle {
			f.Exchange, _ = strconv.ParseUint(sign[1:], 10, 64)
		}
		f.Size = int64(len(f.Raw))
		frames = append(frames, f)
	}
	return frames
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A stage is a live session and its outcome as text.
type stage struct {
	t      *testing.T
	s      *Session
	now    time.Duration
	http   bool
	out    bytes.Buffer
	stamps bool
}

func replyCase(t *testing.T, head, live string, s *Script) string {
	t.Helper()
	x := &stage{t: t, http: strings.Contains(head, "option-http"), s: s.NewSession()}
	if !x.http {
		x.s.Attach(0, 1, Duplex)
		x.drain()
	}
	for line := range strings.Lines(live) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			x.out.WriteString(line + "\n")
		case line[0] == '<' || line[0] == '*' || line[0] == '.':
			// the expected outcome, to be compared
		default:
			x.out.WriteString(line + "\n")
			x.do(line)
		}
	}
	if x.s.Done() {
		x.out.WriteString(". over\n")
		if due, ok := x.s.Due(); ok {
			t.Errorf("the session is over but something is due at %v", due)
		}
	}
	return x.out.String()
}

// do performs an action of the client.
func (x *stage) do(line string) {
	sign, rest, _ := strings.Cut(line, " ")
	number := func(s string) Stream {
		n, _ := strconv.ParseUint(s, 10, 64)
		return Stream(max(n, 1))
	}
	switch {
	case sign[0] == '>':
		if n := x.s.Receive(x.now, Input{Stream: number(sign[1:]), Raw: []byte(rest + "\n")}).Requests; x.http {
			fmt.Fprintf(&x.out, ". %d to be answered\n", n)
		}
	case sign[0] == '+':
		x.pass(duration(x.t, sign[1:]))
	case sign == "end":
		x.s.End(x.now)
	case sign == "close":
		x.s.Detach(x.now, number(rest))
	case sign == "open":
		x.s.Attach(x.now, number(rest), Standing)
	default:
		x.t.Fatalf("invalid line %q", line)
	}
	x.drain()
}

// pass advances the clock, and prints each output with the time at which it came.
func (x *stage) pass(d time.Duration) {
	from, to := x.now, x.now+d
	for {
		due, ok := x.s.Due()
		if !ok || due > to {
			break
		}
		x.now = max(x.now, due)
		x.stamps = x.now > from
		x.drainAt(x.now - from)
	}
	x.now, x.stamps = to, false
}

func (x *stage) drain() { x.drainAt(0) }

func (x *stage) drainAt(after time.Duration) {
	x.t.Helper()
	for range 10_000 {
		out, ok := x.s.Next(x.now)
		for _, n := range x.s.Notes() {
			fmt.Fprintf(&x.out, "* %v: %s", n.Kind, n.Text)
			for _, d := range n.Differences {
				if !strings.Contains(n.Text, d.String()) {
					fmt.Fprintf(&x.out, "; %v", d)
				}
			}
			if n.Live != x.s.live {
				fmt.Fprintf(&x.out, " [message %d]", n.Live)
			}
			x.out.WriteByte('\n')
		}
		if !ok {
			return
		}
		x.write(out, after)
	}
	x.t.Fatal("the session never ends")
}

func (x *stage) write(out Output, after time.Duration) {
	x.out.WriteByte('<')
	if x.http {
		fmt.Fprint(&x.out, uint64(out.Stream))
	}
	if x.stamps {
		fmt.Fprintf(&x.out, " %v", after)
	}
	if raw := bytes.TrimSuffix(out.Raw, []byte("\n")); len(raw) > 0 {
		fmt.Fprintf(&x.out, " %s", raw)
	}
	if out.Last {
		x.out.WriteString(" (last)")
	}
	if out.Leave {
		x.out.WriteString(" (leaves)")
	}
	x.out.WriteByte('\n')
}
