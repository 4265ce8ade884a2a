package client

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A serverEvent is one server-sent event (WHATWG HTML, "parsing an event stream").
type serverEvent struct {
	name, id string
	hasID    bool
	retry    time.Duration // -1 for none
	data     []byte
}

// readEvents reads a stream to its end and gives each event to fn. What follows the
// last blank line is none. An event that is longer than any body may be ends it with
// an error, since a server may write on for ever without a blank line.
func readEvents(from io.Reader, fn func(serverEvent)) error {
	return readEventsUpTo(maxBody, from, fn)
}

func readEventsUpTo(most int, from io.Reader, fn func(serverEvent)) error {
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
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readEvent reads a unit of a stream.
func readEvent(unit []byte) serverEvent {
	e := serverEvent{retry: -1}
	for line := range bytes.FieldsFuncSeq(unit, func(r rune) bool { return r == '\n' || r == '\r' }) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.name = string(value)
		case "id":
			e.id, e.hasID = string(value), true
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	f := tap.Frame{Lane: tap.ToClient, Form: tap.FormEvent, Raw: unit, Size: int64(len(unit))}
	if m := jsonrpc.PeekFrame(&f); m.Kind != jsonrpc.Other {
		e.data = bytes.Clone(jsonrpc.Payload(&f))
	} else if e.name == "endpoint" {
		e.data = bytes.Clone(bytes.TrimSpace(jsonrpc.Payload(&f)))
	}
	return e
}
