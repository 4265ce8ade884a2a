package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// What of a recording goes into a page that is saved: its first frames, and the
// beginning of each.
const (
	maxSavedFrames = 20_000
	maxSavedBytes  = 24 << 20
	maxSavedFrame  = 256 << 10
	// maxSavedChanges is how many differences between a frame and the one before
	// it are kept.
	maxSavedChanges = 20
)

// savedJSON is the data of a saved page.
type savedJSON struct {
	Recording *recordingJSON          `json:"recording"`
	Messages  []message               `json:"messages"`
	Frames    map[uint64]savedFrame   `json:"frames"`
	Heads     map[uint64]*headsJSON   `json:"heads,omitempty"`
	Changes   map[uint64]*changesJSON `json:"changes,omitempty"`
	Stats     *statsJSON              `json:"stats"`
	// Left is how many frames are not in the page.
	Left uint64 `json:"left,omitempty"`
}

type savedFrame struct {
	detailJSON
	Raw  []byte `json:"raw"`            // the beginning of it, where it is long
	Data []byte `json:"data,omitempty"` // the payload, where that is something else
}

// Offline writes a recording as one page that needs nobody: no server, no
// network, no other file. It has the viewer's own list, sequence, statistics and
// detail. In the place of the filter, whose language is not the page's, it has a
// search for text.
func Offline(ctx context.Context, w io.Writer, r Reader) error {
	data, err := gatherSaved(ctx, r)
	if err != nil {
		return err
	}
	script, err := bundle("saved", map[string]string{"source": "saved_source"})
	if err != nil {
		return err
	}
	style := sheets(savedSheets)
	b, err := json.Marshal(data) // in which <, > and & are spelled out
	if err != nil {
		return err
	}
	return savedPage().Execute(w, map[string]any{
		"Policy": template.HTMLAttr(`content="` + savedPolicy(script, style) + `"`),
		"Title":  data.Recording.Label, "Style": template.CSS(style),
		"Data": template.JS(b), "Script": template.JS(script),
	})
}

// savedPolicy allows the page its own script and style, and nothing else.
func savedPolicy(script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// savedPage is made when it is asked for: each start of a tap would pay for it.
func savedPage() *template.Template { return template.Must(template.New("saved").Parse(savedText)) }

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

// gatherSaved reads what goes into the page.
func gatherSaved(ctx context.Context, r Reader) (*savedJSON, error) {
	rec, err := r.Recording()
	if err != nil {
		return nil, err
	}
	g, err := newGatherer(r, viewOptions{}, &seen{})
	if err != nil {
		return nil, err
	}
	s := &savedJSON{Frames: map[uint64]savedFrame{}, Heads: map[uint64]*headsJSON{}, Changes: map[uint64]*changesJSON{}}
	stats := session.NewStats("", maxSlowest)
	last := time.Duration(0)
	room := maxSavedBytes
	for f, err := range r.Frames(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && (len(s.Frames) == maxSavedFrames || room <= 0) {
			s.Left = rec.Info.Frames - uint64(len(s.Frames))
			break
		}
		if err == nil {
			last = f.At
			err = s.add(r, g, stats, &f, &rec, &room)
		}
		if err != nil {
			return nil, err
		}
	}
	end := rec.Duration
	if s.Left > 0 {
		end = last
	}
	stats.Finish(g.tracker.Open(), end)
	s.Stats = newStatsJSON(stats, end)
	rec.Arg = "" // the page goes elsewhere
	s.Recording = newRecordingJSON(&rec)
	s.Messages = append([]message{{Recording: s.Recording}}, s.Messages...)
	for g.found() > 0 {
		s.take(g)
	}
	s.compare()
	s.Messages = append(s.Messages, message{Read: rec.Info.Frames, Idle: true, Done: true})
	return s, nil
}

func (s *savedJSON) take(g *gatherer) {
	rows, updates := g.take(maxRows)
	s.Messages = append(s.Messages, message{Rows: append([]row(nil), rows...), Updates: append([]update(nil), updates...)})
}

// add takes a frame into the page.
func (s *savedJSON) add(r Reader, g *gatherer, stats *session.Stats, f *tap.Frame, rec *Recording, room *int) error {
	for _, c := range g.add(f).Ended {
		stats.Add(c)
	}
	for g.found() >= maxRows {
		s.take(g)
	}
	d, err := newDetail(r, rec, f)
	if err != nil {
		return err
	}
	out := savedFrame{detailJSON: *d, Raw: f.Raw[:min(len(f.Raw), maxSavedFrame)]}
	if d.Payload > 0 {
		data := jsonrpc.Payload(f)
		out.Data = data[:min(len(data), maxSavedFrame)]
	}
	*room -= len(out.Raw) + len(out.Data)
	s.Frames[f.Seq] = out
	if f.Exchange != 0 {
		if s.Heads[f.Exchange] == nil {
			s.Heads[f.Exchange] = &headsJSON{}
		}
		s.Heads[f.Exchange].take(f, f.Exchange)
	}
	return nil
}

// compare compares each frame with the one before it of its sort.
func (s *savedJSON) compare() {
	for _, m := range s.Messages {
		for _, row := range m.Rows {
			after, before := s.Frames[uint64(row.ID>>indexBits)], s.Frames[uint64(row.Before>>indexBits)]
			if row.Before == 0 || after.Size > maxSavedFrame || before.Size > maxSavedFrame {
				continue
			}
			s.Changes[after.Seq] = compareFrames(before.payload(), after.payload(), maxSavedChanges)
		}
	}
}

func (f *savedFrame) payload() []byte {
	if f.Data != nil {
		return f.Data
	}
	return f.Raw
}
