// Package ndjson has the line form of a recording, which `mcptap export` writes: a
// line that describes it, a line a frame, and a line that ends it, so that a file
// cut short is noticed. Nothing is lost. All members but those marked optional are
// always there. A reader ignores members that it does not know.
package ndjson

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
)

// Version is the v of each line.
const Version = 1

// ErrNewer says that a file is of a version that this program does not know.
var ErrNewer = errors.New("newer than this mcptap")

// A Header is the first line. Its Type is "recording".
type Header struct {
	V         int         `json:"v"`
	Type      string      `json:"type"`
	ID        string      `json:"id"`
	Label     string      `json:"label"`
	Start     time.Time   `json:"start"`
	Transport string      `json:"transport"`
	Command   []string    `json:"command,omitempty"`
	Upstream  string      `json:"upstream,omitempty"`
	Dir       string      `json:"dir,omitempty"`
	Program   string      `json:"program,omitempty"`
	Platform  string      `json:"platform,omitempty"`
	Status    string      `json:"status"`
	Gaps      []tap.Range `json:"gaps,omitempty"`
}

// NewHeader is the line for a recording.
func NewHeader(h tap.Header, status string, gaps []tap.Range) Header {
	return Header{
		V: Version, Type: "recording", ID: h.ID, Label: h.Label, Start: h.Start, Transport: h.Transport,
		Command: h.Command, Upstream: h.Upstream, Dir: h.Dir, Program: h.Program, Platform: h.Platform,
		Status: status, Gaps: gaps,
	}
}

// Recording is what the line says of the recording.
func (h *Header) Recording() tap.Header {
	return tap.Header{
		ID: h.ID, Label: h.Label, Start: h.Start, Transport: h.Transport,
		Command: h.Command, Upstream: h.Upstream, Dir: h.Dir, Program: h.Program, Platform: h.Platform,
	}
}

// A Frame is the line of a frame. Its Type is "frame", its Form "line" where it is
// missing. Exactly one of the two raws is there: base64 where the bytes are no
// UTF-8. Times are in nanoseconds.
type Frame struct {
	V         int             `json:"v"`
	Type      string          `json:"type"`
	Seq       uint64          `json:"seq"`
	At        int64           `json:"at_ns"`
	Took      int64           `json:"took_ns,omitempty"`
	Lane      string          `json:"lane"`
	Exchange  uint64          `json:"exchange,omitempty"`
	Form      string          `json:"form,omitempty"`
	Torn      bool            `json:"torn,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
	RawBase64 *string         `json:"raw_base64,omitempty"`
}

// An End is the last line. Its Type is "end"; At is in nanoseconds, Frames how many
// frame lines there are.
type End struct {
	V      int    `json:"v"`
	Type   string `json:"type"`
	At     int64  `json:"at_ns"`
	Status string `json:"status"`
	Frames uint64 `json:"frames"`
}

// decode is the frame of a line.
func (j *Frame) decode() (tap.Frame, error) {
	lane, err := tap.ParseLane(j.Lane)
	if err != nil {
		return tap.Frame{}, err
	}
	f := tap.Frame{Seq: j.Seq, At: time.Duration(j.At), Took: time.Duration(j.Took),
		Lane: lane, Exchange: j.Exchange, Torn: j.Torn}
	if j.Form != "" {
		if f.Form, err = tap.ParseForm(j.Form); err != nil {
			return f, err
		}
	}
	switch {
	case (j.Raw == nil) == (j.RawBase64 == nil):
		return f, errors.New("a frame must have raw or raw_base64")
	case j.Raw != nil:
		f.Raw, err = escape.Unquote(j.Raw)
	default:
		f.Raw, err = base64.StdEncoding.DecodeString(*j.RawBase64)
	}
	f.Size = int64(len(f.Raw))
	return f, err
}

// quote puts a file's words into an error message.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		return fmt.Sprintf("%.200q…", s)
	}
	return fmt.Sprintf("%q", s)
}
