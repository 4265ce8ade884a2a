package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// pageFormat is the format of a self-contained page.
var pageFormat = export.Format{
	Name: "html", Ext: "html", About: "a self-contained page, without mcptap", MediaType: "text/html; charset=utf-8",
}

// formats are the formats of package export, and the page.
var formats = append(slices.Clone(export.Formats), pageFormat)

// serveFormats sends the list of formats in which a recording can be saved.
func (s *Server) serveFormats(w http.ResponseWriter, _ *http.Request) error {
	return respond(w, formats)
}

// serveExport sends a recording as a file.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("format")
	i := slices.IndexFunc(formats, func(f export.Format) bool { return f.Name == name })
	if i < 0 {
		return refuse(http.StatusBadRequest, errors.New("unknown format"))
	}
	reader, err := s.source.Open(r.PathValue("key"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", formats[i].MediaType)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", `attachment; filename="`+fileName(r.PathValue("key"))+"."+formats[i].Ext+`"`)
	cw := &countingWriter{w: w}
	if name == pageFormat.Name {
		err = Offline(r.Context(), cw, reader)
	} else {
		err = recording.Export(r.Context(), cw, name, reader, s.version)
	}
	if err != nil && cw.n > 0 { // now only a truncated file can signal the error
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		h.Del("Content-Disposition")
	}
	return err
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

// fileName derives a file name from a key.
func fileName(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, key)
}

// Limits of a saved page: the first frames, and a prefix of each.
const (
	maxSavedFrames  = 20_000
	maxSavedBytes   = 24 << 20
	maxSavedFrame   = 256 << 10
	maxSavedChanges = 20 // between the previous row and a row
)

// savedJSON is the data of a saved page.
type savedJSON struct {
	Recording *recordingJSON          `json:"recording"`
	Messages  []message               `json:"messages"`
	Frames    map[uint64]savedFrame   `json:"frames"`
	Heads     map[uint64]*headsJSON   `json:"heads,omitempty"`
	Changes   map[uint64]*changesJSON `json:"changes,omitempty"`
	Stats     *statsJSON              `json:"stats"`
	Findings  *findingsJSON           `json:"findings,omitempty"` // only for a whole recording
	// Left is the number of frames that the page does not have.
	Left uint64 `json:"left,omitempty"`

	room int // left for bytes of frames
}

type savedFrame struct {
	detailJSON
	Raw  []byte `json:"raw"`            // at most maxSavedFrame bytes
	Data []byte `json:"data,omitempty"` // the payload, unless it equals Raw
}

// Offline writes a recording as a self-contained page, which needs no server and no other file. It has
// the viewer's list, sequence, statistics, findings and details. The filter, which needs the server, is
// replaced by a text search.
func Offline(ctx context.Context, w io.Writer, r Reader) error {
	data, err := gatherSaved(ctx, r)
	if err != nil {
		return err
	}
	script, style := bundle("saved", "saved_source"), sheets("style", "list", "detail")
	b, err := json.Marshal(data) // this escapes <, > and &
	if err != nil {
		return err
	}
	// Not parsed globally, which would slow down the start of every tap.
	page := template.Must(template.New("saved").Parse(savedText))
	return page.Execute(w, map[string]any{
		"Policy": template.HTMLAttr(`content="` + savedPolicy(script, style) + `"`),
		"Title":  data.Recording.Label, "Style": template.CSS(style),
		"Data": template.JS(b), "Script": template.JS(script),
	})
}

// savedPolicy allows only the page's own script and style.
func savedPolicy(script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

const savedText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" {{.Policy}}>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}} · mcptap</title>
<style>{{.Style}}</style>
</head>
<body>
<div id="top" role="banner"></div>
<div id="page"></div>
<div id="announce" class="offstage" role="status" aria-live="polite"></div>
<script type="application/json" id="data">{{.Data}}</script>
<script>{{.Script}}</script>
</body>
</html>
`

// gatherSaved reads the data of the page.
func gatherSaved(ctx context.Context, r Reader) (*savedJSON, error) {
	rec, err := r.Recording()
	if err != nil {
		return nil, err
	}
	rec.Arg = "" // it is only valid on this machine
	g, err := newGatherer(viewOptions{}, &seen{})
	if err != nil {
		return nil, err
	}
	s := &savedJSON{
		Recording: newRecordingJSON(&rec), Frames: map[uint64]savedFrame{}, Heads: map[uint64]*headsJSON{},
		Changes: map[uint64]*changesJSON{}, room: maxSavedBytes,
	}
	s.Messages = append(s.Messages, message{Recording: s.Recording})
	stats, checker := session.NewStats("", maxSlowest), check.New(check.Rules())
	end := rec.Duration
	for f, err := range r.Frames(0) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if len(s.Frames) == maxSavedFrames || s.room <= 0 {
			s.Left, end = rec.Info.Frames-uint64(len(s.Frames)), g.last
			break
		}
		e := g.add(&f)
		checker.Add(e)
		for _, c := range e.Ended {
			stats.Add(c)
		}
		for _, c := range e.CutOff {
			stats.CutOff(c)
		}
		s.flush(g, maxRows)
		s.addFrame(&rec, &f)
	}
	s.flush(g, 1)
	open := g.tracker.Open()
	all := len(open)
	if s.Left > 0 {
		waits := func(c *session.Call) bool { return c.Status.Unanswered() && c.Until(end+1) > end }
		open = slices.DeleteFunc(open, waits)
	}
	stats.Finish(open, end)
	s.Stats = newStatsJSON(stats, end, r)
	s.Stats.Open = all - len(open)
	if s.Left == 0 {
		s.Findings = newFindingsJSON(checker.Report(open))
	}
	s.addChanges()
	s.Messages = append(s.Messages, message{Read: rec.Info.Frames, Idle: true, Done: true})
	return s, nil
}

// flush adds messages while at least least rows and updates are pending.
func (s *savedJSON) flush(g *gatherer, least int) {
	for g.pending() >= least {
		rows, updates := g.take(maxRows)
		s.Messages = append(s.Messages, message{Rows: slices.Clone(rows), Updates: slices.Clone(updates)})
	}
}

func (s *savedJSON) addFrame(rec *Recording, f *tap.Frame) {
	saved := savedFrame{detailJSON: *newDetail(rec, f), Raw: f.Raw[:min(len(f.Raw), maxSavedFrame)]}
	if saved.Payload > 0 {
		data := jsonrpc.Payload(f)
		saved.Data = data[:min(len(data), maxSavedFrame)]
	}
	s.room -= len(saved.Raw) + len(saved.Data)
	s.Frames[f.Seq] = saved
	if f.Exchange == 0 {
		return
	}
	if s.Heads[f.Exchange] == nil {
		s.Heads[f.Exchange] = &headsJSON{}
	}
	s.Heads[f.Exchange].add(f, f.Exchange)
}

// addChanges compares each row with the previous one of the same kind.
func (s *savedJSON) addChanges() {
	for _, m := range s.Messages {
		for _, row := range m.Rows {
			after, before := s.Frames[uint64(row.ID>>indexBits)], s.Frames[uint64(row.Previous>>indexBits)]
			if row.Previous != 0 && after.Size <= maxSavedFrame && before.Size <= maxSavedFrame {
				s.Changes[after.Seq] = compareFrames(before.payload(), after.payload(), maxSavedChanges)
			}
		}
	}
}

func (f *savedFrame) payload() []byte {
	if f.Data != nil {
		return f.Data
	}
	return f.Raw
}
