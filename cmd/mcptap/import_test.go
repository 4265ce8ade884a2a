package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// What import, mock and diff take of texts is the same.
func TestReadersOfTextsAgree(t *testing.T) {
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
		m, err := a.loadMock(file, replay.Options{})
		says("mock", err != nil, fmt.Sprint(err))
		if err == nil {
			_ = m.Close()
		}
		a, out = testApp(nil)
		code = a.run([]string{"diff", file, file})
		says("diff", code == exitFailure, out.String())
	}
}

// A recording in which nothing crossed goes through both forms of text.
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
