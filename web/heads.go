package web

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// headsAfter is how many frames are read to find the end of an HTTP exchange.
	headsAfter = 5_000
	// maxHeader is how many fields of a head a page gets, and maxField how many
	// bytes of each, and of the line above them.
	maxHeader = 200
	maxField  = 2048
)

// headsBefore are how many frames before one are read to find the request of its HTTP
// exchange: nearly always it is near.
var headsBefore = []uint64{100, 2_000, 20_000}

// headsJSON is what is known of the HTTP exchange of a frame. Each is nil where
// it was not found nearby.
type headsJSON struct {
	Request  *headJSON `json:"request,omitempty"`
	Response *headJSON `json:"response,omitempty"`
	End      *headJSON `json:"end,omitempty"`
}

// headJSON is an event of the exchange, with its texts escaped.
type headJSON struct {
	Seq    uint64      `json:"seq"`
	At     int64       `json:"at"`
	Line   string      `json:"line"`
	Header [][2]string `json:"header,omitempty"`
	Masked []string    `json:"masked,omitempty"`
	Error  string      `json:"error,omitempty"`
	By     string      `json:"by,omitempty"`
	Coding string      `json:"coding,omitempty"`
}

// findHeads looks for the events of a frame's exchange around it. The heads come
// before what the exchange carries, and its end after.
func findHeads(reader FrameReader, f *tap.Frame) (*headsJSON, error) {
	var h headsJSON
	for _, before := range headsBefore {
		for g, err := range reader.Frames(f.Seq - min(f.Seq, before)) {
			if err != nil {
				return nil, err
			}
			if h.take(&g, f.Exchange); g.Seq >= f.Seq {
				break
			}
		}
		if h.Request != nil || before >= f.Seq {
			break
		}
	}
	n := 0
	for g, err := range reader.Frames(f.Seq) {
		if err != nil {
			return nil, err
		}
		h.take(&g, f.Exchange)
		if n++; h.End != nil || n == headsAfter {
			break
		}
	}
	return &h, nil
}

// take keeps what a frame says of the exchange. Of several responses, the
// interim ones and the final one, the last counts.
func (h *headsJSON) take(f *tap.Frame, exchange uint64) {
	if f.Lane != tap.Lifecycle || f.Exchange != exchange {
		return
	}
	e, err := tap.ParseEvent(f.Raw)
	if err != nil {
		return
	}
	var to **headJSON
	switch e.Name {
	case tap.EventRequest:
		to = &h.Request
	case tap.EventResponse:
		to = &h.Response
	case tap.EventEnd:
		to = &h.End
	default:
		return
	}
	if *to != nil && (*to).Seq > f.Seq {
		return
	}
	line, fault := view.EventWords(&e)
	if e.Name == tap.EventResponse || e.Name == tap.EventRequest {
		line = view.JoinWords(" ", brief(e.Proto), view.JoinWords("", line, fault))
		fault = e.Error
	}
	*to = &headJSON{
		Seq: f.Seq, At: int64(f.At), Line: upTo(line, maxField), Error: brief(fault), By: brief(e.By), Coding: brief(e.Coding),
		Header: fields(e.Header), Masked: names(e.Masked),
	}
}

func fields(header [][2]string) (all [][2]string) {
	for _, f := range header[:min(len(header), maxHeader)] {
		all = append(all, [2]string{brief(f[0]), upTo(f[1], maxField)})
	}
	return all
}

func names(masked []string) (all []string) {
	for _, m := range masked[:min(len(masked), maxHeader)] {
		all = append(all, brief(m))
	}
	return all
}
