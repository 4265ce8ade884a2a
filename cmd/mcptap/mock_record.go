package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/replay/client"
	"github.com/mcptap/mcptap/tap/stdio"
)

// The record modes, as VCR has them.
const (
	recordNone = "none"
	recordOnce = "once"
	recordNew  = "new"
	recordAll  = "all"
)

const mockRecordLong = `With --record and the command of a server, or --to and its URL, it is recorded what is
not yet:

  none   nothing; the server is not started
  once   the whole session if there is no REC yet, nothing if there is one
  new    what is not in REC comes from the server, and is added to REC
  all    the whole session, in the place of what is in REC

REC is then a file, or a recording that exists. The new one is made beside it and
takes its place when it is whole. With --listen the client is one of Streamable HTTP:
one session a run, which becomes a session on stdio, and is written when the client has
ended it by a DELETE, or when mcptap is interrupted.`

const (
	// answerTime is how long a live server may take for what it still owes when the
	// client has ended its input. A client that does not wait so long sends SIGTERM.
	answerTime = 30 * time.Second
	// leaveTime is how long it may take then to end before it is told to. The
	// recording has been written.
	leaveTime = time.Second
)

// mockRecordOptions are the flags of the record modes.
type mockRecordOptions struct{ mode, to string }

func (o *mockRecordOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.mode, "record", recordNone, "with -- CMD or --to, `what` to record of it: none, once, new or all")
	cmd.Flags().StringVar(&o.to, "to", "", "a server's `URL` instead of -- CMD: Streamable HTTP, HTTP+SSE if it ends in /sse, or a WebSocket (ws://)")
	_ = cmd.RegisterFlagCompletionFunc("record", cobra.FixedCompletions([]string{recordNone, recordOnce, recordNew, recordAll}, cobra.ShellCompDirectiveNoFileComp))
}

// mockArgs takes a recording and, behind --, a command.
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
	if err == nil && also == nil && to != "" && len(args) == len(rec) {
		_, err = serverURL(to)
	}
	switch command := args[len(rec):]; {
	case err != nil || also != nil:
		return errors.Join(err, also)
	case !slices.Contains([]string{recordNone, recordOnce, recordNew, recordAll}, mode):
		return fmt.Errorf("--record: unknown mode %s (want none, once, new or all)", quote(mode))
	case to != "" && len(command) > 0:
		return errors.New("--to and a command are two servers: name one")
	case mode != recordNone && len(command) == 0 && to == "":
		return withHint(fmt.Errorf("--record %s needs the command of a server", mode), "`mcptap mock session.mcptap --record "+mode+" -- npx -y @modelcontextprotocol/server-everything`")
	case !cmd.Flags().Changed("record") && (len(command) > 0 || to != ""):
		return withHint(errors.New("mcptap mock asks no other server without --record"), "--record new asks it for what is not recorded")
	}
	return nil
}

// plan says what a run does: the mode none, new or all.
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

// recordWhole runs a server as `mcptap stdio` does, and puts the recording in the
// place of the one that was named.
func (a *app) recordWhole(ctx context.Context, arg string, command []string) error {
	target, err := a.recordTarget(arg)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(target), ".mcptap-record-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var once sync.Once
	warn := func(msg string) { once.Do(func() { a.say("not recording: " + msg) }) }
	inner := app{stdin: a.stdin, stdout: a.stdout, stderr: a.stderr, env: a.env, now: a.now, zone: a.zone, dirFlag: work}
	rec := new(stdioOptions).record(&inner, command, 64<<20, warn)
	if rec == nil {
		return errors.New("there is no place for the recording") // warn said which
	}
	code, err := stdio.Run(stdio.Config{Command: command, Recorder: rec, Warn: warn})
	rec.Close()
	if err != nil {
		a.say(err.Error())
	} else if err = a.publishIfAsked(context.WithoutCancel(ctx), rec.Path(), target); err != nil {
		return err
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// recordTarget is the file that a recording which may not exist yet is to become.
func (a *app) recordTarget(arg string) (string, error) {
	if _, err := os.Stat(arg); err == nil {
		return arg, nil
	}
	if path, err := a.find(arg); err == nil {
		return path, nil
	}
	switch filepath.Ext(arg) {
	case ".mcptap", ".ndjson", ".txtar":
		return arg, nil
	}
	return "", withHint(fmt.Errorf("%s is no recording, nor the name of a file for one", quote(arg)), "a file's name ends in .mcptap, .ndjson or .txtar")
}

// serverURL reads the URL of a live server, of --to. A password in it is not repeated.
func serverURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	var wrong *url.Error
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("--to: the server's URL cannot be read: %w", wrong.Err)
	}
	if u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return nil, withHint(fmt.Errorf("--to: %s is no URL of a server", quote(u.Redacted())), "it begins with http://, https://, ws:// or wss://")
	}
	return u, nil
}

// dialLive reaches a server at a URL.
func dialLive(to string, refused func(id []byte, why string)) (io.ReadWriteCloser, error) {
	u, err := serverURL(to)
	if err != nil {
		return nil, err
	}
	watcher := new(client.Watcher) // there is no tap to be watched
	conn := client.HTTP(to, watcher)
	switch {
	case strings.HasPrefix(u.Scheme, "ws"):
		conn = client.WebSocket(to)
	case strings.HasSuffix(u.Path, "/sse"):
		conn = client.SSE(to, watcher)
	}
	return client.NewLines(conn, refused)
}

// A liveServer is a process that an [mock.Extender] asks.
type liveServer struct {
	process *stdio.Process
	stderr  chan struct{} // closed when all of it has been passed on
}

func startLive(a *app, command []string) (*liveServer, error) {
	p, err := stdio.Start(command)
	if err != nil {
		return nil, err
	}
	l := &liveServer{p, make(chan struct{})}
	go func() {
		defer close(l.stderr)
		_, _ = io.Copy(a.stderr, p.Stderr)
	}()
	return l, nil
}

func (l *liveServer) Read(p []byte) (int, error)  { return l.process.Stdout.Read(p) }
func (l *liveServer) Write(p []byte) (int, error) { return l.process.Stdin.Write(p) }
func (l *liveServer) Close() error                { return l.process.Stdin.Close() }

// end ends the process, whose input is over.
func (l *liveServer) end() {
	for _, tell := range []func() (string, error){l.process.Terminate, l.process.Kill} {
		select {
		case <-l.process.Ended():
		case <-time.After(leaveTime):
			_, _ = tell()
		}
	}
	<-l.process.Ended()
	l.process.Stdout.Close()
	l.process.Stderr.Close()
	<-l.stderr
}
