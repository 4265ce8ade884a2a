package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/mock"
	mockrecord "github.com/mcptap/mcptap/mock/record"
	mockreport "github.com/mcptap/mcptap/mock/report"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/stdio"
	"github.com/mcptap/mcptap/tap/streamable"
)

// The record modes, named as in VCR.
const (
	recordNone = "none"
	recordOnce = "once"
	recordNew  = "new"
	recordAll  = "all"
)

// mockRecordOptions are the flags of the record modes.
type mockRecordOptions struct {
	mode string
	at   endpoint.Server
	// tap is for the server at --to.
	tap streamable.Config
}

func (o *mockRecordOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.mode, "record", recordNone, "`what` to record from -- CMD or --to: none, once, new or all")
	addServerURL(cmd, &o.at, "`URL` of the real server instead of -- CMD: Streamable HTTP, HTTP+SSE if it ends in /sse, or WebSocket (ws://)")
	_ = cmd.RegisterFlagCompletionFunc("record", cobra.FixedCompletions([]string{recordNone, recordOnce, recordNew, recordAll}, cobra.ShellCompDirectiveNoFileComp))
}

// mockArgs takes a recording and, after --, a command.
func mockArgs(cmd *cobra.Command, args []string) error {
	rec := args
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		rec = args[:dash]
	}
	if err := takes(1, 1, "a recording")(cmd, rec); err != nil {
		return err
	}
	mode, err := cmd.Flags().GetString("record")
	to, also := cmd.Flags().GetString("to")
	switch command := args[len(rec):]; {
	case err != nil || also != nil:
		return errors.Join(err, also)
	case !slices.Contains([]string{recordNone, recordOnce, recordNew, recordAll}, mode):
		return fmt.Errorf("--record: unknown mode %s (want none, once, new or all)", term.Quote(mode))
	case to != "" && len(command) > 0:
		return errors.New("--to and a command cannot be combined")
	case mode != recordNone && len(command) == 0 && to == "":
		return hint.With(fmt.Errorf("--record %s needs the command of a server", mode), "`mcptap mock session.mcptap --record "+mode+" -- npx -y @modelcontextprotocol/server-everything`")
	case !cmd.Flags().Changed("record") && (len(command) > 0 || to != ""):
		return hint.With(errors.New("-- CMD and --to require --record"), "add --record new to record missing responses")
	}
	return nil
}

// check reads the flags for a server at a URL.
func (o *mockRecordOptions) check(cmd *cobra.Command) (err error) {
	for _, flag := range []string{"header", "ca-file", "transport"} {
		if o.at.To == "" && cmd.Flags().Changed(flag) {
			return hint.With(fmt.Errorf("--%s requires --to", flag), "add --to URL")
		}
	}
	if o.at.To == "" {
		return nil
	}
	if err := o.at.CheckTransport(); err != nil {
		return err
	}
	o.tap, err = o.at.Config()
	return err
}

// plan returns the mode of the run: none, new or all.
func (o *mockRecordOptions) plan(a *app, arg string) string {
	missing := false
	if _, err := os.Stat(arg); errors.Is(err, os.ErrNotExist) {
		_, err := a.find(arg)
		missing = err != nil
	}
	switch {
	case o.mode == recordAll, o.mode != recordNone && missing:
		return recordAll
	case o.mode == recordNew:
		return recordNew
	}
	return recordNone
}

// recordWhole runs a server as `mcptap stdio` does, and replaces the named recording with
// the new one.
func (a *app) recordWhole(ctx context.Context, arg string, command []string) error {
	target, err := mockrecord.Target(arg, a.find)
	if err != nil {
		return err
	}
	work, err := wholefile.TempDir(target)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var once sync.Once
	warn := func(msg string) { once.Do(func() { a.say("not recording: " + msg) }) }
	inner := app{stdin: a.stdin, stdout: a.stdout, stderr: a.stderr, env: a.env, now: a.now, zone: a.zone, dirFlag: work}
	rec := new(stdioOptions).record(&inner, command, 64<<20, warn)
	if rec == nil {
		return errors.New("no directory for the recording") // warn has reported why
	}
	code, err := stdio.Run(stdio.Config{Command: command, Recorder: rec, Warn: warn})
	rec.Close()
	if err != nil {
		a.say(err.Error())
	} else if err = mockrecord.PublishIfAnswered(context.WithoutCancel(ctx), rec.Path(), target, command); err != nil {
		return nothingExit(err)
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// How long a live server may take for its pending responses once the client has closed its
// input: a process, whose input is closed too, and a server at a URL. A client that does
// not wait that long sends SIGTERM.
const (
	processPatience = 5 * time.Second
	urlPatience     = 30 * time.Second
)

// extend plays a recording to the client, forwards other requests to a server, and adds
// them to the recording. If anew is set, there is nothing to play.
func (o *mockOptions) extend(ctx context.Context, a *app, arg string, command []string, opt replay.Options, anew bool) error {
	server := mockrecord.Server{At: o.record.at, Tap: o.record.tap, Header: new(stdioOptions).header(command), Stderr: a.stderr, Open: a.open, Now: a.now}
	live := &mock.Live{Patience: processPatience, Dial: server.Dial}
	if o.record.at.To != "" {
		live.Patience = urlPatience
	}
	opt.Forward = live.Forward
	target, err := mockrecord.Target(arg, a.find)
	if err != nil {
		return err
	}
	rec, err := o.toExtend(ctx, a, arg, opt, anew)
	if err != nil {
		return err
	}
	report, err := mockreport.New(o.report.Options, a.say, arg, rec.Script)
	if err != nil {
		return err
	}
	report.Watch(&opt)
	finish := func() error {
		defer live.Close()
		added := live.Added()
		if len(added) == 0 {
			return nil
		}
		return nothingExit(server.Keep(context.WithoutCancel(ctx), arg, target, added, anew))
	}
	if o.http.listen != "" {
		return endMock(report, o.extendHTTP(ctx, a, rec, report, live, finish))
	}
	session, err := live.Stdio(ctx, rec.Script, a.stdin, a.stdout, report.Note)
	report.Over(session)
	if ctx.Err() != nil {
		err = nil // hosts end servers this way
	}
	return endMock(report, errors.Join(err, finish()))
}

// extendHTTP serves the client over HTTP until the run is interrupted. It keeps serving
// after the session has ended, because the program that started it expects a server, but
// then only reports to clients that the session has ended.
func (o *mockOptions) extendHTTP(ctx context.Context, a *app, rec *mock.Recording, report *mockreport.Report, live *mock.Live, finish func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over, served := make(chan struct{}), make(chan error, 1)
	opt := mock.ServerOptions{Note: report.Note, Live: live, Over: func(s *replay.Session) {
		report.Over(s)
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

// toExtend opens the recording to extend, which must have one session.
func (o *mockOptions) toExtend(ctx context.Context, a *app, arg string, opt replay.Options, anew bool) (*mock.Recording, error) {
	if anew {
		return mock.Load(func(func(tap.Frame, error) bool) {}, opt)
	}
	rec, err := a.loadMock(ctx, arg, opt)
	if err != nil {
		return nil, err
	}
	if scripts := rec.Scripts(); len(scripts) > 1 {
		return nil, fmt.Errorf("%s has %d sessions; --record new needs a recording with one", term.Quote(arg), len(scripts))
	}
	return rec, nil
}

// nothingExit sets the exit code of a run that recorded nothing.
func nothingExit(err error) error {
	var nothing *mockrecord.NothingError
	if errors.As(err, &nothing) {
		return coded{err, exitNegative}
	}
	return err
}
