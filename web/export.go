package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/recording"
)

// pageFormat is the recording as a page of its own.
var pageFormat = export.Format{Name: "html", Ext: "html", About: "a page to look at, without mcptap", MediaType: "text/html; charset=utf-8"}

// formats are all formats of package export, and a page.
var formats = append(slices.Clone(export.Formats), pageFormat)

// serveFormats is the handler of the forms in which recordings can be saved.
func (s *Server) serveFormats(w http.ResponseWriter, _ *http.Request) { answer(w, formats) }

// serveExport is the handler of a recording as a file.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("format")
	var format export.Format
	for _, f := range formats {
		if f.Name == name {
			format = f
		}
	}
	if format.Name == "" {
		fail(w, http.StatusBadRequest, fmt.Errorf("there is no format of that name"))
		return
	}
	reader, _, ok := s.open(w, r)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", format.MediaType)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="`+fileName(r.PathValue("key"))+"."+format.Ext+`"`)
	// An error after the first byte can only be told by a file that ends early,
	// which whoever reads it notices.
	cw := &countingWriter{w: w}
	write := func() error { return recording.Export(r.Context(), cw, format.Name, reader, s.version) }
	if format.Name == pageFormat.Name {
		write = func() error { return Offline(r.Context(), cw, reader) }
	}
	if err := write(); err != nil {
		if cw.n == 0 {
			h.Del("Content-Disposition")
			failWith(w, err)
			return
		}
		panic(http.ErrAbortHandler)
	}
}

type countingWriter struct {
	w http.ResponseWriter
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// fileName is a key as a file's name.
func fileName(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, key)
}
