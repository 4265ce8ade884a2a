package streamable

import (
	"bytes"
	stdflate "compress/flate"
	stdgzip "compress/gzip"
	stdzlib "compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/tap"
)

// A flusher is a compressor that can flush its output.
type flusher interface {
	io.WriteCloser
	Flush() error
}

var compressors = map[string]func(io.Writer) flusher{
	"gzip": func(w io.Writer) flusher { return stdgzip.NewWriter(w) },
	"br":   func(w io.Writer) flusher { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) flusher {
		z, err := zstd.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return z
	},
	"deflate": func(w io.Writer) flusher { return stdzlib.NewWriter(w) },
	"raw deflate": func(w io.Writer) flusher {
		f, err := stdflate.NewWriter(w, 6)
		if err != nil {
			panic(err)
		}
		return f
	},
}

func compress(t testing.TB, coding string, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := compressors[coding](&b)
	_, err := w.Write(p)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

func headerName(coding string) string { return strings.TrimPrefix(coding, "raw ") }

// answered plays one request and the head of its response.
func answered(t testing.TB, cut func(int) int, head string) *lanes {
	l := newLanes(t, nil, cut)
	l.client([]byte("POST /mcp HTTP/1.1\r\nHost: evil\r\nContent-Length: 2\r\n\r\n{}"))
	l.server([]byte("HTTP/1.1 200 OK\r\n" + head + "\r\n\r\n"))
	return l
}

func (l *lanes) lastEnd(t testing.TB) tap.Event {
	t.Helper()
	ends := l.rec.events(tap.EventEnd)
	if len(ends) == 0 {
		t.Fatal("no end was recorded")
	}
	return ends[len(ends)-1]
}

func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"result":{"content":"%x"}}`, r.IntN(1000), r.Uint64())
	}
	return b.Bytes()[:n]
}

// A decoded copy is recorded; the forwarded bytes are unchanged.
func TestContentCodings(t *testing.T) {
	for coding := range compressors {
		for _, size := range []int{1, 100, 300_000} {
			for name, way := range ways {
				if size > 1000 && name == "single" {
					continue // slow, and no different
				}
				t.Run(fmt.Sprint(coding, " ", size, " ", name), func(t *testing.T) {
					body := text(size)
					coded := compress(t, coding, body)
					l := answered(t, way(1), "Content-Encoding: "+headerName(coding)+"\r\nContent-Length: "+fmt.Sprint(len(coded)))
					l.server(coded)
					if got := l.rec.joined(1, tap.ToClient, tap.FormBody); !bytes.Equal(got, body) {
						t.Errorf("recorded %d bytes, want %d", len(got), len(body))
					}
					if !bytes.HasSuffix(l.toDwn, coded) {
						t.Error("the forwarded bytes were changed")
					}
					e := l.lastEnd(t)
					if e.Coding != headerName(coding) || e.Error != "" || e.BytesDown != uint64(len(coded)) {
						t.Errorf("ended with %+v", e)
					}
				})
			}
		}
	}
}

// Each event of a compressed stream is recorded when its last byte arrives.
func TestCodedEventsAreRecordedAsTheyCome(t *testing.T) {
	for coding := range compressors {
		t.Run(coding, func(t *testing.T) {
			l := answered(t, ways["whole"](0), "Content-Type: text/event-stream\r\nContent-Encoding: "+headerName(coding))
			var b bytes.Buffer
			w := compressors[coding](&b)
			for i := range 5 {
				event := fmt.Sprintf("id: %d\ndata: %s\n\n", i, text(50))
				_, err := io.WriteString(w, event)
				must(t, err)
				must(t, w.Flush())
				l.server(b.Bytes())
				b.Reset()
				frames := l.rec.all()
				last := frames[len(frames)-1]
				if last.form != tap.FormEvent || string(last.data) != event || !last.ended {
					t.Fatalf("event %d: the last that was recorded is %v %q", i, last.form, last.data)
				}
			}
			l.end(byServer, true)
		})
	}
}

// A body that cannot be decoded is recorded as it is, and the end reports that.
func TestUndecodable(t *testing.T) {
	body := text(200_000)
	gz := compress(t, "gzip", body)
	broken := bytes.Clone(gz)
	for i := len(broken) / 2; i < len(broken)/2+100; i++ {
		broken[i] ^= 0x55
	}
	bomb := compress(t, "gzip", make([]byte, 64<<20))
	for name, tc := range map[string]struct {
		coding  string
		body    []byte
		as      tap.Form // of the rest
		want    string   // in the end's error
		decoded int      // at least, and at most
		atMost  int
	}{
		"unknown":     {"exi", body, tap.FormBody, `"exi" is unknown`, 0, 0},
		"not gzip":    {"gzip", body, tap.FormBody, "gzip: invalid header", 0, 0},
		"not brotli":  {"br", []byte(strings.Repeat("\xff", 100)), tap.FormBody, "brotli", 0, 0},
		"not zstd":    {"zstd", body, tap.FormBody, "magic number mismatch", 0, 0},
		"not deflate": {"deflate", []byte("\x78\x9c\xff\xff\xff\xff"), tap.FormBody, "corrupt", 0, 0},
		"cut off":     {"gzip", gz[:len(gz)/2], tap.FormBytes, "unexpected EOF", 50_000, 200_000},
		"corrupt":     {"gzip", broken, tap.FormBytes, "further", 50_000, 200_000},
		"and more":    {"zstd", append(compress(t, "zstd", []byte("x")), "yyyy"...), tap.FormBytes, "further", 1, 1},
		"a bomb":      {"gzip", bomb, tap.FormBytes, "too many times its size", bombFree, bombFree + 1<<20},
		"too many":    {"gzip, br, gzip, br, gzip", body, tap.FormBody, "5 nested codings", 0, 0},
		"one of two":  {"exi, gzip", body, tap.FormBody, `"exi" is unknown`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := answered(t, func(n int) int { return min(n, 4096) }, "Connection: close\r\nContent-Encoding: "+tc.coding)
			l.server(tc.body)
			l.end(byServer, true)
			e := l.lastEnd(t)
			if !strings.Contains(e.Error, tc.want) || !strings.HasPrefix(tc.coding, e.Coding) {
				t.Errorf("ended with coding %q, error %q", e.Coding, e.Error)
			}
			rest := l.rec.joined(1, tap.ToClient, tc.as)
			if !bytes.HasSuffix(tc.body, rest) || tc.as == tap.FormBody && len(rest) != len(tc.body) {
				t.Errorf("%d undecoded bytes were recorded, which are not part of the %d that crossed", len(rest), len(tc.body))
			}
			if tc.as == tap.FormBytes {
				n := len(l.rec.joined(1, tap.ToClient, tap.FormBody))
				if n < tc.decoded || n > tc.atMost {
					t.Errorf("%d bytes were decoded, want %d to %d", n, tc.decoded, tc.atMost)
				}
			}
			for _, f := range l.rec.all() {
				if !f.ended {
					t.Errorf("a %v did not end", f.form)
				}
			}
		})
	}
}

// Nested codings, as a list, as several fields, and as transfer codings.
func TestNestedCodings(t *testing.T) {
	body := text(10_000)
	inner := compress(t, "gzip", body)
	outer := compress(t, "br", inner)
	for _, head := range []string{
		"Content-Encoding: x-gzip, identity, br",
		"Content-Encoding: gzip\r\ncontent-encoding: BR",
		"Content-Encoding: gzip\r\nTransfer-Encoding: br",
	} {
		l := answered(t, randomCuts(3), head)
		l.server(outer)
		l.end(byServer, true)
		if got := l.rec.joined(1, tap.ToClient, tap.FormBody); !bytes.Equal(got, body) || l.lastEnd(t).Error != "" {
			t.Errorf("%q: recorded %d bytes, want %d; %s", head, len(got), len(body), l.lastEnd(t).Error)
		}
	}
}

// A request's body is decoded too, and the end names both codings.
func TestCodedRequest(t *testing.T) {
	coded := compress(t, "gzip", []byte(`{"id":1}`))
	l := newLanes(t, nil, ways["single"](0))
	l.client(fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: evil\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(coded), coded))
	back := compress(t, "br", []byte(`{"id":2}`))
	l.server(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %d\r\n\r\n%s", len(back), back))
	up, down := l.rec.joined(1, tap.ToServer, tap.FormBody), l.rec.joined(1, tap.ToClient, tap.FormBody)
	if string(up) != `{"id":1}` || string(down) != `{"id":2}` || l.lastEnd(t).Coding != "gzip, br" {
		t.Errorf("recorded %q, %q, %+v", up, down, l.lastEnd(t))
	}
}

// A body that may hold tokens and cannot be masked is not recorded.
func TestSecretBodiesThatCannotBeMasked(t *testing.T) {
	const mostSecret = 64 << 10
	token := []byte(`{"access_token":"s3cret"}`)
	gz := compress(t, "gzip", token)
	for name, tc := range map[string]struct {
		coding string
		body   []byte
		want   string // recorded
	}{
		"decoded":     {"gzip", gz, `{"access_token":"masked:`},
		"not text":    {"exi", []byte("\xff" + `{"access_token":"s3cret"}`), ""},
		"unknown":     {"exi", token, `{"access_token":"masked:`},
		"not gzip":    {"gzip", token, `{"access_token":"masked:`},
		"cut off":     {"gzip", gz[:len(gz)-9], `{"access_token":"masked:`},
		"too long":    {"identity", append(bytes.Repeat([]byte(" "), mostSecret), token...), ""},
		"just enough": {"identity", append(bytes.Repeat([]byte(" "), mostSecret-len(token)), token...), `{"access_token":"masked:`},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLanes(t, nil, randomCuts(1))
			l.client([]byte("POST /token HTTP/1.1\r\nHost: evil\r\nContent-Length: 0\r\n\r\n"))
			l.server(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: %s\r\nConnection: close\r\n\r\n%s", tc.coding, tc.body))
			l.end(byServer, true)
			got := strings.TrimSpace(string(l.rec.joined(1, tap.ToClient, tap.FormBody)))
			if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("recorded %q", got)
			}
			if strings.Contains(l.rec.everything(), "s3cret") {
				t.Error("the secret is in the recording")
			}
			if tc.want == "" && !strings.Contains(l.lastEnd(t).Error, "not recorded") || name == "cut off" && !strings.Contains(l.lastEnd(t).Error, "could not be decoded further") {
				t.Errorf("not reported: %q", l.lastEnd(t).Error)
			}
		})
	}
}
