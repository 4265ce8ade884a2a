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
	"github.com/mcptap/mcptap/tap"
)

// beginPause is how often it is looked for a recording that has not begun.
const beginPause = 50 * time.Millisecond

// sendGrace is how long a collector is waited for after the tap's end. On a machine
// that is busy with tests it is more.
var sendGrace = 5 * time.Second

// newSendOTLP is the process that a tap starts for --otlp; nobody else has use for it.
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
	})}
	context.AfterFunc(alive, func() { x.to.Limit(sendGrace) })
	if err := x.follow(told); err != nil {
		return fmt.Errorf("no more traces: %w", err)
	}
	return nil
}

// awaitRecording opens a recording that is about to be made, as long as the tap lives.
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

// follow sends what there is and what comes, until the recording has ended: then the
// calls that are open too. It ends with ctx as well.
func (x *sending) follow(ctx context.Context) error {
	defer x.to.Close()
	var err error
	if x.whose, err = x.rec.Info(); err != nil {
		return err
	}
	x.spans = formats.NewSpans(formats.About{Header: x.whose.Header, Raw: x.rec.WriteRaw})
	for f, err := range x.rec.Follow(ctx, 0) {
		if err == nil {
			err = x.add(&f)
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // others may still see the ends of these calls
	}
	return x.send(x.spans.Open())
}

func (x *sending) add(f *tap.Frame) error {
	spans, err := x.spans.Add(f)
	if err != nil {
		return err
	}
	return x.send(spans)
}

// send hands spans over, with what is known by now of whose they are.
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
