package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// window limits the unacknowledged messages.
	window = 8
	// maxRequest limits the size in bytes of messages from a page.
	maxRequest = 64 << 10
	// patience limits the time until the first message of a page.
	patience = 10 * time.Second
	// maxSilence limits the time that a page takes to read a message, and to acknowledge one when
	// the window is full. A page that was only suspended reconnects.
	maxSilence = time.Minute
)

// A socket is one connection to a page. Only this file uses the WebSocket library.
type socket struct {
	conn    *websocket.Conn
	credit  chan struct{} // one element for each message that may be sent
	gone    chan struct{} // closed when the page is gone
	silence time.Duration // see maxSilence
}

// openSocket upgrades a request, whose origin the guard has checked. If it returns an error, the
// request has received its response.
func openSocket(w http.ResponseWriter, r *http.Request, silence time.Duration) (*socket, error) {
	up := websocket.Upgrader{
		HandshakeTimeout: patience, ReadBufferSize: 1 << 10, WriteBufferSize: 32 << 10,
		CheckOrigin: func(*http.Request) bool { return true },
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxRequest)
	s := &socket{conn: conn, credit: make(chan struct{}, window), gone: make(chan struct{}), silence: silence}
	for range window {
		s.credit <- struct{}{}
	}
	return s, nil
}

// first reads the first message of the page.
func (s *socket) first(v any) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if err := s.conn.ReadJSON(v); err != nil {
		return err
	}
	return s.conn.SetReadDeadline(time.Time{})
}

// listen reads acknowledgements, which may be any text, until the page is gone. Excess ones have no
// effect.
func (s *socket) listen() {
	defer close(s.gone)
	for {
		if _, _, err := s.conn.NextReader(); err != nil {
			return
		}
		select {
		case s.credit <- struct{}{}:
		default:
		}
	}
}

// send sends a message as soon as the window has room. The error is errGone; a page that
// takes too long is disconnected.
func (s *socket) send(v any) error {
	late := time.NewTimer(s.silence)
	defer late.Stop()
	select {
	case <-s.gone:
		return errGone
	case <-late.C:
		s.conn.Close()
		return errGone
	case <-s.credit:
	}
	b, err := json.Marshal(v)
	if err != nil { // impossible: v has only strings and numbers
		panic(err)
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.silence))
	if s.conn.WriteMessage(websocket.TextMessage, b) != nil {
		s.conn.Close() // this ends listen
		return errGone
	}
	return nil
}

// close closes the connection. A page that is still open reconnects.
func (s *socket) close() {
	bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	s.conn.Close()
}
