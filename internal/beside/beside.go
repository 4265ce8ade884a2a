// Package beside starts processes that read a recording while a tap writes it: the viewer, and the
// trace sender.
package beside

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
	"strings"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/export/otlp"
	"github.com/mcptap/mcptap/store"
)

// A subprocess is a process that a tap starts to read its recording. It has its own
// memory and may crash without affecting the traffic.
//
// It does not inherit the tap's streams: stdout and stderr belong to the host, which may
// wait until every process that holds them has exited.
type subprocess struct {
	// stdin stays open until the tap exits, for whatever reason.
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

// StartViewer starts the viewer process and returns the URL of the page.
func StartViewer(listen, dir, path string) (string, error) {
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

// A target is the JSON line that the sending process reads from stdin, because arguments and
// environment are visible to other processes.
type target struct {
	URL    string      `json:"url"`
	Header http.Header `json:"header"`
}

// SendTraces starts the process that sends the calls of a recording, which may not exist yet. It
// passes the first line of its output to say, and returns when the process exits.
func SendTraces(to *url.URL, header http.Header, path string, say func(string)) error {
	line, err := json.Marshal(target{to.String(), header})
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

// maxOutputLine limits the line of output that is reported.
const maxOutputLine = 2 << 10

// openInterval is the poll interval for a recording that does not exist yet.
const openInterval = 50 * time.Millisecond

// SendGrace limits the sending after the tap has exited. Tests raise it for busy machines.
var SendGrace = 5 * time.Second

// Send is the main function of the process that [SendTraces] starts. It follows a recording to its
// end. stdin carries a [target] and ends when the tap exits; resource is the value of
// OTEL_RESOURCE_ATTRIBUTES.
func Send(stdin io.Reader, path, version, resource string, say func(string)) error {
	store.GiveWay() // to the tap, the client and the server
	// Ctrl-C and hangup are for the tap, which this process outlives; the reader of its output may
	// exit first.
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var to target
	if err := json.NewDecoder(stdin).Decode(&to); err != nil {
		return fmt.Errorf("send-otlp is started by a tap: %w", err)
	}
	collector, err := url.Parse(to.URL)
	if err != nil {
		return errors.New("send-otlp: no URL") // the parse error would quote it
	}
	alive, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	rec, err := awaitRecording(alive, path)
	if err != nil {
		return fmt.Errorf("no traces: %w", err)
	}
	x := sending{rec: rec, to: otlp.NewSender(otlp.Config{
		URL: collector, Header: to.Header, Program: "mcptap", Version: version, Warn: say,
		Resource: otlp.Attributes(resource),
	})}
	context.AfterFunc(alive, func() { x.to.Limit(SendGrace) })
	if err := x.follow(ctx); err != nil {
		return fmt.Errorf("no more traces: %w", err)
	}
	return nil
}

// awaitRecording opens a recording that is about to be created. It waits until the file exists or the
// tap exits.
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
	spans *export.Spans
	info  store.Info
}

// follow sends each call of the recording when it ends, and the open calls when the recording ends.
// It returns when ctx is done.
func (x *sending) follow(ctx context.Context) error {
	defer x.to.Close()
	var err error
	if x.info, err = x.rec.Info(); err != nil {
		return err
	}
	x.spans = export.NewSpans(export.About{Header: x.info.Header, Raw: x.rec.WriteRaw})
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

// send queues spans with what is known about their resource.
func (x *sending) send(spans []export.Span) error {
	if len(spans) == 0 {
		return nil
	}
	if f := &x.info.Tally.Facts; f.Client.Name == "" || f.Server.Name == "" {
		var err error
		if x.info, err = x.rec.Info(); err != nil {
			return err
		}
	}
	x.to.Send(export.Resource(&x.info.Header, &x.info.Tally.Facts), spans)
	return nil
}
