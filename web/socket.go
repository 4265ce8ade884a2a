package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// window is how many messages may be on their way to a page that has not
	// said yet that it took them.
	window = 8
	// maxRequest is the size in bytes of the longest message that a page sends.
	maxRequest = 64 << 10
	// patience is how long a page may take to say what it wants.
	patience = 10 * time.Second
	// maxSilence is how long a page may take to read a message, and to make room for
	// the next. One that was only asleep connects again.
	maxSilence = time.Minute
)

// A socket is one connection to a page. It is the only thing that knows the
// WebSocket library.
type socket struct {
	conn   *websocket.Conn
	credit chan struct{}
	gone   chan struct{} // closed when the page is
	// silence is how long a page may take, see maxSilence.
	silence time.Duration
}

// openSocket answers a request for a WebSocket. The guard has checked its
// origin. After an error the request has been answered.
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

// first reads what the page wants, which is its first message.
func (s *socket) first(v any) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if err := s.conn.ReadJSON(v); err != nil {
		return err
	}
	return s.conn.SetReadDeadline(time.Time{})
}

// listen takes the page's word for each message that it took, any text, until
// the page is gone. A page that says so more often than it was sent something
// gains nothing.
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

// send sends a message as soon as the page has room for it. It reports false
// when the page is gone; one that takes too long is given up.
func (s *socket) send(v any) bool {
	late := time.NewTimer(s.silence)
	defer late.Stop()
	select {
	case <-s.gone:
		return false
	case <-late.C:
		s.conn.Close()
		return false
	case <-s.credit:
	}
	b, err := json.Marshal(v)
	if err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.silence))
	if s.conn.WriteMessage(websocket.TextMessage, b) != nil {
		s.conn.Close() // which ends listen
		return false
	}
	return true
}

// close ends the connection. A page that is still there tries again.
func (s *socket) close() {
	bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	s.conn.Close()
}
