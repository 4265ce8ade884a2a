package client

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// webSocketServer serves on a WebSocket.
func webSocketServer(t *testing.T, s *mcp.Server) string {
	up := websocket.Upgrader{Subprotocols: []string{"mcp"}}
	return served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sock, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer sock.Close()
		in, fromClient := io.Pipe()
		toClient, out := io.Pipe()
		go func() {
			defer fromClient.Close()
			for {
				_, raw, err := sock.ReadMessage()
				if err != nil {
					return
				}
				if _, err := fromClient.Write(asLine(raw)); err != nil {
					return
				}
			}
		}()
		go func() {
			_ = s.Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: out})
			out.Close()
		}()
		buf := make([]byte, 1<<20)
		var line []byte
		for {
			n, err := toClient.Read(buf)
			for _, b := range buf[:n] {
				if line = append(line, b); b == '\n' {
					_ = sock.WriteMessage(websocket.TextMessage, line[:len(line)-1])
					line = line[:0]
				}
			}
			if err != nil {
				return
			}
		}
	}))
}
