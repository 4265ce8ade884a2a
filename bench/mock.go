//go:build unix

package main

import (
	"bytes"
	"fmt"
	"strings"
)

// mockCalls is the number of calls in the recording of the mock. No client sends more, so that
// none is repeated.
const mockCalls = 20000

const (
	mockOpening = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	mockOpened  = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"bench","version":"1"}}}`
)

// mockCall returns a request, mockResponse its response of the same length.
func mockCall(i int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"forecast","arguments":{"day":%d,"city":"Oslo","notes":"%s"}}}`,
		100000+i, 100000+i, strings.Repeat("cloudy ", 15))
}

func mockResponse(i int) []byte {
	p := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"`, 100000+i)
	const end = `"}]}}`
	return append(append(p, bytes.Repeat([]byte{'x'}, len(mockCall(i))-len(p)-len(end))...), end...)
}

// mockRecording returns a session with each call.
func mockRecording() []byte {
	var b bytes.Buffer
	add := func(lane string, message []byte) { fmt.Fprintf(&b, "-- %s --\n%s\n", lane, message) }
	add("to_server", []byte(mockOpening))
	add("to_client", []byte(mockOpened))
	for i := range mockCalls {
		add("to_server", mockCall(i))
		add("to_client", mockResponse(i))
	}
	return b.Bytes()
}

// open makes the request that opens a session.
func (c *httpClient) open() []byte {
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		c.host, len(mockOpening), mockOpening)
}
