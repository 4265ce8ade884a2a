package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mcptap/mcptap/mock"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
)

// extend plays a recording to the client, and asks a server for what is not in it,
// which is added then. Anew says that there is nothing to play.
func (o *mockOptions) extend(ctx context.Context, a *app, arg string, command []string, opt replay.Options, anew bool) error {
	var report *mockReport
	var live *liveServer
	e := &mock.Extender{Note: func(n replay.Note) { report.note(n) }}
	e.Start = func() (io.ReadWriteCloser, error) {
		if o.record.at.to != "" {
			return o.record.dialLive(e.Refuse)
		}
		var err error
		if live, err = startLive(a, command); err != nil {
			return nil, err
		}
		return live, nil
	}
	opt.Elsewhere = e.Elsewhere
	target, err := a.recordTarget(arg)
	if err != nil {
		return err
	}
	rec, err := o.toExtend(ctx, a, arg, opt, anew)
	if err != nil {
		return err
	}
	defer rec.Close()
	if report, err = newMockReport(a, o.report, arg, rec.Script); err != nil {
		return err
	}
	report.watch(&opt)
	in, out := a.stdin, a.stdout
	var web *recordedWeb
	if o.http.listen != "" {
		if web, err = o.http.front(ctx, a, rec); err != nil {
			return errors.Join(err, report.end())
		}
		defer web.cancel()
		ctx, in, out = web.ctx, web.front, web.front
	}
	session, err := e.Serve(ctx, rec.Script, in, out, answerTime)
	report.over(session)
	if web != nil {
		web.front.Close()
	}
	if ctx.Err() != nil {
		err = nil // a host ends servers so
	}
	if added := e.Added(); len(added) > 0 {
		err = errors.Join(err, o.record.keep(context.WithoutCancel(ctx), a, arg, target, added, command, anew))
	}
	err = errors.Join(err, e.Close())
	if live != nil {
		live.end()
	}
	if web != nil {
		err = web.wait(err)
	}
	return errors.Join(err, report.end())
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

// recordedWeb serves the client over HTTP while something is recorded.
type recordedWeb struct {
	front  *mock.Front
	ctx    context.Context // ends when nothing is served any more
	cancel context.CancelFunc
	served chan error
}

// front begins to serve.
func (o *mockHTTPOptions) front(ctx context.Context, a *app, rec *mock.Recording) (*recordedWeb, error) {
	listener, opt, err := o.bind(a, "what was recorded, and what the server says")
	if err != nil {
		return nil, err
	}
	web := &recordedWeb{front: mock.NewFront(rec, opt), served: make(chan error, 1)}
	web.ctx, web.cancel = context.WithCancel(ctx)
	err = o.announce(a, jsonMockListening{
		URL: "http://" + reachable(listener.Addr()) + web.front.Path(), Listen: listener.Addr().String(), Sessions: 1,
	})
	if err != nil {
		web.cancel()
		return nil, errors.Join(err, listener.Close())
	}
	go func() {
		defer web.cancel()
		err := mock.Serve(web.ctx, listener, web.front)
		if err != nil {
			err = fmt.Errorf("listening on %s: %w", listener.Addr(), err)
		}
		web.served <- err
	}()
	return web, nil
}

// wait serves on until the run is interrupted, since whoever started it expects it to
// be there: that the session is over is what clients get. With an error it ends now.
func (w *recordedWeb) wait(err error) error {
	if err != nil {
		w.cancel()
	}
	return errors.Join(err, <-w.served)
}
