package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap"
)

// answerTime is how long a live server may take for what it still owes when the
// client has ended its input. A client that does not wait so long sends SIGTERM.
const answerTime = 30 * time.Second

// extend plays a recording to the client, and asks a server for what is not in it,
// which is added then. Anew says that there is nothing to play.
func (o *mockOptions) extend(ctx context.Context, a *app, arg string, command []string, opt replay.Options, anew bool) error {
	live := &mock.Live{Patience: answerTime, Dial: func() (client.Conn, error) { return o.record.dial(a, command) }}
	opt.Elsewhere = live.Elsewhere
	target, err := a.recordTarget(arg)
	if err != nil {
		return err
	}
	rec, err := o.toExtend(ctx, a, arg, opt, anew)
	if err != nil {
		return err
	}
	defer rec.Close()
	report, err := newMockReport(a, o.report, arg, rec.Script)
	if err != nil {
		return err
	}
	report.watch(&opt)
	finish := func() error {
		defer live.Close()
		added := live.Added()
		if len(added) == 0 {
			return nil
		}
		return o.record.keep(context.WithoutCancel(ctx), a, arg, target, added, command, anew)
	}
	if o.http.listen != "" {
		return errors.Join(o.extendHTTP(ctx, a, rec, report, live, finish), report.end())
	}
	session, err := live.Stdio(ctx, rec.Script, a.stdin, a.stdout, report.note)
	report.over(session)
	if ctx.Err() != nil {
		err = nil // a host ends servers so
	}
	return errors.Join(err, finish(), report.end())
}

// extendHTTP serves the client over HTTP until the run is interrupted. When the session is
// over the server serves on, since what started it expects it to be there: that the session
// is over is what clients get.
func (o *mockOptions) extendHTTP(ctx context.Context, a *app, rec *mock.Recording, report *mockReport, live *mock.Live, finish func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over, served := make(chan struct{}), make(chan error, 1)
	opt := mock.ServerOptions{Note: report.note, Live: live, Over: func(s *replay.Session) {
		report.over(s)
		close(over)
	}}
	go func() { served <- o.http.serve(ctx, a, rec, opt) }()
	select {
	case <-over:
	case err := <-served:
		return errors.Join(err, finish())
	}
	err := finish()
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-served)
}

// toExtend opens what is to be extended, which is one session.
func (o *mockOptions) toExtend(ctx context.Context, a *app, arg string, opt replay.Options, anew bool) (*mock.Recording, error) {
	if anew {
		return mock.Load(func(func(tap.Frame, error) bool) {}, opt)
	}
	rec, err := a.loadMock(ctx, arg, opt)
	if err != nil {
		return nil, err
	}
	if scripts := rec.Scripts(); len(scripts) > 1 {
		err := fmt.Errorf("%s has %d sessions; something can be added to a recording of one", quote(arg), len(scripts))
		return nil, errors.Join(err, rec.Close())
	}
	return rec, nil
}

// dial makes a connection to the live server: of a command, or at a URL through a tap of
// its own.
func (o *mockRecordOptions) dial(a *app, command []string) (client.Conn, error) {
	if o.at.to == "" {
		return client.Stdio(command, stderrTo{w: a.stderr}), nil
	}
	conn, closeTap, err := o.at.dial(o.tap, tap.Discard{}, false)
	return tappedConn{conn, closeTap}, err
}

// stderrTo is a recorder that passes on what a server writes to stderr.
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

// A tappedConn closes the tap that it goes through.
type tappedConn struct {
	client.Conn
	closeTap func() error
}

// Close implements [client.Conn].
func (c tappedConn) Close() (killed string) {
	killed = c.Conn.Close()
	_ = c.closeTap() // nothing is recorded there
	return killed
}
