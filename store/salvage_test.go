package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/internal/longtest"
	"github.com/mcptap/mcptap/tap"
)

func mustSalvage(t testing.TB, path string) (*Recording, Report) {
	t.Helper()
	s, report, err := OpenSalvage(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, report
}

// places returns the locations of the segments of a salvaged recording.
func places(t testing.TB, path string) *salvage {
	t.Helper()
	s, _ := mustSalvage(t, path)
	return s.src.(*salvage)
}

func headerOf(t testing.TB, s *Recording) tap.Header {
	t.Helper()
	i, err := s.Info()
	if err != nil {
		t.Fatalf("%+v, %v", i, err)
	}
	return i.Header
}

// TestSalvageStatus checks that a recording from which nothing is missing has ended, even if
// its first pages are lost.
func TestSalvageStatus(t *testing.T) {
	for name, c := range map[string]struct {
		end  End
		lose int64 // bytes
		want Status
	}{
		"whole": {End{At: time.Hour}, 0, Ended}, "without its metas": {End{At: time.Hour}, 2 * pageSize, Ended},
		"cut": {End{At: time.Hour, Cut: true}, 2 * pageSize, Cut}, "lost": {End{At: time.Hour}, 1 << 40, Damaged},
	} {
		path := filepath.Join(t.TempDir(), "x-0123abcd"+Ext)
		w, err := NewWriter(path, tap.Header{ID: "0123abcd"})
		if err != nil {
			t.Fatal(err)
		}
		raw := []byte(`{"jsonrpc":"2.0","method":"x"}` + "\n")
		if err := errors.Join(w.Add(tap.Frame{Seq: 1, At: 1, Raw: raw, Size: int64(len(raw))}), w.Close(c.end)); err != nil {
			t.Fatal(err)
		}
		content := readAll(t, path)
		kept := places(t, path).frames[0]
		for i := range content[:min(c.lose, int64(len(content)))] {
			if at := int64(i); at < kept.off || at >= kept.off+int64(kept.len) {
				content[i] = 0
			}
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, r := mustSalvage(t, path)
		i, err := s.Info()
		if err != nil || i.Status != c.want || c.want != Damaged && i.Duration != time.Hour || r.Frames != 1 {
			t.Errorf("%s: %+v, %v, %+v", name, i, err, r)
		}
	}
}

func TestSalvageWholeFile(t *testing.T) {
	path, want := sample(t)
	s, r := mustSalvage(t, path)
	got, err := collect(s.Frames(0))
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, got, want)
	if headerOf(t, s).Program != "mcptap test" || r.Frames != uint64(len(want)) || len(r.Missing) > 0 || !r.EndKnown || len(r.Gaps) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestSalvageAfterDamage destroys some bytes at various offsets of a file, and checks that
// every frame of every intact segment is found, and that the rest is accounted for.
func TestSalvageAfterDamage(t *testing.T) {
	path, want := sample(t)
	good := readAll(t, path)
	whole := places(t, path)
	byNumber := make(map[uint64]tap.Frame)
	for _, f := range want {
		byNumber[f.Seq] = f
	}
	step := 331
	if longtest.Sampled(t) {
		step = 3001
	}
	for at := int64(0); at < int64(len(good)); at += int64(step) {
		content := slices.Clone(good)
		hit := content[at:min(at+4, int64(len(content)))]
		for i := range hit {
			hit[i] ^= 0x40 << i
		}
		os.Remove(path)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, report := mustSalvage(t, path)
		got := make(map[uint64]tap.Frame)
		for f, err := range s.Frames(0) {
			if err != nil {
				t.Fatal(err)
			}
			got[f.Seq] = f
		}
		untouched := make(map[uint64]bool)
		for _, p := range whole.frames {
			if at+4 > p.off && at < p.off+int64(p.len) {
				continue
			}
			for n := range uint64(p.n) {
				untouched[p.first+n] = true
			}
		}
		partHit := slices.ContainsFunc(whole.parts, func(p place) bool { return at+4 > p.off && at < p.off+int64(p.len) })
		var missing uint64
		for _, r := range report.Missing {
			missing += r.To - r.From + 1
		}
		for n := range untouched {
			f, w := got[n], byNumber[n]
			if !equalFrame(&f, &w) && !(partHit && f.Truncated && f.Size < w.Size) {
				t.Fatalf("byte %d: frame %s, want %s", at, show(&f), show(&w))
			}
		}
		if len(got)+int(missing) != len(want) {
			t.Errorf("byte %d: %d frames and %d missing of %d", at, len(got), missing, len(want))
		}
		if report.Frames != uint64(len(got)) {
			t.Errorf("byte %d: %d frames, reported %d", at, len(got), report.Frames)
		}
	}
}

// TestSalvageWithoutPages destroys the header of every page, and both metas. Then the
// file's name is all that is left of the header, and what crossed unrecorded is missing.
func TestSalvageWithoutPages(t *testing.T) {
	path, want := sample(t)
	content := readAll(t, path)
	whole := places(t, path)
	for at := 0; at < len(content); at += pageSize {
		inside := slices.ContainsFunc(slices.Concat(whole.frames, whole.parts), func(p place) bool {
			return int64(at)+pageHeader > p.off && int64(at) < p.off+int64(p.len)
		})
		if !inside {
			clear(content[at : at+pageHeader])
		}
	}
	clear(content[:2*pageSize])
	path = filepath.Join(t.TempDir(), "x-0123abcd"+Ext)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open: %v", err)
	}
	s, r := mustSalvage(t, path)
	got, err := collect(s.Frames(0))
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, got, want)
	if h := headerOf(t, s); h.ID != "0123abcd" || h.Label != "x" {
		t.Errorf("%+v", h)
	}
	if r.EndKnown || len(r.Missing) != 1 || len(r.Gaps) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestSalvageLargeFrame loses one part of a frame that is too large to load.
func TestSalvageLargeFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large"+Ext)
	raw := bytes.Repeat([]byte("0123456789abcdef"), 1<<20/4)
	frames := []tap.Frame{{Seq: 1, Lane: tap.ToClient, Raw: raw}}
	writeSample(t, path, frames, 100, tap.PartSize)
	content := readAll(t, path)
	whole := places(t, path)
	copy(content[whole.parts[1].off+100:], "destroyed")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(mustOpen(t, path).Frames(0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("Frames: %v", err)
	}
	s, r := mustSalvage(t, path)
	s.SetMaxRaw(1 << 20)
	for f, err := range s.Frames(0) {
		if err != nil || !f.Truncated || f.Size != 3<<20 || f.Whole() {
			t.Errorf("%s, %v", show(&f), err)
		}
		var out bytes.Buffer
		if err := s.WriteRaw(&out, f); err != nil || !bytes.Equal(out.Bytes(), raw[:3<<20]) {
			t.Errorf("%d bytes, %v", out.Len(), err)
		}
	}
	if r.Frames != 1 || r.Torn != 1 || len(r.Missing) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestSalvageHostile searches files that are crafted to waste time.
func TestSalvageHostile(t *testing.T) {
	dir := t.TempDir()
	var claim []byte // a segment that claims to reach to the end
	claim = append(claim, make([]byte, segmentHeader)...)
	copy(claim, segmentMagic)
	claim[44], claim[45], claim[46] = 0, 0, 0x10
	for name, content := range map[string][]byte{
		"magic":  bytes.Repeat([]byte(segmentMagic), 1<<18),
		"claims": bytes.Repeat(claim, 1<<16),
		"header": bytes.Repeat([]byte(`{"id":"`), 1<<18),
		"nested": bytes.Repeat([]byte(`{"id":"a","label":`), 1<<17),
	} {
		path := filepath.Join(dir, name+Ext)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := OpenSalvage(path)
		if err != nil {
			continue
		}
		if got, _ := collect(s.Frames(0)); len(got) > 0 {
			t.Errorf("%s: %d frames", name, len(got))
		}
	}
}
