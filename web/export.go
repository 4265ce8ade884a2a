package web

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/recording"
)

// pageFormat is the recording as a self-contained page.
var pageFormat = export.Format{
	Name: "html", Ext: "html", About: "a self-contained page, without mcptap", MediaType: "text/html; charset=utf-8",
}

// formats are those of package export, and the page.
var formats = append(slices.Clone(export.Formats), pageFormat)

// serveFormats sends the formats in which a recording can be saved.
func (s *Server) serveFormats(w http.ResponseWriter, _ *http.Request) { respond(w, formats) }

// serveExport sends a recording as a file.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("format")
	i := slices.IndexFunc(formats, func(f export.Format) bool { return f.Name == name })
	if i < 0 {
		fail(w, http.StatusBadRequest, errors.New("unknown format"))
		return
	}
	reader, _, ok := s.open(w, r)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", formats[i].MediaType)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="`+fileName(r.PathValue("key"))+"."+formats[i].Ext+`"`)
	cw := &countingWriter{w: w}
	var err error
	if name == pageFormat.Name {
		err = Offline(r.Context(), cw, reader)
	} else {
		err = recording.Export(r.Context(), cw, name, reader, s.version)
	}
	if err == nil {
		return
	}
	if cw.n > 0 { // an error can only be shown by a file that ends early
		panic(http.ErrAbortHandler)
	}
	h.Del("Content-Disposition")
	failSource(w, err)
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// fileName makes a file name of a key.
func fileName(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, key)
}
