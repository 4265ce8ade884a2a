package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// built is the directory of the program that was built here, if any.
var built string

// mcptap returns the program under test: MCPTAP_BIN, or one built from the parent module.
var mcptap = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("MCPTAP_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	var err error
	if built, err = os.MkdirTemp("", "mcptap-peertest-"); err != nil {
		return "", err
	}
	bin := filepath.Join(built, "mcptap")
	build := exec.Command("go", "build", "-o", bin, "./cmd/mcptap")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building mcptap: %w\n%s", err, out)
	}
	return bin, nil
})

func tapBinary(t *testing.T) string {
	t.Helper()
	bin, err := mcptap()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// A frame is a line of `mcptap export`.
type frame struct {
	V         int     `json:"v"`
	Type      string  `json:"type"`
	Seq       uint64  `json:"seq"`
	At        int64   `json:"at_ns"`
	Lane      string  `json:"lane"`
	Raw       *string `json:"raw"`
	RawBase64 []byte  `json:"raw_base64"`
}

func (f *frame) bytes() []byte {
	if f.Raw != nil {
		return []byte(*f.Raw)
	}
	return f.RawBase64
}

// An event is the part of a lifecycle frame that the tests look at.
type event struct {
	Event string `json:"event"`
	PID   int    `json:"pid"`
	Code  *int   `json:"code"`
}

type recording struct {
	file   string
	frames []frame
	lanes  map[string][]byte // the frames of a lane, joined
	events map[string]event  // by name
	stderr string            // of the export
}

// recordings exports every recording in a directory and checks its invariants.
func recordings(t *testing.T, dir string) (all []*recording) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.mcptap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r := export(t, file)
		r.checkOrder(t)
		r.checkCauses(t)
		checkProgress(t, file, r.lanes["to_client"])
		all = append(all, r)
	}
	return all
}

func export(t *testing.T, file string) *recording {
	t.Helper()
	cmd := exec.Command(tapBinary(t), "export", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &recording{file: file, lanes: map[string][]byte{}, events: map[string]event{}}
	d := json.NewDecoder(out)
	for first := true; ; first = false {
		var f frame
		if err := d.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("export of %s: %v", file, err)
		}
		if f.V != 1 {
			t.Fatalf("export of %s: a line has v %d, want 1", file, f.V)
		}
		if first != (f.Type == "recording") {
			t.Fatalf("export of %s: line of type %q, the first one: %v", file, f.Type, first)
		}
		if f.Type != "frame" {
			continue
		}
		b := f.bytes()
		r.lanes[f.Lane] = append(r.lanes[f.Lane], b...)
		if f.Lane == "lifecycle" {
			var e event
			if err := json.Unmarshal(b, &e); err != nil {
				t.Fatalf("lifecycle frame %d of %s: %v", f.Seq, file, err)
			}
			r.events[e.Event] = e
		}
		r.frames = append(r.frames, f)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("export of %s: %v\n%s", file, err, &stderr)
	}
	r.stderr = stderr.String()
	if r.events["start"].PID == 0 {
		t.Errorf("%s has no start event with a pid", file)
	}
	return r
}

// checkOrder checks that numbers start at 1 without gaps, that time never goes backwards, and that each
// frame is one line. Only the last line of a lane may lack its terminator.
func (r *recording) checkOrder(t *testing.T) {
	t.Helper()
	open := map[string]uint64{}
	at := int64(0)
	for i, f := range r.frames {
		if f.Seq != uint64(i+1) {
			t.Fatalf("%s: frame number %d at position %d", r.file, f.Seq, i+1)
		}
		if f.At < at {
			t.Fatalf("%s: frame %d is at %d ns, the one before at %d ns", r.file, f.Seq, f.At, at)
		}
		at = f.At
		if f.Lane != "to_server" && f.Lane != "to_client" {
			continue
		}
		if n, ok := open[f.Lane]; ok {
			t.Fatalf("%s: frame %d of %s has no newline at its end, and frame %d follows", r.file, n, f.Lane, f.Seq)
		}
		b := f.bytes()
		switch n := bytes.IndexByte(b, '\n'); {
		case len(b) == 0:
			t.Fatalf("%s: frame %d is empty", r.file, f.Seq)
		case n < 0:
			open[f.Lane] = f.Seq
		case n != len(b)-1:
			t.Fatalf("%s: frame %d has a newline at %d of %d bytes", r.file, f.Seq, n, len(b))
		}
	}
}

// checkCauses checks that no response is numbered before its request.
func (r *recording) checkCauses(t *testing.T) {
	t.Helper()
	other := map[string]string{"to_server": "to_client", "to_client": "to_server"}
	asked := map[string]bool{}
	for _, f := range r.frames {
		if other[f.Lane] == "" {
			continue
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(f.bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		if m.Method != "" {
			asked[f.Lane+string(m.ID)] = true
		} else if !asked[other[f.Lane]+string(m.ID)] {
			t.Errorf("%s: frame %d answers %s before the request", r.file, f.Seq, m.ID)
		}
	}
}

// checkProgress checks that on one stream the progress of a call only increases. It returns the number of
// notifications. A stream is lines of JSON or server-sent events.
func checkProgress(t *testing.T, what string, stream []byte) (n int) {
	t.Helper()
	last := map[string]float64{}
	for line := range bytes.Lines(stream) {
		if !bytes.Contains(line, []byte("notifications/progress")) {
			continue
		}
		data := bytes.TrimPrefix(line, []byte("data:"))
		for _, m := range messages(t, what, data) {
			if m.Method != "notifications/progress" {
				continue
			}
			p := m.Params
			if len(p.Token) == 0 {
				t.Errorf("%s: progress without a token: %s", what, data)
			}
			if was, ok := last[string(p.Token)]; ok && p.Progress <= was {
				t.Errorf("%s: progress %v of %s follows %v", what, p.Progress, p.Token, was)
			}
			last[string(p.Token)] = p.Progress
			n++
		}
	}
	return n
}

type message struct {
	Method string `json:"method"`
	Params struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
	} `json:"params"`
}

// messages returns the messages in a text that is a message or a batch.
func messages(t *testing.T, what string, text []byte) (list []message) {
	t.Helper()
	if text = bytes.TrimSpace(text); !bytes.HasPrefix(text, []byte("[")) {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Errorf("%s: %v: %s", what, err, text)
	}
	return list
}

func (r *recording) exitCode() int {
	if c := r.events["exit"].Code; c != nil {
		return *c
	}
	return -1
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		n := commonPrefix(got, want)
		t.Errorf("%s: %d bytes, want %d; first difference at %d\ngot:  %s\nwant: %s",
			what, len(got), len(want), n, around(got, n), around(want, n))
	}
}

// prefix checks that want begins with got.
func prefix(t *testing.T, what string, got, want []byte) {
	t.Helper()
	same(t, what, got, want[:min(len(got), len(want))])
}
