package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	formats "github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/export/otlp"
	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/store"
)

// A subprocess is a process that a tap starts to read its recording. It has its own
// memory and may crash without affecting the traffic.
//
// It does not inherit the tap's streams: stdout and stderr belong to the host, which may
// wait until every process that holds them has exited.
type subprocess struct {
	// stdin stays open until the tap exits, for any reason.
	stdin io.Writer
	// output carries its stdout and stderr, and ends when it exits.
	output *os.File
}

// startSubprocess starts this program with other arguments.
func startSubprocess(args ...string) (*subprocess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		output.Close()
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		alive.Close()
	}()
	return &subprocess{alive, output}, nil
}

// startReaders starts the processes that read a recording while it is made: the viewer,
// and the sender of traces. It returns at once.
func (a *app) startReaders(web string, traces *otlpOptions, path string) {
	if web != "" {
		a.openViewer(web, path)
	}
	if traces.to != nil {
		a.sendTraces(traces, path)
	}
}

// addWeb adds --web, which starts the viewer, to a command that records.
func addWeb(f *pflag.FlagSet, web *string) {
	f.StringVar(web, "web", "", "serve the recording to a browser at this `address`, and print the URL on stderr")
	f.Lookup("web").NoOptDefVal = anyPort
}

// openViewer starts the viewer on a recording, which may not exist yet, and prints its
// URL on stderr. It returns at once. The viewer exits when the tap has exited and no
// page is open.
func (a *app) openViewer(listen, path string) {
	go func() {
		url, err := startViewer(listen, filepath.Dir(path), path)
		if err != nil {
			a.say("no viewer: " + err.Error())
			return
		}
		a.say("watch it at " + url)
	}()
}

// startViewer starts the process and returns the URL of the page.
func startViewer(listen, dir, path string) (string, error) {
	p, err := startSubprocess("web", "--until-eof", "--listen", listen, "--dir", dir, "--", path)
	if err != nil {
		return "", err
	}
	defer p.output.Close()
	line, err := bufio.NewReader(p.output).ReadString('\n')
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "http://") {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%s", strings.Replace(strings.TrimPrefix(line, "mcptap: "), "--listen", "--web", 1))
		}
		return "", err
	}
	return line, nil
}

// otlpOptions holds the destination of the spans of a tap.
type otlpOptions struct {
	url     string
	headers []string

	to     *url.URL // nil for nowhere
	header http.Header
}

func (o *otlpOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.url, "otlp", "", "")
	f.StringArrayVar(&o.headers, "otlp-header", nil, "")
	for _, name := range []string{"otlp", "otlp-header"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// check parses the URL and the fields. Its errors do not repeat them, because they may
// be secrets.
func (o *otlpOptions) check() error {
	o.to, o.header = nil, http.Header{}
	if o.url == "" {
		return nil
	}
	if err := settings.CheckCollector(o.url); err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	fields, err := endpoint.ParseHeaders("--otlp-header", o.headers)
	if err != nil {
		return err
	}
	for _, f := range fields {
		o.header.Add(f[0], f[1])
	}
	o.to, err = otlp.TracesURL(o.url)
	return err
}

// An otlpTarget is the line of JSON on stdin of the sending process. Arguments and
// environment are visible to other processes.
type otlpTarget struct {
	URL    string      `json:"url"`
	Header http.Header `json:"header"`
}

// sendTraces starts the process that sends the calls of a recording, which may not
// exist yet. It returns at once. The first problem is reported on stderr.
func (a *app) sendTraces(o *otlpOptions, path string) {
	go func() {
		if err := o.send(path, a.say); err != nil {
			a.say("no traces: " + err.Error())
		}
	}()
}

// send starts the process, repeats its first line of output, and returns when it exits.
func (o *otlpOptions) send(path string, say func(string)) error {
	line, err := json.Marshal(otlpTarget{o.to.String(), o.header})
	if err != nil {
		return err
	}
	p, err := startSubprocess("send-otlp", "--", path)
	if err != nil {
		return err
	}
	defer p.output.Close()
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		return err
	}
	output, _ := bufio.NewReader(io.LimitReader(p.output, maxOutputLine)).ReadString('\n')
	if output = strings.TrimSpace(output); output != "" {
		say(strings.TrimPrefix(output, "mcptap: "))
	}
	_, _ = io.Copy(io.Discard, p.output)
	return nil
}

