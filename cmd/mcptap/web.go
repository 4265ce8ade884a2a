package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/web"
	"github.com/mcptap/mcptap/web/source"
)

const webLong = `Serves a page that lists recordings, shows their traffic, and follows live ones. REC
opens that recording, REC#2 its second session. The page is read only and loads nothing
from other hosts.

It prints a URL with a token. A browser that has opened it once is remembered; all
other requests are refused. By default only this machine can connect. On an address
that is not loopback, anyone with the token can read over plain HTTP; prefer to
forward a port through SSH.`

type webOptions struct {
	listen string
	open   bool
	// child reports that a tap started this process: it exits when stdin has ended and
	// no page is open.
	child bool
}

func newWeb(a *app) *cobra.Command {
	var o webOptions
	cmd := &cobra.Command{
		Use:               "web [REC] [flags]",
		Short:             "Show recordings in a browser",
		Long:              webLong,
		Example:           "  mcptap web --open\n  mcptap web @live --listen 127.0.0.1:8080",
		Args:              takes(0, 1, ""),
		ValidArgsFunction: a.completeRecording,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), a, args)
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *webOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", anyPort, "listen on this `address`; port 0 picks a free port")
	f.BoolVar(&o.open, "open", false, "open the page in the browser")
	f.BoolVar(&o.child, "until-eof", false, "end after stdin has ended and no page is open")
	_ = f.MarkHidden("until-eof")
}

func (o *webOptions) run(ctx context.Context, a *app, args []string) error {
	dir, err := a.dataDir()
	if err != nil {
		return err
	}
	src := source.New(dir)
	key, session := "", 0
	if len(args) > 0 {
		var path string
		path, session, err = a.findSession(args[0])
		if err == nil && !o.child { // the recording of a tap may not exist yet
			err = checkSession(path, session)
		}
		if err != nil {
			return err
		}
		key = src.Include(path)
	}
	l, err := listenLocal(o.listen)
	if err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(o.listen)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := web.NewServer(ctx, web.Config{
		Source: src, Token: web.NewToken(), Host: host, Dir: a.dirForCommands(dir), Version: programVersion(),
	})
	if o.child {
		// Ctrl-C on a terminal is for the tap: open pages still show how it ends.
		signal.Ignore(os.Interrupt)
		go func() {
			_, _ = io.Copy(io.Discard, a.stdin)
			s.WaitUnwatched(ctx)
			stop()
		}()
	}
	signals := make(chan os.Signal, 1)
	if !o.child {
		signal.Notify(signals, endSignals()...)
		defer signal.Stop(signals)
	}
	url := s.URL(l.Addr(), key, session)
	if _, err := fmt.Fprintln(a.stdout, url); err != nil {
		l.Close()
		return err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		a.say("other machines can reach this address: anyone with the URL can read all recordings, without encryption")
	}
	if o.open {
		if err := openBrowser(url); err != nil {
			a.say("cannot open a browser: " + err.Error())
			a.say("hint: open the URL yourself")
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err = <-ended:
	case s := <-signals:
		return exitCode(128 + int(s.(syscall.Signal)))
	}
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	if o.child {
		return nil
	}
	return ctx.Err()
}

// checkSession returns an error if a recording cannot be read, or if it has ended without
// the session.
func checkSession(path string, session int) error {
	rec, err := store.Open(path)
	if err != nil {
		return err
	}
	info, err := rec.Info()
	if n := max(int(info.Tally.Sessions), 1); err == nil && session > n && info.Status != store.Live {
		err = recording.NoSession(path, n, session)
	}
	return err
}

// dirForCommands returns the data directory for a suggested command, or "" if the command
// finds it in any shell without --dir.
func (a *app) dirForCommands(dir string) string {
	env := func(name string) string {
		if name == "MCPTAP_DIR" { // another shell may not have it
			return ""
		}
		return a.env(name)
	}
	if usual, err := settings.DataDir("", runtime.GOOS, env, os.UserHomeDir); err == nil && wholefile.SamePath(usual, dir) {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// listenLocal listens on an address. A bare port means loopback only.
func listenLocal(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, hint.With(fmt.Errorf("--listen: invalid address %s", term.Quote(address)), "use a form such as 127.0.0.1:8080")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, endpoint.ListenError("--listen", address, err)
	}
	return l, nil
}

// openBrowser opens a URL in the user's browser.
func openBrowser(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
