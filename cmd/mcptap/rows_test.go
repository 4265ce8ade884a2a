package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/listing"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// importFixture imports testdata/fixture/name and returns the recording's file.
func importFixture(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "fixture", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return importFrom(t, f)
}

// testApp returns an app whose stdout is a buffer.
func testApp(env map[string]string) (*app, *bytes.Buffer) {
	var out bytes.Buffer
	return &app{
		stdin: strings.NewReader(""), stdout: &out, stderr: &out,
		env: func(k string) string { return env[k] },
		now: func() time.Time { return testNow }, zone: time.UTC, colorFlag: "auto",
	}, &out
}

func TestShowWidths(t *testing.T) {
	path := importFixture(t, "weather.txtar")
	for _, width := range []int{60, 80, 120, 200} {
		a, out := testApp(map[string]string{"COLUMNS": fmt.Sprint(width)})
		if code := a.run([]string{"show", path}); code != 0 {
			t.Fatalf("exit %d: %s", code, out)
		}
		golden(t, fmt.Sprintf("show-%d.txt", width), out.Bytes())
		for line := range strings.Lines(out.String()) {
			rows, _, _ := strings.Cut(out.String(), "\n\n")
			if w := term.Width(strings.TrimSuffix(line, "\n")); w > width && strings.Contains(rows, line) {
				t.Errorf("at %d columns a row has %d: %s", width, w, line)
			}
		}
	}
	a, out := testApp(nil)
	if code := a.run([]string{"show", path, "--color=always"}); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	golden(t, "show-color.txt", out.Bytes())
}

func TestListWidths(t *testing.T) {
	at := func(y int, m time.Month, d, h int) time.Time { return time.Date(y, m, d, h, 4, 5, 0, time.UTC) }
	info := func(id, label string, start time.Time, server, client session.Party, rev jsonrpc.Revision, frames, errors uint64) store.Info {
		i := store.Info{Header: tap.Header{ID: id, Label: label, Start: start, Transport: "stdio"},
			Duration: 90 * time.Second, Size: 123456}
		i.Tally.Frames[tap.ToServer], i.Tally.Errors = frames, errors
		i.Tally.Facts = session.Facts{Server: server, Client: client, Revision: rev}
		return i
	}
	infos := []store.Info{
		info("00000001", "server-everything", at(2026, 11, 20, 11), session.Party{Name: "mcp-servers/everything", Version: "2.0.0"}, session.Party{Name: "acme-desktop", Version: "2.1.0"}, "2025-11-25", 14, 0),
		info("00000002", "github", at(2026, 11, 20, 3), session.Party{Name: "github-mcp-server", Version: "v0.21.0-with-a-long-suffix"}, session.Party{Name: "Visual Studio Code", Version: "1.107.0"}, "2026-07-28", 123456, 12),
		info("00000003", "天気\x1b[2J\u202e", at(2026, 11, 2, 3), session.Party{Name: "天気予報サーバー", Version: "1"}, session.Party{}, "", 3, 3),
		info("00000004", "a-label-that-somebody-made-very-long-indeed", at(2025, 1, 2, 3), session.Party{}, session.Party{}, "", 0, 0),
		info("00000005", "probe", at(2025, 1, 2, 3), session.Party{}, session.Party{Name: "c"}, "", 2, 1),
	}
	infos[0].Status = store.Live
	infos[1].Gaps = []tap.Range{{From: 1, To: 2}}
	infos[2].Status = store.Cut
	infos[3].Status = store.Damaged
	infos[4].Tally.Facts.Probe, infos[4].Tally.Facts.Requested = true, "2026-07-28"
	for _, width := range []int{60, 80, 120, 200} {
		var out bytes.Buffer
		if err := listing.Recordings(&term.Printer{W: &out, Width: width}, testNow, infos); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("ls-%d.txt", width), out.Bytes())
		for line := range strings.Lines(out.String()) {
			if w := term.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("at %d columns a line has %d: %s", width, w, line)
			}
		}
	}
}

func TestColors(t *testing.T) {
	for _, c := range []struct {
		flag string
		env  map[string]string
		want bool
	}{
		{"auto", nil, false}, // not a terminal
		{"never", nil, false},
		{"always", nil, true},
		{"always", map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true}, // the flag takes precedence
	} {
		a, _ := testApp(c.env)
		a.colorFlag = c.flag
		if got := a.palette().On; got != c.want {
			t.Errorf("--color=%s %v: %v, want %v", c.flag, c.env, got, c.want)
		}
	}
}

// The totals of a listing equal those of the tally that ls shows.
func TestRowsAgreeWithTally(t *testing.T) {
	rec, err := store.Open(importFixture(t, "weather.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := rec.Info()
	if err != nil {
		t.Fatal(err)
	}
	l := view.NewListing(view.Selection{Span: view.Whole}, view.Options{})
	for f, err := range rec.Frames(0) {
		if err != nil {
			t.Fatal(err)
		}
		l.Add(&f)
	}
	if s := l.Summary(); s.Errors != info.Tally.Errors || s.Frames != info.Tally.Frames.Total() || s.Bytes != int64(info.Tally.Bytes.Total()) {
		t.Errorf("summary: %+v, tally: %+v", s, info.Tally)
	}
}

func importFrom(t *testing.T, r interface{ Read([]byte) (int, error) }) string {
	t.Helper()
	a, _ := testApp(nil)
	path, err := a.opener().Import(t.Context(), t.TempDir(), r, "test", recording.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return path
}