// maxOutputLine limits the line of the process that is repeated.
const maxOutputLine = 2 << 10

// openInterval is the poll interval for a recording that does not exist yet.
const openInterval = 50 * time.Millisecond

// sendGrace limits sending after the tap's end. Tests, on a busy machine, raise it.
var sendGrace = 5 * time.Second

// newSendOTLP returns the command that a tap runs for --otlp.
func newSendOTLP(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "send-otlp FILE", Short: "Send the calls of a recording that is being made", Hidden: true,
		Args:              takes(1, 1, "the file of a recording"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, args []string) error { return sendOTLP(a, args[0]) },
	}
}

// sendOTLP follows a recording to its end. Stdin carries an [otlpTarget] and ends when
// the tap exits.
func sendOTLP(a *app, path string) error {
	store.GiveWay() // to the tap, and to client and server
	// Ctrl-C and hangup are for the tap, which this process outlives; the reader of its
	// output may exit first.
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var to otlpTarget
	if err := json.NewDecoder(a.stdin).Decode(&to); err != nil {
		return fmt.Errorf("send-otlp is started by a tap: %w", err)
	}
	target, err := url.Parse(to.URL)
	if err != nil {
		return errors.New("send-otlp: no URL") // the error would repeat it
	}
	alive, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin)
		cancel()
	}()
	rec, err := awaitRecording(alive, path)
	if err != nil {
		return fmt.Errorf("no traces: %w", err)
	}
	x := sending{rec: rec, to: otlp.NewSender(otlp.Config{
		URL: target, Header: to.Header, Program: "mcptap", Version: programVersion(), Warn: a.say,
		Resource: otlp.Attributes(a.env("OTEL_RESOURCE_ATTRIBUTES")),
	})}
	context.AfterFunc(alive, func() { x.to.Limit(sendGrace) })
	if err := x.follow(ctx); err != nil {
		return fmt.Errorf("no more traces: %w", err)
	}
	return nil
}

// awaitRecording opens a recording that is about to be created. It waits for the file
// until the tap exits.
func awaitRecording(alive context.Context, path string) (*store.Recording, error) {
	for {
		rec, err := store.Open(path)
		notYet := errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNotRecording)
		if !notYet || alive.Err() != nil {
			return rec, err
		}
		select {
		case <-alive.Done():
		case <-time.After(openInterval):
		}
	}
}

// A sending sends the calls of a recording.
type sending struct {
	rec   *store.Recording
	to    *otlp.Sender
	spans *formats.Spans
	info  store.Info
}

// follow sends each call of the recording when it ends, and the open calls when the
// recording ends. It returns when ctx is done.
func (x *sending) follow(ctx context.Context) error {
	defer x.to.Close()
	var err error
	if x.info, err = x.rec.Info(); err != nil {
		return err
	}
	x.spans = formats.NewSpans(formats.About{Header: x.info.Header, Raw: x.rec.WriteRaw})
	for f, err := range x.rec.Follow(ctx, 0) {
		if err == nil {
			err = x.send(x.spans.Add(&f))
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // the open calls may still end
	}
	return x.send(x.spans.Open())
}

// send queues spans with what is known of their resource.
func (x *sending) send(spans []formats.Span) error {
	if len(spans) == 0 {
		return nil
	}
	if f := &x.info.Tally.Facts; f.Client.Name == "" || f.Server.Name == "" {
		var err error
		if x.info, err = x.rec.Info(); err != nil {
			return err
		}
	}
	x.to.Send(formats.Resource(&x.info.Header, &x.info.Tally.Facts), spans)
	return nil
}
