package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
)

// jsonRow is a frame in `show --json`. The names are stable.
type jsonRow struct {
	V        int    `json:"v"`
	Type     string `json:"type"` // "row"; "frame" with the bytes
	Seq      uint64 `json:"seq"`
	At       int64  `json:"at_ns"`
	Took     int64  `json:"took_ns,omitempty"`
	Lane     string `json:"lane"`
	Exchange uint64 `json:"exchange,omitempty"`
	Kind     string `json:"kind"`
	Event    string `json:"event,omitempty"`
	jsonID
	Method string     `json:"method,omitempty"` // of a response: its request's
	About  string     `json:"about,omitempty"`
	Failed bool       `json:"failed,omitempty"`
	Fault  string     `json:"fault,omitempty"`
	Torn   bool       `json:"torn,omitempty"`
	Size   int64      `json:"size"`
	Links  []jsonLink `json:"links,omitempty"`
}

// jsonLink is what a request or a response in the frame has to do with others.
type jsonLink struct {
	Link    string `json:"link"`            // see tap.LinkKind
	Index   int    `json:"index,omitempty"` // in a batch
	Request uint64 `json:"request,omitempty"`
	// RequestIndex is the request's place in a batch.
	RequestIndex int `json:"request_index,omitempty"`
	// Response is the frame that answers, known only of a single frame.
	Response uint64 `json:"response,omitempty"`
	Latency  *int64 `json:"latency_ns,omitempty"`
}

// jsonID is the id of a message, in at most one of three forms. Ids are the only
// recorded JSON that is put into JSON as it stands; all else goes out as strings
// of our own making. As it stands an id distinguishes 1, 1.0 and "1", but a
// string may hold half a surrogate pair ("\ud800"), which the grammar of JSON
// allows and strict parsers refuse with the whole line, or bytes that are no
// UTF-8. To put a replacement character there would make different ids look the
// same.
type jsonID struct {
	// ID is the id as it stands, where every parser takes it. An id that was too
	// long to keep has none.
	ID json.RawMessage `json:"id,omitempty"`
	// Raw is what stands in the message otherwise, quotes and escapes included,
	// as text: "\"\\ud800\"".
	Raw string `json:"id_raw,omitempty"`
	// Base64 is the same where it is not even UTF-8.
	Base64 []byte `json:"id_base64,omitempty"`
}

func newJSONID(id []byte) (j jsonID) {
	switch {
	case !json.Valid(id): // it may have been cut
	case !utf8.Valid(id):
		j.Base64 = id
	case id[0] == '"' && !unquotes(id):
		j.Raw = string(id)
	default:
		j.ID = id
	}
	return j
}

// unquotes reports whether a JSON string has an exact value.
func unquotes(token []byte) bool {
	_, err := unquote(bytes.Clone(token)) // it works in place
	return err == nil
}

func newJSONRow(r *row, kind string) jsonRow {
	f := r.frame
	j := jsonRow{
		V: jsonVersion, Type: kind, Seq: f.Seq, At: int64(f.At), Took: int64(f.Took), Lane: f.Lane.String(),
		Exchange: f.Exchange, Kind: r.kind, Method: r.method, About: r.about,
		Failed: r.failed, Fault: r.fault, Torn: f.Torn, Size: f.Size,
	}
	if f.Lane == tap.Life {
		j.Kind, j.Event = "life", r.kind
	}
	j.jsonID = newJSONID(r.id)
	for _, l := range r.links {
		out := jsonLink{Link: l.Kind.String(), Index: l.Message.Index}
		if l.Kind != tap.Opens {
			out.Request, out.RequestIndex = l.Request.Seq, l.Request.Index
		}
		if l.Kind == tap.Answers || l.Kind == tap.Repeats {
			ns := int64(l.Latency)
			out.Latency = &ns
		}
		j.Links = append(j.Links, out)
	}
	return j
}

// jsonRows prints rows for a program.
type jsonRows struct{ w *bufio.Writer }

func (p *jsonRows) row(r *row) error { return writeJSON(p.w, newJSONRow(r, "row")) }

func (p *jsonRows) end(v *viewer, info store.Info) error {
	for _, r := range v.pairer.Open() {
		line := struct {
			V     int    `json:"v"`
			Type  string `json:"type"`
			Seq   uint64 `json:"seq"`
			Index int    `json:"index,omitempty"`
			Lane  string `json:"lane"`
			At    int64  `json:"at_ns"`
			jsonID
			Method string `json:"method"`
		}{jsonVersion, "unanswered", r.Ref.Seq, r.Ref.Index, r.Lane.String(), int64(r.At), newJSONID(r.ID), r.Method}
		if err := writeJSON(p.w, line); err != nil {
			return err
		}
	}
	return writeJSON(p.w, struct {
		V        int         `json:"v"`
		Type     string      `json:"type"`
		Frames   uint64      `json:"frames"`
		Bytes    int64       `json:"bytes"`
		Errors   uint64      `json:"errors"`
		Duration int64       `json:"duration_ns"`
		Status   string      `json:"status"`
		Gaps     []tap.Range `json:"gaps,omitempty"`
	}{jsonVersion, "summary", v.counts.frames, v.counts.bytes, v.counts.errors, int64(info.Duration), info.Status.String(), info.Gaps})
}

func writeJSON(w io.Writer, v any) error {
	b, err := safeJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// writeJSONFrame prints one frame with its bytes, which may be too many to hold.
func writeJSONFrame(w *bufio.Writer, one *oneFrame, raw func(io.Writer, tap.Frame) error) error {
	text, err := isText(*one.row.frame, raw)
	if err != nil {
		return err
	}
	j := newJSONRow(&one.row, "frame")
	for i := range j.Links {
		if l := &j.Links[i]; l.Link == tap.Opens.String() || l.Link == tap.Clashes.String() {
			if a, ok := one.answers[l.Index]; ok {
				ns := int64(a.Latency)
				l.Response, l.Latency = a.Message.Seq, &ns
			}
		}
	}
	b, err := safeJSON(struct {
		jsonRow
		Time time.Time `json:"time"`
	}{j, one.time})
	if err != nil {
		return err
	}
	if _, err := w.Write(b[:len(b)-1]); err != nil {
		return err
	}
	if err := writeRawMember(w, *one.row.frame, text, raw); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "}")
	return err
}
