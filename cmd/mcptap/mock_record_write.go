package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/text"
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
		if e, err := tap.ParseEvent(f.Raw); f.Lane == tap.Lifecycle && err == nil && e.Name == tap.EventExit && e.Code != nil {
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
	return coded{fmt.Errorf("nothing was recorded: the server %s %s without a response", quote(strings.Join(command, " ")), ended), exitNo}
}

// sessionAsks reports whether a message shows that a run is a session to keep.
func sessionAsks(lane tap.Lane, m *jsonrpc.Message) bool {
	return lane == tap.ToServer && (m.Kind == jsonrpc.Request && m.Method != "server/discover" || m.Kind == jsonrpc.Batch)
}

// serverResponds reports whether a message is, or may have in it, a response of the server.
func serverResponds(lane tap.Lane, m *jsonrpc.Message) bool {
	return lane == tap.ToClient && (m.Kind == jsonrpc.Response || m.Kind == jsonrpc.ErrorResponse || m.Kind == jsonrpc.Batch)
}

// publish puts a recording in the place of the target, in the target's form: at
// once, and when it is whole.
func publish(ctx context.Context, made, target string) error {
	if !isTextFile(target) && filepath.Ext(target) == store.Ext {
		return replaceBy(made, target)
	}
	rec, err := store.Open(made)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(target)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	old = bytes.TrimSpace(old)
	if filepath.Ext(target) != ".txtar" && (len(old) == 0 || old[0] == '{') {
		return writeFile(target, func(w io.Writer) error { return exportTo(ctx, w, "ndjson", rec) })
	}
	var transcript bytes.Buffer
	if err := exportTo(ctx, &transcript, "txtar", rec); err != nil {
		return err
	}
	return writeFile(target, func(w io.Writer) error {
		_, err := io.WriteString(w, keepComments(string(old), transcript.String()))
		return err
	})
}

// keep adds frames to a recording, or makes one of them alone, of the server at a URL
// or else of a command.
func (o *mockRecordOptions) keep(ctx context.Context, a *app, arg, target string, added []tap.Frame, command []string, anew bool) error {
	o.mask(added)
	if !anew {
		src, err := a.recordedFrames(arg)
		if err != nil {
			return err
		}
		defer src.close()
		return src.addTo(ctx, target, added)
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
		header.Upstream, header.Label, header.Dir = u.Scheme+"://"+u.Host, labelForHost(u), ""
	}
	header.ID, header.Start = store.NewID(), a.now().UTC()
	src := &recordedFrames{head: text.Head{Header: header}, frames: func(func(tap.Frame, error) bool) {}}
	return src.addTo(ctx, target, added)
}

// mask masks what --header adds wherever the server repeats it, as `mcptap http` does.
func (o *mockRecordOptions) mask(added []tap.Frame) {
	var out maskedPiece
	masker := maskSecrets(o.tap, &out)
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

// addTo makes a recording with frames added, and puts it in the place of the old one.
func (src *recordedFrames) addTo(ctx context.Context, target string, added []tap.Frame) error {
	work, err := scratchDir(target)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "new"+store.Ext)
	head := func() text.Head { return src.head }
	if err := copyFrames(ctx, made, src.head.Header, mock.Extended(src.frames, added), head); err != nil {
		return err
	}
	return publish(ctx, made, target)
}

// recordedFrames holds the frames of a recording or of a text, and its header.
type recordedFrames struct {
	head   text.Head
	frames iter.Seq2[tap.Frame, error]
	close  func() error
}

func (a *app) recordedFrames(arg string) (*recordedFrames, error) {
	if isTextFile(arg) {
		f, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		r, err := text.NewReader(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		head := text.Head{Header: r.Head().Header}
		if err := new(importOptions).complete(a, &head.Header, strings.TrimPrefix(filepath.Base(arg), ".")); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &recordedFrames{head: head, frames: text.Frames(r), close: f.Close}, nil
	}
	path, err := a.find(arg)
	if err != nil {
		return nil, err
	}
	rec, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	rec.SetMaxRaw(1<<63 - 1)
	info, err := rec.Info()
	if err != nil {
		return nil, err
	}
	head := text.Head{Header: info.Header, End: info.Duration}
	if info.Status == store.Cut {
		head.Status = info.Status.String()
	}
	return &recordedFrames{head: head, frames: rec.Frames(0), close: func() error { return nil }}, nil
}

// keepComments are the lines of a comment that a person wrote above a transcript.
func keepComments(old, written string) string {
	var kept strings.Builder
	for line := range strings.Lines(old) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		if !strings.Contains(written, line) {
			kept.WriteString(line)
		}
	}
	return kept.String() + written
}
