package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// import, mock and diff accept the same texts.
func TestTextReadersAgree(t *testing.T) {
	t.Parallel()
	line := func(seq, at int, more string) string {
		return fmt.Sprintf(`{"v":1,"type":"frame","seq":%d,"at_ns":%d,"lane":"to_server","raw":"{\"id\":%d,\"method\":\"a\"}\n"%s}`+"\n", seq, at, seq, more)
	}
	lines := func(frames ...string) string {
		return `{"v":1,"type":"recording"}` + "\n" + strings.Join(frames, "") + fmt.Sprintf(`{"v":1,"type":"end","status":"ended","frames":%d}`, len(frames)) + "\n"
	}
	for name, tt := range map[string]struct {
		text string
		want string // in the error, "" for none
	}{
		"a transcript":              {"-- to_server --\n{\"id\":1,\"method\":\"a\"}\n", ""},
		"a transcript with times":   {"-- to_server +1ms --\n{}\n-- to_client --\n{}\n-- to_client +2ms --\n{}\n", ""},
		"without a frame":           {"id: 00c0ffee\ntransport: stdio\nstatus: ended\n", ""},
		"times that descend":        {"-- to_server +2ms --\n{}\n-- to_client +1ms --\n{}\n", "before"},
		"a frame that took longer":  {"-- to_server +2ms took=3ms --\n{}\n", "took"},
		"a frame that took nothing": {"-- to_server +2ms took=-3ms --\n{}\n", "took"},
		"numbers that descend":      {"-- 2 to_server --\n{}\n-- 1 to_client --\n{}\n", "above"},
		"a number out of bounds":    {"-- 18446744073709551615 to_server --\n{}\n", "that many"},
		"gaps":                      {"gap: 2-3\n-- 1 to_server --\n{}\n-- 4 to_client --\n{}\n", ""},
		"lines":                     {lines(line(1, 5, ""), line(2, 5, ""), line(4, 6, "")), ""},
		"lines without a frame":     {lines(), ""},
		"lines, times that descend": {lines(line(1, 5, ""), line(2, 4, "")), "before"},
		"lines twice":               {lines(line(1, 5, ""), line(1, 5, "")), "after frame 1"},
		"lines out of bounds":       {lines(line(1, 5, ""), `{"v":1,"type":"frame","seq":9223372036854775808,"at_ns":9,"lane":"life","raw":"{}"}`+"\n"), "that many"},
		"lines that took longer":    {lines(line(1, 5, `,"took_ns":6`)), "took"},
	} {
		file := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		says := func(who string, failed bool, message string) {
			if failed != (tt.want != "") || !strings.Contains(message, tt.want) {
				t.Errorf("%s, %s: %s, want %q", name, who, message, tt.want)
			}
		}
		a, out := testApp(nil)
		code := a.run([]string{"import", file, "--new-id", "--dir", t.TempDir()})
		says("import", code != 0, out.String())
		a, _ = testApp(nil)
		_, err := a.loadMock(t.Context(), file, replay.Options{})
		says("mock", err != nil, fmt.Sprint(err))
		a, out = testApp(nil)
		code = a.run([]string{"diff", file, file})
		says("diff", code == exitFailure, out.String())
	}
}

// A recording without traffic survives both text formats.
func TestEmptyRecordingRoundTrip(t *testing.T) {
	t.Parallel()
	path := record(t, []tap.Frame{})
	for _, format := range []string{"ndjson", "txtar"} {
		text := export(t, path, format)
		back := importFrom(t, strings.NewReader(string(text)))
		if again := export(t, back, format); string(again) != string(text) {
			t.Errorf("%s:\n%s\nwant\n%s", format, again, text)
		}
		if info := store.Stat(back); info.Header.ID != "00c0ffee" || info.Tally.Frames.Total() != 0 {
			t.Errorf("%+v", info)
		}
	}
}

// Input that is not text is rejected immediately, however long it is.
func TestImportOfBinary(t *testing.T) {
	t.Parallel()
	a, out := testApp(nil)
	device := &zeros{left: 64 << 20}
	a.stdin = device
	code := a.run([]string{"import", "-", "--dir", t.TempDir()})
	if code != exitFailure || !strings.Contains(out.String(), "neither NDJSON nor a transcript") {
		t.Errorf("code %d: %s", code, out)
	}
	if device.left < 63<<20 {
		t.Errorf("all but %d bytes of it were read", device.left)
	}
}

// zeros is a line of text followed by NULs.
type zeros struct {
	begun bool
	left  int
}

func (z *zeros) Read(p []byte) (int, error) {
	if !z.begun {
		z.begun = true
		return copy(p, "# text\n"), nil
	}
	n := min(len(p), z.left)
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	z.left -= n
	return n, nil
}
