package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	formats "github.com/mcptap/mcptap/export"
	"github.com/mcptap/mcptap/export/otlp"
	"github.com/mcptap/mcptap/store"
)

// beginPause is the poll interval for a recording that does not exist yet.
const beginPause = 50 * time.Millisecond

// sendGrace limits sending after the tap's end. Tests, on a busy machine, raise it.
var sendGrace = 5 * time.Second

// newSendOTLP is the command that a tap runs for --otlp.
func newSendOTLP(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "send-otlp FILE", Short: "Send the calls of a recording that is being made", Hidden: true,
		Args:              takes(1, 1, "the file of a recording"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(_ *cobra.Command, args []string) error { return sendOTLP(a, args[0]) },
	}
}

// sendOTLP follows a recording to its end. Stdin brings an [otlpTarget], and then
// ends with the tap.
func sendOTLP(a *app, path string) error {
	store.GiveWay() // to the tap, and to client and server
	// Ctrl-C and the end of a terminal are for the tap, whose end this one outlives;
	// and so does it outlive whoever heard what it says.
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGPIPE)
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var to otlpTarget
	settings := json.NewDecoder(a.stdin)
	if err := settings.Decode(&to); err != nil {
		return fmt.Errorf("send-otlp is started by a tap: %w", err)
	}
	target, err := url.Parse(to.URL)
	if err != nil {
		return errors.New("send-otlp: no URL") // the error would repeat it
	}
	alive, gone := context.WithCancel(told)
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin)
		gone()
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
	if err := x.follow(told); err != nil {
		return fmt.Errorf("no more traces: %w", err)
	}
	return nil
}

// awaitRecording opens a recording that is about to be made. It waits for it until the
// tap ends.
func awaitRecording(alive context.Context, path string) (*store.Recording, error) {
	for {
		rec, err := store.Open(path)
		young := errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrNotRecording)
		if !young || alive.Err() != nil {
			return rec, err
		}
		select {
		case <-alive.Done():
		case <-time.After(beginPause):
		}
	}
}

// A sending is a recording whose calls are sent.
type sending struct {
	rec   *store.Recording
	to    *otlp.Sender
	spans *formats.Spans
	whose store.Info
}

// follow sends the calls of the recording as they end, and the open ones when the
// recording has ended. It returns when ctx ends.
func (x *sending) follow(ctx context.Context) error {
	defer x.to.Close()
	var err error
	if x.whose, err = x.rec.Info(); err != nil {
		return err
	}
	x.spans = formats.NewSpans(formats.About{Header: x.whose.Header, Raw: x.rec.WriteRaw})
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

// send queues spans with what is known by now of their resource.
func (x *sending) send(spans []formats.Span) error {
	if len(spans) == 0 {
		return nil
	}
	if f := &x.whose.Tally.Facts; f.Client.Name == "" || f.Server.Name == "" {
		var err error
		if x.whose, err = x.rec.Info(); err != nil {
			return err
		}
	}
	x.to.Send(formats.Resource(&x.whose.Header, &x.whose.Tally.Facts), spans)
	return nil
}
