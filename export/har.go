package export

import (
	"container/list"
	"io"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/session"
)

// HAR writes an HTTP Archive, version 1.2, for the network panels of browsers.
//
// An exchange of an HTTP recording is an entry, with its head as it was recorded, its
// body, and the times of sending, waiting and receiving. The events of a stream are its
// body. The messages of a WebSocket are where Chrome has them.
//
// A stdio recording has no HTTP. Each request becomes a POST of the message to
// http://stdio.invalid/<label>/<method> whose response is the response, each
// notification one with an empty response, 202. Messages from the server have
// from-server in the path. A comment in the file and in each of these entries explains
// this.
//
// Entries are written when they end, those without an end last. With more than
// [MaxEntries] without an end, or more than [MaxHeld] bytes in them, the oldest is
// written as it is. At most [About.MaxBody] bytes of a body or a WebSocket message are
// kept; a comment reports what is missing.
type HAR struct {
	about About
	w     io.Writer
	stdio bool
	begun bool
	some  bool // an entry was written

	// Entries without an end: by exchange, or by request on stdio, and all of them, the
	// oldest first, with the number of bytes in them.
	open    map[uint64]*exchange
	pending map[session.Ref]*exchange
	queue   list.List
	held    int64
	tracker session.Tracker
	last    time.Duration
}

// NewHAR returns a Writer of an HTTP Archive.
func NewHAR(w io.Writer, about About) *HAR {
	if about.MaxBody == 0 {
		about.MaxBody = DefaultMaxBody
	}
	return &HAR{
		about: about, w: w, stdio: about.Header.Transport != "http", open: map[uint64]*exchange{},
		pending: map[session.Ref]*exchange{},
	}
}

const (
	pageID       = "recording"
	stdioComment = "JSON-RPC on stdio, shown as HTTP by mcptap: no HTTP was spoken"
)

// begin writes the head once.
func (h *HAR) begin() error {
	if h.begun {
		return nil
	}
	h.begun = true
	creator, err := escape.JSON(harNamed{Name: h.about.Program, Version: h.about.Version})
	if err != nil {
		return err
	}
	page, err := escape.JSON(harPage{Started: h.stamp(0), ID: pageID, Title: h.about.Header.Label})
	if err != nil {
		return err
	}
	comment := ""
	if h.stdio {
		comment = `"comment":"` + stdioComment + `",`
	}
	_, err = io.WriteString(h.w, `{"log":{"version":"1.2","creator":`+string(creator)+`,`+comment+`"pages":[`+string(page)+`],"entries":[`)
	return err
}

// stamp formats a time for HAR.
func (h *HAR) stamp(at time.Duration) string {
	return h.about.at(at).Format("2006-01-02T15:04:05.000000Z07:00")
}

// Add implements [Writer].
func (h *HAR) Add(f *tap.Frame) error {
	if err := h.begin(); err != nil {
		return err
	}
	h.last = max(h.last, f.At)
	e := h.tracker.Add(f)
	if h.stdio {
		return h.addStdio(e)
	}
	return h.addHTTP(e)
}

// Close implements [Writer].
func (h *HAR) Close() error {
	if err := h.begin(); err != nil {
		return err
	}
	for h.queue.Len() > 0 {
		if err := h.writeOldest(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(h.w, "]}}\n")
	return err
}

const (
	// MaxEntries is the largest number of entries without an end.
	MaxEntries = 1 << 16
	// MaxHeld is the largest number of bytes of bodies in them.
	MaxHeld = 256 << 20
)

// wait adds an entry to those without an end, and writes the oldest ones if there are
// too many.
func (h *HAR) wait(x *exchange) error {
	x.place = h.queue.PushBack(x)
	for h.queue.Len() > MaxEntries || h.held > MaxHeld && h.queue.Len() > 1 {
		if err := h.writeOldest(); err != nil {
			return err
		}
	}
	return nil
}

func (h *HAR) writeOldest() error { return h.write(h.queue.Front().Value.(*exchange)) }

// write writes an entry.
func (h *HAR) write(x *exchange) error {
	if x.place != nil {
		h.queue.Remove(x.place)
		delete(h.open, x.number)
		delete(h.pending, x.ref)
	}
	h.held -= x.held
	line, err := escape.JSON(h.entry(x))
	if err != nil {
		return err
	}
	separator := "\n"
	if h.some {
		separator = ",\n"
	}
	h.some = true
	_, err = h.w.Write(append([]byte(separator), line...))
	return err
}
