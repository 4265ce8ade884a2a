// Package record records the requests of a mock's client to a live server, and the responses.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/labels"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/streamable"
)

// A NothingError reports why nothing was recorded.
type NothingError struct{ error }

// Unwrap returns the cause.
func (e *NothingError) Unwrap() error { return e.error }

// A Server is the live server: a command, or a server at the URL of At.
type Server struct {
	At     endpoint.Server
	Tap    streamable.Config // with At
	Header tap.Header        // of a new recording; includes the command
	Stderr io.Writer         // receives the stderr of the command
	Open   func(ctx context.Context, arg string) (*recording.File, error)
	Now    func() time.Time
}

// PublishIfAnswered replaces an old recording with a new one, unless the client sent no requests.
// TypeScript clients start a server an extra time to probe its era; that run is not kept. Nor is a
// recording without a response: then the error names the server and how it ended.
func PublishIfAnswered(ctx context.Context, made, target string, command []string) error {
	rec, err := store.Open(made)
	if err != nil {
		return err
	}
	asked, answered, failed, ended := false, false, false, "is still running"
	for f, err := range rec.Frames(0) {
		if err != nil {
			return err
		}
		m := jsonrpc.PeekFrame(&f)
		asked = asked || sessionAsks(f.Lane, &m)
		answered = answered || serverResponds(f.Lane, &m)
		if f.Lane != tap.Lifecycle {
			continue
		}
		if e, err := tap.ParseEvent(f.Raw); err == nil && e.Name == tap.EventExit && e.Code != nil {
			failed, ended = *e.Code != 0, fmt.Sprintf("ended with status %d", *e.Code)
			if e.Signal != "" {
				failed, ended = true, "was ended by "+e.Signal
			}
		}
	}
	switch {
	case asked && answered:
		return publish(ctx, made, target)
	case answered, !asked && !failed:
		return nil
	}
	err = fmt.Errorf("nothing was recorded: the server %s %s without a response", term.Quote(strings.Join(command, " ")), ended)
	return &NothingError{err}
}

// sessionAsks reports whether a message is a reason to keep a run: a request that is not a probe.
func sessionAsks(lane tap.Lane, m *jsonrpc.Message) bool {
	return lane == tap.ToServer && (m.Kind == jsonrpc.Request && m.Method != "server/discover" || m.Kind == jsonrpc.Batch)
}

// serverResponds reports whether a message is, or may contain, a response of the server.
func serverResponds(lane tap.Lane, m *jsonrpc.Message) bool {
	isResponse := m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse || m.Kind == jsonrpc.Batch
	return lane == tap.ToClient && isResponse
}

// publish replaces the target with a complete recording, in the format of the target.
func publish(ctx context.Context, made, target string) error {
	if !recording.IsText(target) && filepath.Ext(target) == store.Ext {
		return wholefile.Move(made, target)
	}
	rec, err := store.Open(made)
	if err != nil {
		return err
	}
	return recording.SaveText(ctx, target, rec)
}

// Keep adds frames to the recording that arg names, whose file is target. If anew is set, it
// creates a recording from the frames alone.
func (s *Server) Keep(ctx context.Context, arg, target string, added []tap.Frame, anew bool) error {
	asked := func(f tap.Frame) bool { m := jsonrpc.Peek(f.Raw); return sessionAsks(f.Lane, &m) }
	answered := func(f tap.Frame) bool { m := jsonrpc.Peek(f.Raw); return serverResponds(f.Lane, &m) }
	s.mask(added)
	switch {
	case !slices.ContainsFunc(added, asked): // see PublishIfAnswered
		return nil
	case !anew:
		return s.addTo(ctx, arg, target, added)
	case !slices.ContainsFunc(added, answered):
		return &NothingError{errors.New("nothing was recorded: the server sent no response")}
	}
	header := s.Header
	if u := s.Tap.Upstream; u != nil { // its path and query may be secret
		header.Upstream, header.Label, header.Dir = u.Scheme+"://"+u.Host, labels.ForHost(u), ""
	}
	header.ID, header.Start = store.NewID(), s.Now().UTC()
	none := func(func(tap.Frame, error) bool) {}
	return publishExtended(ctx, target, header, mock.Extended(none, added), store.End{})
}

