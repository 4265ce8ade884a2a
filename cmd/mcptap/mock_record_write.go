package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/labels"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// publishIfAnswered replaces an old recording by a new one, unless the client asked for
// nothing. TypeScript clients start a server an extra time to find out which era it speaks;
// that run is not kept. Nor is a recording without a response: then the error names the
// server and how it ended.
func publishIfAnswered(ctx context.Context, made, target string, command []string) error {
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
	return coded{err, exitNo}
}

// sessionAsks reports whether a message shows that a run is a session to keep.
func sessionAsks(lane tap.Lane, m *jsonrpc.Message) bool {
	return lane == tap.ToServer && (m.Kind == jsonrpc.Request && m.Method != "server/discover" || m.Kind == jsonrpc.Batch)
}

// serverResponds reports whether a message is, or may have in it, a response of the server.
func serverResponds(lane tap.Lane, m *jsonrpc.Message) bool {
	isResponse := m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse || m.Kind == jsonrpc.Batch
	return lane == tap.ToClient && isResponse
}

// publish puts a recording in the place of the target, in the target's form, when it is
// whole.
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

// keep adds frames to a recording, or makes one of them alone, of the server at a URL
// or else of a command.
func (o *mockRecordOptions) keep(
	ctx context.Context, a *app, arg, target string, added []tap.Frame, command []string, anew bool,
) error {
	o.mask(added)
	if !anew {
		return a.addTo(ctx, arg, target, added)
	}
	asked := func(f tap.Frame) bool { m := jsonrpc.Peek(f.Raw); return sessionAsks(f.Lane, &m) }
	answered := func(f tap.Frame) bool { m := jsonrpc.Peek(f.Raw); return serverResponds(f.Lane, &m) }
	switch {
	case !slices.ContainsFunc(added, asked):
		return nil
	case !slices.ContainsFunc(added, answered):
		return coded{errors.New("nothing was recorded: the server sent no response"), exitNo}
	}
	header := new(stdioOptions).header(command)
	if u := o.tap.Upstream; u != nil { // what stands behind its origin may be a secret
		header.Upstream, header.Label, header.Dir = u.Scheme+"://"+u.Host, labels.ForHost(u), ""
	}
	header.ID, header.Start = store.NewID(), a.now().UTC()
	none := func(func(tap.Frame, error) bool) {}
	return publishExtended(ctx, target, header, mock.Extended(none, added), store.End{})
}

// mask masks what --header adds wherever the server repeats it, as `mcptap http` does.
func (o *mockRecordOptions) mask(added []tap.Frame) {
	var out maskedPiece
	masker := endpoint.Masked(o.tap, &out)
	for i := range added {
		out.raw = nil
		masker.Piece(0, added[i].Lane, tap.FormBody, added[i].Raw, true)
		added[i].Raw, added[i].Size = out.raw, int64(len(out.raw))
	}
}

// A maskedPiece takes what a masker makes of a frame.
type maskedPiece struct {
	tap.Discard
	raw []byte
}

// Piece implements [tap.Recorder].
func (m *maskedPiece) Piece(_ uint64, _ tap.Lane, _ tap.Form, p []byte, _ bool) {
	m.raw = append(m.raw, p...)
}

// addTo adds frames to a recording or a text.
func (a *app) addTo(ctx context.Context, arg, target string, added []tap.Frame) error {
	file, err := a.open(ctx, arg)
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

// publishExtended makes a recording, and puts it in the place of the target.
func publishExtended(
	ctx context.Context, target string, h tap.Header, frames iter.Seq2[tap.Frame, error], end store.End,
) error {
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
