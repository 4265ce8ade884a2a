package web

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/mcptap/mcptap/diff/report"
	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// A Source provides the recordings that the viewer shows. Its methods are safe for concurrent use.
type Source interface {
	// Recordings describes the recordings, newest first.
	Recordings() ([]Recording, error)
	// Open opens a recording by its Key. The error is [io/fs.ErrNotExist] if there is no such
	// recording.
	Open(key string) (Reader, error)
	// Compare compares two recordings, or sessions of them. It stops early when ctx ends.
	Compare(ctx context.Context, a, b Side) (*Comparison, error)
}

// A Recording describes a recording without its frames. Its texts come from the wire and from command
// lines, unescaped.
type Recording struct {
	store.Info
	// Key identifies the recording in the viewer's URLs.
	Key string
	// Arg names the recording in commands, or is "" for its ID.
	Arg string
}

// A Reader reads one recording.
type Reader struct {
	FrameReader
	Key, Arg string // see [Recording]
}

// Recording describes the recording as it is now.
func (r Reader) Recording() (Recording, error) {
	info, err := r.Info()
	return Recording{info, r.Key, r.Arg}, err
}

// A FrameReader reads the frames of a recording, such as a [store.Recording], which may still be
// growing. It keeps nothing open between calls.
type FrameReader interface {
	recording.Source
	// Frame returns one frame, with Raw truncated if it is large.
	Frame(seq uint64) (tap.Frame, error)
	// Follow yields the frames with numbers above after until the recording or ctx ends.
	Follow(ctx context.Context, after uint64) iter.Seq2[tap.Frame, error]
}

// recordingJSON describes a recording for the page. Its texts are escaped.
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
	Server    session.Party      `json:"server"`
	Client    session.Party      `json:"client"`
	Revision  string             `json:"revision,omitempty"`
	Requested string             `json:"requested,omitempty"`
	Dialect   string             `json:"dialect,omitempty"`
	Probe     bool               `json:"probe,omitempty"`
	ReplayOf  string             `json:"replay_of,omitempty"` // the id of the replayed recording
	Frames    session.LaneCounts `json:"frames"`
	Errors    uint64             `json:"errors"`
	Exit      string             `json:"exit,omitempty"` // how the server failed
	Last      uint64             `json:"last"`
	Gaps      []tap.Range        `json:"gaps,omitempty"`
	Sessions  uint64             `json:"sessions,omitempty"`
	Duration  int64              `json:"duration"` // ns
	// Now is the time since the start of a live recording, in ns.
	Now  int64 `json:"now,omitempty"`
	Size int64 `json:"size"`
}

func briefParty(p session.Party) session.Party {
	return session.Party{Name: brief(p.Name), Version: brief(p.Version), Title: brief(p.Title)}
}

// Limits of a recordingJSON.
const (
	maxArgs = 64 // of the command
	maxGaps = 100
)

func newRecordingJSON(r *Recording) *recordingJSON {
	h, f := &r.Header, &r.Tally.Facts
	j := &recordingJSON{
		Key: r.Key, ID: brief(h.ID), Arg: r.Arg, Path: escape.String(r.Path), Label: brief(h.Label), Start: h.Start,
		Transport: brief(h.Transport), Upstream: brief(h.Upstream), Status: r.Status.String(),
		Server: briefParty(f.Server), Client: briefParty(f.Client), Revision: brief(string(f.Revision)),
		Requested: brief(string(f.Requested)), Dialect: brief(f.Dialect), Probe: f.Probe, ReplayOf: brief(h.ReplayOf), Frames: r.Tally.Frames,
		Errors: r.Tally.Errors, Exit: brief(r.Tally.Exit), Last: r.Info.Frames, Gaps: r.Gaps[:min(len(r.Gaps), maxGaps)], Sessions: uint64(r.Tally.Sessions),
		Duration: int64(r.Duration), Size: r.Size,
	}
	if r.Err != nil {
		j.Problem = escape.String(r.Err.Error())
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
func (s *Server) serveList(w http.ResponseWriter, _ *http.Request) error {
	all, err := s.source.Recordings()
	if err != nil {
		return refuse(http.StatusInternalServerError, err)
	}
	list := make([]*recordingJSON, len(all))
	for i := range all {
		list[i] = newRecordingJSON(&all[i])
	}
	return respond(w, map[string][]*recordingJSON{"recordings": list})
}

// A Comparison compares two recordings side by side, as `mcptap diff` does.
type Comparison struct {
	// Sessions are the paired sessions, in order.
	Sessions []*report.Sides `json:"sessions"`
	// Unpaired are the sessions that only one recording has.
	Unpaired []Unpaired `json:"unpaired"`
}

// An Unpaired is a session without a counterpart.
type Unpaired struct {
	// Side is the recording that has the session, a or b.
	Side string `json:"side"`
	Name string `json:"name"`
}

// A Side selects a recording by its key, and one of its sessions by number, 0 for all.
type Side struct {
	Key     string
	Session int
}

// serveCompare compares two recordings. The query has their keys in a and b, and the numbers of their
// sessions in as and bs.
func (s *Server) serveCompare(w http.ResponseWriter, r *http.Request) error {
	var sides [2]Side
	var recs [2]*recordingJSON
	q := r.URL.Query()
	for i, name := range []string{"a", "b"} {
		number, err := sessionNumber(q.Get(name + "s"))
		if err != nil {
			return err
		}
		sides[i] = Side{q.Get(name), number}
		reader, err := s.source.Open(sides[i].Key)
		if err != nil {
			return err
		}
		rec, err := reader.Recording()
		if err != nil {
			return err
		}
		recs[i] = newRecordingJSON(&rec)
	}
	c, err := s.source.Compare(r.Context(), sides[0], sides[1])
	if err != nil {
		return err
	}
	for i := range c.Unpaired {
		c.Unpaired[i].Name = escape.String(c.Unpaired[i].Name)
	}
	return respond(w, struct {
		*Comparison
		A *recordingJSON `json:"a"`
		B *recordingJSON `json:"b"`
	}{c, recs[0], recs[1]})
}
