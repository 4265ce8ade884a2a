package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/labels"
	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/stdio"
)

const stdioLong = `Starts the server CMD and records every frame between it and the client. Input, output,
stderr, signals and exit code are the server's own. In the client's configuration,

    "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]

becomes

    "command": "mcptap",
    "args": ["stdio", "--", "npx", "-y", "@modelcontextprotocol/server-everything"]

If mcptap cannot record, it prints one line on stderr and keeps forwarding.

The exit code is the server's, 128+n if signal n ended it, 127 if CMD was not found,
126 if it could not be run, and 125 if the flags of mcptap are wrong.`

type stdioOptions struct {
	label string
	off   bool
	queue string
	web   string

	redaction redaction
	otlp      otlpOptions
}

func newStdio(a *app) *cobra.Command {
	var o stdioOptions
	cmd := &cobra.Command{
		Use:     "stdio [flags] [--] CMD [ARG…]",
		Short:   "Record a server on stdio: run it and forward its input and output",
		Long:    stdioLong,
		Example: "  mcptap stdio -- npx -y @modelcontextprotocol/server-everything\n  mcptap stdio --label notes -- python -m notes_server",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(a, cmd, args)
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *stdioOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.label, "label", "", "")
	f.BoolVar(&o.off, "off", false, "")
	addWeb(f, &o.web)
	o.otlp.addFlags(cmd)
	o.redaction.addFlags(f)
	f.StringVar(&o.queue, "queue", "64MiB", "")
	settings.Describe(f)
}

func (o *stdioOptions) run(a *app, cmd *cobra.Command, command []string) error {
	if len(command) == 0 {
		return o.fail(hint.With(errors.New("mcptap stdio needs the command of a server"),
			"`mcptap stdio -- npx -y @modelcontextprotocol/server-everything`"))
	}
	a.warnVariables()
	// A variable may not be meant for this server, and must not stop it.
	if err := settings.Read(a.env, "stdio", cmd.Flags()); err != nil {
		a.say("ignored " + strings.Join(messages(err), ", and "))
	}
	queue, err := term.ParseSize(o.queue)
	if err != nil {
		return o.fail(fmt.Errorf("--queue: %w", err))
	}
	if err := errors.Join(o.redaction.check(), o.otlp.check()); err != nil {
		return o.fail(err)
	}
	var once sync.Once // one line on stderr, whatever else fails
	warn := func(msg string) {
		once.Do(func() { a.say("not recording: " + msg) })
	}
	// The writer's garbage is large, short-lived and free of pointers, so collecting it
	// rarely saves a quarter of the tap's work. The limit still keeps the tap small, not
	// counting its queue.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(heapLimit)
	var rec *store.Recorder
	cfg := stdio.Config{Command: command, Warn: warn}
	opened := make(chan struct{})
	flush := func() {}
	if o.off {
		close(opened)
	} else {
		go func() { // while the server is being started
			defer close(opened)
			if rec = o.record(a, command, queue, warn); rec != nil {
				a.startReaders(o.web, &o.otlp, rec.Path())
			}
		}()
		cfg.Open = func(int) (to tap.Recorder) {
			if <-opened; rec == nil {
				return nil
			}
			to, flush = o.redaction.recorder(rec)
			return to
		}
	}
	code, err := stdio.Run(cfg)
	if <-opened; rec != nil {
		flush()
		rec.Close()
	}
	if err != nil {
		a.say(err.Error())
		if name := command[0]; code == exitNotFound && len(command) == 1 && strings.Contains(name, " ") {
			a.say("hint: the command and its arguments are separate words: `mcptap stdio -- " + name + "`")
		}
	}
	if code == 0 {
		return nil
	}
	return exitCode(code)
}

// heapLimit is the memory limit of the tap. Its queue is not counted.
const heapLimit = 36 << 20

// record opens the recording. It returns nil without a data directory.
func (o *stdioOptions) record(a *app, command []string, queue int64, warn func(string)) *store.Recorder {
	dir, err := a.dataDir()
	if err != nil {
		warn(err.Error())
		a.hintFor(err)
		return nil
	}
	return store.Create(dir, o.redaction.header(o.header(command)), store.Options{
		Queue: queue,
		Warn:  func(err error) { warn(err.Error()) },
	})
}

// fail marks an error as mcptap's own, so that the client does not take its code for the
// server's, even if stdio is not the first word.
func (o *stdioOptions) fail(err error) error { return coded{err, exitTap} }

func (o *stdioOptions) header(command []string) tap.Header {
	label := o.label
	if label == "" {
		label = labels.For(command)
	}
	dir, _ := os.Getwd() // a server also runs in a removed directory
	return tap.Header{
		Label: label, Transport: "stdio", Command: command, Dir: dir,
		Program:  "mcptap " + programVersion(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}
