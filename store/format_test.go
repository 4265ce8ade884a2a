package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

var update = flag.Bool("update", false, "rewrite the golden files and the fixture of the current format")

const formats = "../testdata/format"

// TestFixtures reads one recording of every format version that ever shipped.
// Their content must read the same forever: never run -update to make this
// pass for a version that was released.
func TestFixtures(t *testing.T) {
	if *update {
		writeFixture(t, fmt.Sprintf("%s/v%d%s", formats, FormatVersion, Ext))
	}
	for v := 1; v <= FormatVersion; v++ {
		path := fmt.Sprintf("%s/v%d%s", formats, v, Ext)
		r := mustOpen(t, path)
		var out bytes.Buffer
		i, err := r.Info()
		if err != nil {
			t.Fatal(err)
		}
		i.Path, i.Size = "", 0
		i.Tally = session.Tally{Frames: i.Tally.Frames, Bytes: i.Tally.Bytes} // how it counts errors may improve
		fmt.Fprintf(&out, "%s\n", mustJSON(&i))
		for f, err := range r.Frames(0) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "seq=%d at=%d took=%d lane=%v exchange=%d%s truncated=%v size=%d raw=%q\n",
				f.Seq, f.At, f.Took, f.Lane, f.Exchange, formOf(&f), f.Truncated, f.Size, f.Raw)
		}
		golden := strings.TrimSuffix(path, Ext) + ".txt"
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := readAll(t, golden); !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s reads as\n%s\nwant\n%s", path, out.Bytes(), want)
		}
	}
}

// TestSalvageOfFixtures recovers the frames, and what is known of the missing ones,
// from a file of every version whose metas are gone.
func TestSalvageOfFixtures(t *testing.T) {
	for v := 1; v <= FormatVersion; v++ {
		fixture := fmt.Sprintf("%s/v%d%s", formats, v, Ext)
		want, err := collect(mustOpen(t, fixture).Frames(0))
		if err != nil {
			t.Fatal(err)
		}
		content := readAll(t, fixture)
		clear(content[:2*pageSize])
		path := filepath.Join(t.TempDir(), "x"+Ext)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, r := mustSalvage(t, path)
		got, err := collect(s.Frames(0))
		if err != nil {
			t.Fatal(err)
		}
		sameFrames(t, got, want)
		if !r.EndKnown || len(r.Gaps) != 1 || len(r.Missing) > 0 || headerOf(t, s).ID != "0123abcd" {
			t.Errorf("version %d: %+v", v, r)
		}
	}
}

// formOf returns the form of a frame in a fixture. Frames of version 1 have none.
func formOf(f *tap.Frame) string {
	if f.Form == tap.FormLine {
		return ""
	}
	return " form=" + f.Form.String()
}

