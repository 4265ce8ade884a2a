package web

import (
	"net/http"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// recordingJSON is a recording as it goes to the page. Its texts are escaped.
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
	Dir       string             `json:"dir,omitempty"`
	Program   string             `json:"program,omitempty"`
	Platform  string             `json:"platform,omitempty"`
	Status    string             `json:"status"`
	Problem   string             `json:"problem,omitempty"`
	Server    partyJSON          `json:"server"`
	Client    partyJSON          `json:"client"`
	Era       string             `json:"era,omitempty"`
	Revision  string             `json:"revision,omitempty"`
	Requested string             `json:"requested,omitempty"`
	Dialect   string             `json:"dialect,omitempty"`
	Probe     bool               `json:"probe,omitempty"`
	Frames    session.LaneCounts `json:"frames"`
	Bytes     session.LaneCounts `json:"bytes"`
	Errors    uint64             `json:"errors"`
	Last      uint64             `json:"last"`
	Gaps      []tap.Range        `json:"gaps,omitempty"`
	// Sessions is the number of sessions.
	Sessions uint64 `json:"sessions,omitempty"`
	Duration int64  `json:"duration"` // ns
	// Now is how long ago a live recording began, in ns.
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

// maxArgs is how many words of a command a page gets, and maxGaps how many gaps.
const (
	maxArgs = 64
	maxGaps = 100
)

func newRecordingJSON(r *Recording) *recordingJSON {
	h, f := &r.Header, &r.Tally.Facts
	j := &recordingJSON{
		Key: r.Key, ID: brief(h.ID), Arg: r.Arg, Path: escape.Escape(r.Path), Label: brief(h.Label), Start: h.Start,
		Transport: brief(h.Transport), Upstream: brief(h.Upstream), Dir: brief(h.Dir), Program: brief(h.Program),
		Platform: brief(h.Platform), Status: r.Status.String(), Problem: escape.Escape(r.problem()),
		Server: newPartyJSON(f.Server), Client: newPartyJSON(f.Client), Era: brief(string(f.Era)),
		Revision: brief(string(f.Revision)), Requested: brief(string(f.Requested)), Dialect: brief(f.Dialect), Probe: f.Probe,
		Frames: r.Tally.Frames, Bytes: r.Tally.Bytes, Errors: r.Tally.Errors, Last: r.Info.Frames,
		Gaps: r.Gaps[:min(len(r.Gaps), maxGaps)], Duration: int64(r.Duration), Size: r.Size,
	}
	if r.Status == store.Live {
		j.Now = int64(time.Since(h.Start))
	}
	j.Sessions = uint64(r.Tally.Sessions)
	for i, word := range h.Command {
		if i == maxArgs {
			j.Command = append(j.Command, "…")
			break
		}
		j.Command = append(j.Command, brief(word))
	}
	return j
}

// serveList is the handler of the list of recordings.
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
	answer(w, struct {
		Recordings []*recordingJSON `json:"recordings"`
	}{list})
}
