package web

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxPiece is how many bytes of a frame one response has, unless it is a download.
const maxPiece = 8 << 20

// serveBytes sends the bytes of a frame or of its payload, between the offsets from and
// to. A browser that opens the URL saves it as a file.
func (s *Server) serveBytes(w http.ResponseWriter, r *http.Request) {
	reader, f, ok := s.open(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	if q.Get("part") == "payload" && f.Whole() {
		f.Raw = jsonrpc.Payload(&f)
		f.Size = int64(len(f.Raw))
	}
	from, to, err := offsets(q.Get("from"), q.Get("to"), max(f.Size, int64(len(f.Raw))))
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	if !q.Has("download") {
		to = min(to, from+maxPiece)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="frame-`+strconv.FormatUint(f.Seq, 10)+`.bin"`)
	if f.Whole() {
		_, _ = w.Write(f.Raw[from:to])
		return
	}
	// After the first byte an error cannot be sent. The page notices that bytes are missing.
	_ = reader.WriteRaw(&sectionWriter{w: w, from: from, to: to}, f)
}

// offsets parses two offsets within size bytes. The defaults are all bytes.
func offsets(from, to string, size int64) (int64, int64, error) {
	a, errA := strconv.ParseInt(cmp.Or(from, "0"), 10, 64)
	b, errB := strconv.ParseInt(cmp.Or(to, strconv.FormatInt(size, 10)), 10, 64)
	if errA != nil || errB != nil || a < 0 || b < a {
		return 0, 0, errors.New("from and to must be offsets in bytes")
	}
	return min(a, size), min(b, size), nil
}

// A sectionWriter passes on the bytes between two offsets, and then fails.
type sectionWriter struct {
	w            io.Writer
	at, from, to int64
}

func (s *sectionWriter) Write(b []byte) (int, error) {
	from, to := max(s.from-s.at, 0), min(s.to-s.at, int64(len(b)))
	s.at += int64(len(b))
	if from < to {
		if _, err := s.w.Write(b[from:to]); err != nil {
			return 0, err
		}
	}
	if s.at >= s.to {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}