// writeFixture makes a small recording with everything that the format has.
func writeFixture(t *testing.T, path string) {
	tmp := filepath.Join(t.TempDir(), "fixture"+Ext)
	raw := func(s string) []byte { return []byte(s) }
	frames := []tap.Frame{
		{Seq: 1, At: 0, Lane: tap.Lifecycle, Raw: tap.Event{Name: tap.EventStart, Transport: "stdio", Command: []string{"server"}, PID: 42}.Encode()},
		{Seq: 2, At: 1500, Lane: tap.ToServer, Raw: raw(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n")},
		{Seq: 3, At: 2500, Took: 700, Lane: tap.ToClient, Raw: raw(`{"jsonrpc":"2.0","id":0,"result":{}}` + "\r\n")},
		{Seq: 4, At: 2500, Lane: tap.Stderr, Raw: raw("no terminator")},
		{Seq: 5, At: 3000, Took: 2999, Lane: tap.ToClient, Raw: raw(strings.Repeat("a long line in parts, ", 20) + "\n")},
		{Seq: 6, At: 1e9, Exchange: 7, Lane: tap.ToServer, Raw: raw("\x00\xff not JSON, not UTF-8\n")},
		{Seq: 9, At: 2e9, Truncated: true, Lane: tap.ToServer, Raw: raw(`the end of something"}` + "\n")},
		{Seq: 10, At: 2e9, Lane: tap.ToClient, Raw: raw("\n")},
		{Seq: 11, At: 2e9 + 1, Exchange: 1, Lane: tap.Lifecycle, Raw: tap.Event{Name: tap.EventRequest, Conn: 1, Proto: "HTTP/1.1",
			Method: "POST", Target: "/mcp", Header: [][2]string{{"Host", "x"}, {"Authorization", "Bearer ***"}}, Masked: []string{"Authorization"}}.Encode()},
		{Seq: 12, At: 2e9 + 5, Took: 3, Exchange: 1, Lane: tap.ToServer, Form: tap.FormBody, Raw: raw(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)},
		{Seq: 13, At: 3e9, Exchange: 1, Lane: tap.Lifecycle, Raw: tap.Event{Name: tap.EventResponse, Proto: "HTTP/1.1", Status: 200, Reason: "OK"}.Encode()},
		{Seq: 14, At: 3e9, Exchange: 1, Lane: tap.ToClient, Form: tap.FormEvent, Raw: raw("event: message\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1,\"result\":{}}\r\n\r\n")},
		{Seq: 15, At: 3e9, Took: 1, Exchange: 1<<32 + 1, Lane: tap.ToClient, Form: tap.FormBody, Raw: raw(strings.Repeat("<p>a page in parts</p>", 20))},
		{Seq: 16, At: 3e9, Exchange: 3, Lane: tap.ToServer, Form: tap.FormText, Raw: raw(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)},
		{Seq: 17, At: 4e9, Exchange: 3, Lane: tap.ToClient, Form: tap.FormBinary, Truncated: true, Raw: raw("\x00\x01")},
		{Seq: 18, At: 4e9, Exchange: 3, Lane: tap.ToServer, Form: tap.FormPing, Raw: raw("")},
		{Seq: 19, At: 4e9, Exchange: 3, Lane: tap.ToClient, Form: tap.FormPong, Raw: raw("x")},
		{Seq: 20, At: 4e9, Exchange: 3, Lane: tap.ToClient, Form: tap.FormClose, Raw: raw("\x03\xe8")},
		{Seq: 21, At: 4e9, Exchange: 4, Lane: tap.ToServer, Form: tap.FormBytes, Raw: raw("PRI * HTTP/2.0\r\n\r\n")},
		{Seq: 22, At: 5e9, Exchange: 3, Lane: tap.Lifecycle, Raw: tap.Event{Name: tap.EventEnd, By: "client", FirstByte: 1e9, BytesUp: 40, BytesDown: 7}.Encode()},
		{Seq: 23, At: 5e9, Lane: tap.Lifecycle, Raw: tap.Event{Name: tap.EventExit, Code: ptr(0)}.Encode()},
	}
	writeSample(t, tmp, frames, 4, 128)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, readAll(t, tmp), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNewerVersion(t *testing.T) {
	path, _ := sample(t)
	rewrite(t, path, "999", nil)
	_, err := Open(path)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "format is 999") {
		t.Error(err)
	}
	if i := Stat(path); !errors.Is(i.Err, ErrNewer) || i.Header.ID != "0123abcd" {
		t.Errorf("%+v", i)
	}
	rewrite(t, path, "0", nil)
	if _, err := Open(path); !errors.Is(err, ErrDamaged) {
		t.Errorf("version 0 opened: %v", err)
	}
}

// rewrite sets the version of a recording, and calls fn with its meta bucket.
func rewrite(t *testing.T, path, version string, fn func(*bolt.Bucket) error) {
	t.Helper()
	d := dbfile{path: path}
	err := d.update(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if fn != nil {
			if err := fn(meta); err != nil {
				return err
			}
		}
		return meta.Put(keyFormat, []byte(version))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeignDatabase opens databases of other programs, some like ours.
func TestForeignDatabase(t *testing.T) {
	for name, fill := range map[string]func(tx *bolt.Tx) error{
		"empty": func(*bolt.Tx) error { return nil },
		"other": func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("users")); return err },
		"meta": func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket(bucketMeta)
			if err != nil {
				return err
			}
			return b.Put([]byte("version"), []byte("1"))
		},
	} {
		for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
			path := filepath.Join(t.TempDir(), name+Ext)
			db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: size, Timeout: time.Second})
			if err == nil {
				err = errors.Join(db.Update(fill), db.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); !errors.Is(err, ErrNotRecording) {
				t.Errorf("%s with pages of %d: %v", name, size, err)
			}
		}
	}
}