// mask masks values of --header wherever the server repeats them, as `mcptap http` does.
func (s *Server) mask(added []tap.Frame) {
	var out maskedPiece
	masker := endpoint.Masked(s.Tap, &out)
	if u := s.Tap.Upstream; u != nil { // the server may repeat parts of its URL
		masker.Event(1, tap.Event{Name: tap.EventRequest, Target: u.RequestURI()})
	}
	for i := range added {
		out.raw = nil
		masker.Piece(0, added[i].Lane, tap.FormBody, added[i].Raw, true)
		added[i].Raw, added[i].Size = out.raw, int64(len(out.raw))
	}
}

// A maskedPiece collects the output of a masker.
type maskedPiece struct {
	tap.Discard
	raw []byte
}

// Piece implements [tap.Recorder].
func (m *maskedPiece) Piece(_ uint64, _ tap.Lane, _ tap.Form, p []byte, _ bool) {
	m.raw = append(m.raw, p...)
}

// addTo adds frames to a recording or a text file.
func (s *Server) addTo(ctx context.Context, arg, target string, added []tap.Frame) error {
	file, err := s.Open(ctx, arg)
	if err != nil {
		return err
	}
	file.SetMaxRaw(math.MaxInt64)
	info, err := file.Info()
	if err != nil {
		return err
	}
	end := store.End{At: info.Duration, Cut: info.Status == store.Cut}
	if file.Text != nil {
		end = store.End{} // the session ended later
	}
	return publishExtended(ctx, target, info.Header, mock.Extended(file.Frames(0), added), end)
}

// publishExtended makes a recording and replaces the target with it.
func publishExtended(ctx context.Context, target string, h tap.Header, frames iter.Seq2[tap.Frame, error], end store.End) error {
	work, err := wholefile.TempDir(target)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "new"+store.Ext)
	if err := recording.Make(ctx, made, h, frames, nil, func() store.End { return end }); err != nil {
		return err
	}
	return publish(ctx, made, target)
}

// Dial connects to the live server: to a command, or to a URL through a new tap.
func (s *Server) Dial() (client.Conn, error) {
	if s.At.To == "" {
		return client.Stdio(s.Header.Command, stderrTo{w: s.Stderr}), nil
	}
	conn, closeTap, err := s.At.Dial(s.Tap, tap.Discard{}, false)
	return tappedConn{conn, closeTap}, err
}

// stderrTo is a recorder that copies the stderr of a server to w.
type stderrTo struct {
	tap.Discard
	w io.Writer
}

// Chunk implements [tap.Recorder].
func (s stderrTo) Chunk(lane tap.Lane, p []byte) {
	if lane == tap.Stderr {
		_, _ = s.w.Write(p)
	}
}

// A tappedConn is a connection through a tap, which it closes.
type tappedConn struct {
	client.Conn
	closeTap func() error
}

// Close implements [client.Conn].
func (c tappedConn) Close() (killed string) {
	killed = c.Conn.Close()
	_ = c.closeTap() // that tap records nothing
	return killed
}

// Target returns the file of the recording that arg names, which need not exist yet.
func Target(arg string, find func(string) (string, error)) (string, error) {
	if _, err := os.Stat(arg); err == nil {
		if recording.IsBundle(arg) {
			return "", hint.With(errors.New("--record cannot extend the recording in a bundle"), "`mcptap import` makes a recording of it")
		}
		return arg, nil
	}
	if path, err := find(arg); err == nil {
		return path, nil
	}
	switch filepath.Ext(arg) {
	case ".mcptap", ".ndjson", ".txtar":
		return arg, nil
	}
	return "", hint.With(fmt.Errorf("%s is neither a recording nor a file name for one", term.Quote(arg)), "a file name has the extension .mcptap, .ndjson or .txtar")
}
