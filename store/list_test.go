package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcptap/mcptap/tap"
)

// shelf makes a directory of recordings, each from a line with an id and a label, each a
// minute newer than the previous one.
func shelf(t testing.TB, lines ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i, l := range lines {
		h := sampleHeader("")
		h.ID, h.Label, _ = strings.Cut(l, " ")
		h.Start = h.Start.Add(time.Duration(i) * time.Minute)
		w, err := NewWriter(filepath.Join(dir, FileName(h)), h)
		if err == nil {
			err = w.Add(tap.Frame{Seq: 1, Lane: tap.ToServer, Raw: []byte("{}\n")})
		}
		if err == nil {
			err = w.Close(End{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ids(infos []Info) string {
	var s []string
	for _, i := range infos {
		s = append(s, i.Header.ID+" "+i.Status.String())
	}
	return strings.Join(s, ", ")
}

func TestList(t *testing.T) {
	dir := shelf(t, "aaaa0001 first", "bbbb0002 second", "cccc0003 third")
	for _, name := range []string{"notes.txt", ".hidden" + Ext, "x.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broken := filepath.Join(dir, "20260301T123030.000Z-broken-file-dddd0004"+Ext)
	if err := os.WriteFile(broken, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	infos, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ids(infos), "cccc0003 ended, bbbb0002 ended, dddd0004 damaged, aaaa0001 ended"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if i := infos[2]; i.Header.Label != "broken-file" || i.Err == nil {
		t.Errorf("%+v", i)
	}
	if infos, err := List(filepath.Join(dir, "none")); len(infos) > 0 || err != nil {
		t.Errorf("%v, %v", infos, err)
	}
}

func TestResolve(t *testing.T) {
	dir := shelf(t, "abcd0001 files", "abff0002 github", "12340003 github")
	at := func(id string) string {
		names, _ := recordingsIn(dir)
		for _, name := range names {
			if strings.Contains(name, id) {
				return filepath.Join(dir, name)
			}
		}
		return id
	}
	for _, c := range []struct {
		arg, path string
		session   int
	}{
		{"abcd0001", at("abcd0001"), 0},
		{"abc", at("abcd0001"), 0},
		{"ABF", at("abff0002"), 0},
		{"1", at("12340003"), 0},
		{"20260301T1231", at("abff0002"), 0},
		{"@last", at("12340003"), 0},
		{"@last#2", at("12340003"), 2},
		{"abc#12", at("abcd0001"), 12},
		{at("abcd0001"), at("abcd0001"), 0},
		{at("abcd0001") + "#3", at("abcd0001"), 3},
		{filepath.Base(at("abcd0001")), at("abcd0001"), 0},
	} {
		path, session, err := Resolve(dir, c.arg)
		if path != c.path || session != c.session || err != nil {
			t.Errorf("Resolve(%q) = %q, %d, %v", c.arg, path, session, err)
		}
	}
	for arg, want := range map[string]string{
		"ab":        `"ab" matches 2 recordings; give more of the id: abff0002 (github, 2026-`,
		"zz":        `no recording "zz" in ` + dir,
		"@live":     "is live; @last is the newest",
		"@first":    `"@first" is unknown`,
		"":          "does not name a recording",
		"#2":        "does not name a recording",
		"abc#x":     `"abc#x": what follows #`,
		"abc#0":     `"abc#0": what follows #`,
		"./none":    "no recording at ./none",
		"x.mcptap":  "no recording at x.mcptap",
		"2026":      "matches 3 recordings",
		"abcd00012": "no recording",
	} {
		path, _, err := Resolve(dir, arg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%q) = %q, %v, want %s", arg, path, err, want)
		}
	}
	none := t.TempDir()
	if _, _, err := Resolve(none, "@last"); err == nil || !strings.Contains(err.Error(), "no recordings in") {
		t.Error(err)
	}
	if _, _, err := Resolve(none, "a"); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Error(err)
	}
}

func TestCompletions(t *testing.T) {
	dir := shelf(t, "abcd0001 files", "abff0002 github", "abce0003 files")
	for prefix, want := range map[string][]string{
		"fi":   {"files"},
		"":     {"@last", "@live", "abce0003", "abff0002", "abcd0001", "files", "github"},
		"@":    {"@last", "@live"},
		"abcd": {"abcd0001"},
		"zz":   nil,
		"2026": {"20260301T123200.000Z-files-abce0003.mcptap", "20260301T123100.000Z-github-abff0002.mcptap", "20260301T123000.000Z-files-abcd0001.mcptap"},
	} {
		var got []string
		for _, c := range Completions(dir, prefix) {
			v, about, ok := strings.Cut(c, "\t")
			if !ok || about == "" {
				t.Errorf("%q has no description", c)
			}
			got = append(got, v)
		}
		if !slices.Equal(got, want) {
			t.Errorf("Completions(%q) = %q, want %q", prefix, got, want)
		}
	}
}

func TestRemove(t *testing.T) {
	dir := shelf(t, "abcd0001 files")
	path, _, _ := Resolve(dir, "abcd0001")
	if err := os.WriteFile(path+QueueExt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("%v is left", entries)
	}
	if err := Remove(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	notes := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(notes, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Remove(notes); !errors.Is(err, ErrNotRecording) {
		t.Error(err)
	}
}

// TestQueueOnly lists a recording whose file the tap has not created yet.
func TestQueueOnly(t *testing.T) {
	h := sampleHeader("abcd0001")
	h.ReplayOf = "00000001"
	path := filepath.Join(t.TempDir(), FileName(h))
	size, count := queueGeometry(1 << 20)
	q, _, err := createQueueFile(path+QueueExt, h, size, count)
	if err != nil {
		t.Fatal(err)
	}
	defer q.remove()
	infos, err := List(filepath.Dir(path))
	if err != nil || ids(infos) != "abcd0001 live" {
		t.Errorf("%s, %v", ids(infos), err)
	}
	if len(infos) == 1 && infos[0].Header.ReplayOf != h.ReplayOf {
		t.Errorf("replay of %q", infos[0].Header.ReplayOf)
	}
	if got, _, err := Resolve(filepath.Dir(path), "@live"); got != path || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, _, err := Resolve(filepath.Dir(path), "@last"); err == nil {
		t.Errorf("@last is the replay %s", got)
	}
}

// TestLive lists, follows and tries to remove a recording while it is being written.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	rec := Create(dir, tap.Header{Label: "live", Transport: "stdio"}, Options{Queue: 1 << 20})
	closed := false
	defer func() {
		if !closed {
			rec.Close()
		}
	}()
	say := func(s string) {
		rec.Chunk(tap.ToServer, []byte(s))
	}
	say("first\n")
	r := mustOpen(t, rec.Path())
	if i, err := r.Info(); err != nil || i.Status != Live || i.Header.Label != "live" {
		t.Errorf("%+v, %v", i, err)
	}
	if path, _, err := Resolve(dir, "@live"); path != rec.Path() || err != nil {
		t.Errorf("%s, %v", path, err)
	}
	if err := Remove(rec.Path()); !errors.Is(err, ErrLive) {
		t.Error(err)
	}
	const n = 50
	var want, got strings.Builder
	want.WriteString("first\n")
	for f, err := range r.Follow(timeout(t, 30*time.Second), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got.Write(f.Raw)
		if f.Seq < n {
			l := fmt.Sprintf("line %d\n", f.Seq)
			want.WriteString(l)
			say(l)
		} else if f.Seq == n {
			rec.Close()
			closed = true
		}
	}
	if got.String() != want.String() {
		t.Errorf("followed %d bytes of %d", got.Len(), want.Len())
	}
	if i := Stat(rec.Path()); i.Status != Ended || i.Frames != n {
		t.Errorf("%+v", i)
	}
}

// TestReadWhileWritten reads repeatedly while a tap commits as fast as it can: no
// reader takes a lock, and none may see a state that never existed.
func TestReadWhileWritten(t *testing.T) {
	rec := Create(t.TempDir(), tap.Header{Label: "busy"}, Options{Queue: 8 << 20})
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer rec.Close()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			rec.Chunk(tap.ToServer, fmt.Appendf(nil, "line %d %s\n", i, strings.Repeat("x", i*37%3000)))
			if i%50 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	r := mustOpen(t, rec.Path())
	var seen uint64
	reads := 0
	for began := time.Now(); time.Since(began) < 2*time.Second; reads++ {
		n, prev := 0, seen
		for f, err := range r.Frames(seen - min(seen, 500)) {
			if err != nil {
				t.Fatal(err)
			}
			if i := strings.Index(string(f.Raw), " x"); !strings.HasPrefix(string(f.Raw), fmt.Sprintf("line %d ", f.Seq-1)) || i < 0 && f.Size > 40 {
				t.Fatalf("frame %d is %.40q", f.Seq, f.Raw)
			}
			seen = f.Seq
			n++
		}
		if seen < prev {
			t.Fatalf("after frame %d the last was %d", prev, seen)
		}
		if _, err := r.Frame(seen); err != nil && seen > 0 {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
	t.Logf("%d reads, %d frames", reads, seen)
	if err := checkFile(rec.Path()); err != nil {
		t.Error(err)
	}
}

// A tap that is killed in its first millisecond leaves a queue under its temporary
// name. It takes 6 MiB, and no command shows it.
func TestListRemovesUnbornQueues(t *testing.T) {
	dir := shelf(t, "aaaa0001 first")
	old := time.Now().Add(-2 * newLimit)
	leave := func(name string, at time.Time) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	left := leave("20260301T123030.000Z-cat-dddd0004"+Ext+QueueExt+newExt, old)
	for path, stays := range map[string]bool{
		left: false,
		leave("20260301T123030.000Z-cat-dddd0005"+Ext+QueueExt+newExt, time.Now()): true, // being made
		leave("notes"+newExt, old): true, // not ours
	} {
		infos, err := List(dir)
		if got := ids(infos); got != "aaaa0001 ended" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// A growing is a file that grows by a commit whenever its size has been read.
type growing struct {
	*os.File
	commit func()
}

func (g growing) Stat() (os.FileInfo, error) {
	defer g.commit()
	return g.File.Stat()
}

// A commit that makes the file larger while it is being opened is not damage.
func TestFileGrowsWhileItIsOpened(t *testing.T) {
	d := dbfile{path: filepath.Join(t.TempDir(), "x"+Ext)}
	if err := d.create(tap.Header{ID: "00000000"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := openPages(growing{f, func() {
		err := d.update(func(tx *bolt.Tx) error { return tx.Bucket(bucketFrames).Put(key(1), make([]byte, 1<<20)) })
		if err != nil {
			t.Fatal(err)
		}
	}})
	if err != nil || int64(p.end)*pageSize > p.size {
		t.Errorf("%v: %d pages in %d bytes", err, p.end, p.size)
	}
}

// The summary of a truncated file may be readable. Its frames are not.
func TestListTruncated(t *testing.T) {
	dir := t.TempDir()
	h := sampleHeader("")
	h.ID = "aaaa0001"
	path := filepath.Join(dir, FileName(h))
	w, err := NewWriter(path, h)
	for i := range uint64(3000) {
		if err == nil {
			err = w.Add(tap.Frame{Seq: i + 1, Lane: tap.ToServer, Raw: []byte(strings.Repeat("x", 500) + "\n")})
		}
	}
	if err == nil {
		err = w.Close(End{})
	}
	if err != nil {
		t.Fatal(err)
	}
	readable := 0
	info := Stat(path)
	for size := info.Size; size > 2*pageSize && err == nil; size -= pageSize {
		if sum, err := readSummary(path); err == nil && sum.state.NextSeq == 3001 {
			readable++
		}
		if got := Stat(path); (got.Status == Damaged) != (size < info.Size) || (got.Err != nil) != (size < info.Size) {
			t.Fatalf("%d of %d bytes: %v, %v", size, info.Size, got.Status, got.Err)
		}
		err = os.Truncate(path, size-pageSize)
	}
	if readable < 2 || err != nil {
		t.Errorf("the summary of %d files was readable, %v", readable, err)
	}
}
