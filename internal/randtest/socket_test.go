package randtest

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// The steps on a WebSocket are lines, as on stdio. Each is sent as one text message without its
// newline.
const (
	text      = 1
	closes    = 8
	socketKey = "cmFuZG9tIHRlc3Qga2V5Lg=="
)

// handshake is the client's part of the upgrade.
func handshake(c net.Conn, r *bufio.Reader, host string) error {
	fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Protocol: mcp\r\n\r\n", host, socketKey)
	head := responseReader{r: r, got: &reply{}, locked: func(f func()) { f() }}
	status, fields, err := head.head()
	if accept, _ := field(fields, "sec-websocket-accept"); err == nil && (!strings.HasPrefix(status, "101") || accept != acceptKey(socketKey)) {
		err = fmt.Errorf("upgrade refused: %s %q", status, fields)
	}
	return err
}

func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A socket writes messages: a line in each write.
type socket struct {
	io.Writer
	masks bool
	mu    sync.Mutex
}

func (s *socket) Write(line []byte) (int, error) {
	return len(line), s.frame(text, strings.TrimSuffix(string(line), "\n"))
}

func (s *socket) Close() error { return s.frame(closes, "\x03\xe8") }

func (s *socket) frame(kind byte, payload string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := []byte{0x80 | kind}
	mask := byte(0)
	if s.masks {
		mask = 0x80
	}
	if n := len(payload); n < 126 {
		b = append(b, mask|byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, mask|126), uint16(n))
	}
	key := []byte("mask")
	if s.masks {
		b = append(b, key...)
	}
	for i := range len(payload) {
		if s.masks {
			b = append(b, payload[i]^key[i%4])
		} else {
			b = append(b, payload[i])
		}
	}
	_, err := s.Writer.Write(b)
	return err
}

// readMessages calls add with each message as a line. It returns when there are no more, and reports
// whether the other side sent a close frame.
func readMessages(r *bufio.Reader, add func(string)) bool {
	for message := ""; ; {
		head := make([]byte, 2)
		if _, err := io.ReadFull(r, head); err != nil {
			return false
		}
		n := uint64(head[1] & 0x7f)
		if more := map[uint64]int{126: 2, 127: 8}[n]; more > 0 {
			size := make([]byte, 8)
			_, _ = io.ReadFull(r, size[8-more:])
			n = binary.BigEndian.Uint64(size)
		}
		var key [4]byte
		if head[1]&0x80 != 0 {
			_, _ = io.ReadFull(r, key[:])
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(r, payload); err != nil {
			return false
		}
		for i := range payload {
			payload[i] ^= key[i%4]
		}
		switch head[0] & 0x0f {
		case 0, text:
			if message += string(payload); head[0]&0x80 != 0 {
				add(message + "\n")
				message = ""
			}
		case closes:
			return true
		}
	}
}

// socket serves a WebSocket.
func (s *server) socket(c net.Conn, r *bufio.Reader, key string) {
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: mcp\r\n\r\n", acceptKey(key))
	w := &socket{Writer: c}
	go s.serveStream(func(_ *Step, text string) { _, _ = io.WriteString(w, text) })
	if readMessages(r, s.arrivedLine) {
		_ = w.Close()
	}
	s.didClose()
}

// overSocket plays the plan on a WebSocket.
func (c *client) overSocket(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	if err := handshake(conn, r, addr); err != nil {
		return err
	}
	c.stdin = &socket{Writer: conn, masks: true}
	read := make(chan bool)
	go func() {
		defer close(read)
		readMessages(r, c.line)
		c.end()
	}()
	if err := c.run(); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(c.patience))
	<-read
	return nil
}
