package web

import (
	"net/http"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// recordingJSON is a recording for the page. Its texts are escaped.
type recordingJSON struct {
	Key       string             `json:"key"`
	ID        string             `json:"id"`
	Arg       string             `json:"arg,omitempty"` // see [Recording]
	Path      string             `json:"path"`
	Label     string             `json:"label"`
	Start     time.Time          `json:"start"`
	Transport string             `json:"transport,omitempty"`
	Command   []string           `json:"command,omitempty"`
	Upstream  string             `json:"upstream,omitempty"`
	Status    string             `json:"status"`
	Problem   string             `json:"problem,omitempty"`
	Server    partyJSON          `json:"server"`
	Client    partyJSON          `json:"client"`
	Revision  string             `json:"revision,omitempty"`
	Requested string             `json:"requested,omitempty"`
	Dialect   string             `json:"dialect,omitempty"`
	Probe     bool               `json:"probe,omitempty"`
	Frames    session.LaneCounts `json:"frames"`
	Errors    uint64             `json:"errors"`
	Last      uint64             `json:"last"`
	Gaps      []tap.Range        `json:"gaps,omitempty"`
	Sessions  uint64             `json:"sessions,omitempty"`
	Duration  int64              `json:"duration"` // ns
	// Now is the time since the start of a live recording, in ns.
	Now  int64 `json:"now,omitempty"`
	Size int64 `json:"size"`
}

type partyJSON struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Title   string `json:"title,omitempty"`
}

func newPartyJSON(p session.Party) partyJSON {
	return partyJSON{brief(p.Name), brief(p.Version), brief(p.Title)}
}

// Limits of a recordingJSON.
const (
	maxArgs = 64 // of its command
	maxGaps = 100
)

func newRecordingJSON(r *Recording) *recordingJSON {
	h, f := &r.Header, &r.Tally.Facts
	j := &recordingJSON{
		Key: r.Key, ID: brief(h.ID), Arg: r.Arg, Path: escape.String(r.Path), Label: brief(h.Label), Start: h.Start,
		Transport: brief(h.Transport), Upstream: brief(h.Upstream), Status: r.Status.String(), Problem: escape.String(r.problem()),
		Server: newPartyJSON(f.Server), Client: newPartyJSON(f.Client), Revision: brief(string(f.Revision)),
		Requested: brief(string(f.Requested)), Dialect: brief(f.Dialect), Probe: f.Probe, Frames: r.Tally.Frames,
		Errors: r.Tally.Errors, Last: r.Info.Frames, Gaps: r.Gaps[:min(len(r.Gaps), maxGaps)], Sessions: uint64(r.Tally.Sessions),
		Duration: int64(r.Duration), Size: r.Size,
	}
	if r.Status == store.Live {
		j.Now = int64(time.Since(h.Start))
	}
	for i, word := range h.Command {
		if i == maxArgs {
			j.Command = append(j.Command, "…")
			break
		}
		j.Command = append(j.Command, brief(word))
	}
	return j
}

// serveList sends the list of recordings.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	all, err := s.source.Recordings()
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	list := make([]*recordingJSON, len(all))
	for i := range all {
		list[i] = newRecordingJSON(&all[i])
	}
	respond(w, map[string][]*recordingJSON{"recordings": list})
}
