package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// SSE returns a connection to an HTTP+SSE server (2024-11-05 basic/transports). The watcher is as
// for [HTTP].
func SSE(url string, tap *Watcher) Conn { return &sseConn{httpConn: newHTTP(url, tap)} }

// endpointPatience is how long the server may take to send the endpoint event.
const endpointPatience = 30 * time.Second

// An sseConn is a connection with one stream for all server messages.
type sseConn struct {
	*httpConn
	endpoint string
}

func (c *sseConn) Open(ctx context.Context, to chan<- Event) error {
	if err := c.httpConn.Open(ctx, to); err != nil {
		return err
	}
	named := make(chan error, 1)
	c.work.Go(func() { c.listen(named) })
	select {
	case err := <-named:
		return err
	case <-time.After(endpointPatience):
		return errors.New("the server's stream does not name an endpoint")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen reads the stream. The channel named receives nil once the endpoint is known, or an error.
func (c *sseConn) listen(named chan<- error) {
	res, err := c.get(c.ctx, "")
	if err != nil {
		named <- err
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !isStream(res) {
		named <- refusal(res, "to the GET of a stream", nil)
		return
	}
	known := false
	err = readEvents(maxBody, res.Body, func(e tap.ServerSentEvent) {
		switch {
		case e.Name == "endpoint" && !known:
			known = true
			named <- c.name(strings.TrimSpace(string(e.Data)))
		case e.Name != "endpoint" && e.Data != nil:
			c.emit(Event{Raw: e.Data})
		}
	})
	if !known {
		named <- errors.New("the server's stream ended before it named an endpoint")
	}
	if err == nil {
		err = errors.New("the server ended its stream")
	}
	c.emit(Event{Gone: true, Err: unwrapped(err)})
}

// name sets the endpoint, whose URL may be relative to that of the stream.
func (c *sseConn) name(endpoint string) error {
	base, err := url.Parse(c.url)
	if err != nil {
		return err
	}
	at, err := base.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("invalid endpoint: %w", err)
	}
	c.endpoint = at.String()
	return nil
}

func (c *sseConn) Send(m *Outgoing) <-chan error {
	sent := make(chan error, 1)
	c.work.Go(func() {
		err := c.send(m)
		if err != nil && len(m.ids) > 0 {
			c.emit(failure(m, err))
		}
		sent <- err
	})
	return sent
}

// send posts a message. The response comes on the stream.
func (c *sseConn) send(m *Outgoing) error {
	res, err := c.do(c.ctx, http.MethodPost, c.endpoint, m.raw, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err == nil && res.StatusCode >= 300 {
		err = refusal(res, "", body)
	}
	return err
}

func (c *sseConn) HangUp(*Outgoing) bool { return false }

// readEvents calls fn for each event of a stream. Text after the last blank line is ignored.
// It fails if an event has more than most bytes.
func readEvents(most int, from io.Reader, fn func(tap.ServerSentEvent)) error {
	var split tap.SSESplitter
	var unit []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for chunk := buf[:n]; len(chunk) > 0; {
			k, cut := split.Next(chunk)
			if len(unit)+k > most {
				return fmt.Errorf("an event has more than %d bytes", most)
			}
			unit = append(unit, chunk[:k]...)
			chunk = chunk[k:]
			if cut == tap.CutFrame {
				fn(readEvent(unit))
				unit = unit[:0]
			}
		}
		if err == io.EOF {
			if split.Blank() {
				fn(readEvent(unit))
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readEvent parses an event. It drops data that is neither a message nor the endpoint of
// HTTP+SSE.
func readEvent(unit []byte) tap.ServerSentEvent {
	e := tap.ParseServerSentEvent(unit)
	f := tap.Frame{Lane: tap.ToClient, Form: tap.FormEvent, Raw: unit, Size: int64(len(unit))}
	if m := jsonrpc.PeekFrame(&f); m.Kind == jsonrpc.Other && e.Name != "endpoint" {
		e.Data = nil
	}
	e.Data = bytes.Clone(e.Data)
	return e
}
