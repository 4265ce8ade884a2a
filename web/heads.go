package web

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/view"
)

const (
	// headsAfter is how many frames are read to find the end of an HTTP exchange.
	headsAfter = 5_000
	// maxHeader is how many fields of a head the page receives, and maxField how many
	// bytes of each, and of the first line.
	maxHeader = 200
	maxField  = 2048
)

// headsBefore is how many frames before one are read to find the request of its HTTP
// exchange, which is usually near.
var headsBefore = []uint64{100, 2_000, 20_000}

// headsJSON has the events of the HTTP exchange of a frame, nil if not found nearby.
type headsJSON struct {
	Request  *headJSON `json:"request,omitempty"`
	Response *headJSON `json:"response,omitempty"`
	End      *headJSON `json:"end,omitempty"`
}

// headJSON is an event of an exchange. Its texts are escaped.
type headJSON struct {
	Seq    uint64      `json:"seq"`
	Line   string      `json:"line"`
	Header [][2]string `json:"header,omitempty"`
	Masked []string    `json:"masked,omitempty"`
	Error  string      `json:"error,omitempty"`
}

// findHeads finds the events of the exchange of a frame. The heads come before the bodies
// of an exchange, and its end after them.
func findHeads(reader Reader, f *tap.Frame) (*headsJSON, error) {
	var h headsJSON
	for _, before := range headsBefore {
		for g, err := range reader.Frames(f.Seq - min(f.Seq, before)) {
			if err != nil {
				return nil, err
			}
			if h.add(&g, f.Exchange); g.Seq >= f.Seq {
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
		h.add(&g, f.Exchange)
		if n++; h.End != nil || n == headsAfter {
			break
		}
	}
	return &h, nil
}

// add adds a frame if it is an event of the exchange. The last of several responses
// counts, because interim ones precede the final one.
func (h *headsJSON) add(f *tap.Frame, exchange uint64) {
	if f.Lane != tap.Lifecycle || f.Exchange != exchange {
		return
	}
	e, err := tap.ParseEvent(f.Raw)
	if err != nil {
		return
	}
	var to **headJSON
	line, fault := view.EventWords(&e)
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
	if e.Name != tap.EventEnd {
		line, fault = view.JoinWords(" ", brief(e.Proto), view.JoinWords("", line, fault)), e.Error
	}
	*to = &headJSON{Seq: f.Seq, Line: shorten(line, maxField), Error: brief(fault)}
	for _, field := range e.Header[:min(len(e.Header), maxHeader)] {
		(*to).Header = append((*to).Header, [2]string{brief(field[0]), shorten(field[1], maxField)})
	}
	for _, name := range e.Masked[:min(len(e.Masked), maxHeader)] {
		(*to).Masked = append((*to).Masked, brief(name))
	}
}
