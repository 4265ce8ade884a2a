package export

import (
	"net/url"
	"strings"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
	"github.com/mcptap/mcptap/tap/view"
)

// addStdio adds a frame of a stdio recording.
func (h *HAR) addStdio(r *session.Entry) error {
	for i := range r.Parts {
		if err := h.message(r, i); err != nil {
			return err
		}
	}
	return nil
}

// message makes an entry of a message, or adds the response to one.
func (h *HAR) message(r *session.Entry, i int) error {
	f, p := r.Frame, &r.Parts[i]
	switch p.Kind {
	case jsonrpc.Request:
		x := h.posted(r, i)
		if err := h.addBytes(x, &x.up, f); err != nil {
			return err
		}
		x.ref = p.Message
		h.pending[p.Message] = x
		return h.wait(x)
	case jsonrpc.Notification:
		x := h.posted(r, i)
		x.response = tap.Event{Status: 202, Reason: "Accepted", Proto: "HTTP/1.1"}
		x.over, x.responded = true, f.At
		if err := h.addBytes(x, &x.up, f); err != nil {
			return err
		}
		return h.write(x)
	case jsonrpc.Response, jsonrpc.ErrorResponse:
		x := h.pending[p.Request]
		if x == nil || p.Role == session.RoleOrphan {
			return nil
		}
		x.response = tap.Event{Status: 200, Reason: "OK", Proto: "HTTP/1.1", Header: [][2]string{{"Content-Type", "application/json"}}}
		x.responded, x.ended, x.last, x.over = f.At-f.Took, f.At, f.Seq, true
		if err := h.addBytes(x, &x.down, f); err != nil {
			return err
		}
		return h.write(x)
	}
	return nil
}

// posted makes the entry of a request or notification.
func (h *HAR) posted(r *session.Entry, i int) *exchange {
	f, l := r.Frame, view.NewMessageRow(r, i)
	label := h.about.Header.Label
	if label == "" {
		label = "server"
	}
	path := "/" + url.PathEscape(label)
	if f.Lane == tap.ToClient {
		path += "/from-server"
	}
	for word := range strings.SplitSeq(l.Method, "/") {
		path += "/" + url.PathEscape(word)
	}
	if _, about := targets[l.Method]; about && l.About != "" {
		path += "/" + url.PathEscape(l.About)
	}
	return &exchange{
		first: f.Seq, last: f.Seq, began: f.At - f.Took, sent: f.At, ended: f.At, comment: stdioComment,
		request: tap.Event{
			Method: "POST", Target: "http://stdio.invalid" + path, Proto: "HTTP/1.1",
			Header: [][2]string{{"Content-Type", "application/json"}},
		},
	}
}
