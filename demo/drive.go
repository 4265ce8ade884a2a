package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// stepPatience bounds a step. The longest takes 600 ms.
	stepPatience = 5 * time.Second
	// exitPatience bounds the end of a command whose stdin was closed.
	exitPatience = 3 * time.Second
)

// Drive runs command, which leads to [Serve], and holds a session with it in
// the given revision, [Handshake] or [Stateless]. It uses every feature of the
// server once, and checks what comes back and in which order. Report, if not
// nil, is told in a few words about each thing that was done.
//
// Drive returns an error if the command cannot be run, anything is missing,
// wrong or out of order, or the command does not exit with 0 once its stdin is
// closed. The command is gone when Drive returns.
func Drive(ctx context.Context, revision string, command []string, report func(string)) error {
	steps, err := stepsFor(revision)
	if err != nil {
		return err
	}
	if len(command) == 0 {
		return errors.New("demo: no command to run")
	}
	if report == nil {
		report = func(string) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := newDriver(ctx, revision, command)
	for _, s := range steps {
		done, err := s.runIn(ctx, d)
		if err != nil {
			cancel() // kills the command, so that the session can be closed
			d.giveUp()
			return d.explain(fmt.Errorf("demo in %s: %s: %w", revision, s.what, err))
		}
		report(done)
	}
	return nil
}

// A step is one thing that the client does. Run says what was done.
type step struct {
	what string
	run  func(*driver, context.Context) (done string, err error)
}

// errTooLong is why a step ended that would have gone on.
var errTooLong = errors.New("waited in vain")

func (s step) runIn(ctx context.Context, d *driver) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stepPatience, errTooLong)
	defer cancel()
	done, err := s.run(d, ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return done, err
}

func stepsFor(revision string) ([]step, error) {
	middle := []step{
		{"lists", (*driver).lists},
		{"prompts and completion", (*driver).prompts},
		{"resources", (*driver).resources},
		{"tools", (*driver).quickTools},
		{"failures", (*driver).failures},
		{"progress and log", (*driver).survey},
		{"answers out of order", (*driver).overtaking},
		{"cancellation", (*driver).cancellation},
		{"list_changed", (*driver).listChanged},
		{"subscription", (*driver).subscription},
	}
	switch revision {
	case Handshake:
		first := []step{{"opening", (*driver).initialize}}
		last := []step{{"server requests", (*driver).nestedBriefing}, {"closing", (*driver).close}}
		return slices.Concat(first, middle, last), nil
	case Stateless:
		first := []step{{"opening", (*driver).discover}}
		last := []step{{"input_required", (*driver).chainedBriefing}, {"closing", (*driver).endListening}}
		return slices.Concat(first, middle, last), nil
	default:
		return nil, fmt.Errorf("demo: no session in %q; there is one in %s and %s", revision, Handshake, Stateless)
	}
}

// A driver is the client half in the middle of a session.
type driver struct {
	revision string
	watch    *watch
	client   *mcp.Client
	session  *mcp.ClientSession
	stderr   *transcript
	// stopListening ends the subscriptions/listen requests, in the order in
	// which they were made.
	stopListening []context.CancelFunc
}

func newDriver(ctx context.Context, revision string, command []string) *driver {
	d := &driver{revision: revision, stderr: new(transcript)}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = d.stderr
	cmd.WaitDelay = exitPatience // for a grandchild that keeps stderr open
	d.watch = newWatch(&mcp.CommandTransport{Command: cmd, TerminateDuration: exitPatience})
	d.client = mcp.NewClient(&mcp.Implementation{
		Name: "mcptap-demo-client", Title: "The client of the demo", Version: version,
	}, d.options())
	d.client.AddRoots(&mcp.Root{URI: "file:///home/demo/briefings", Name: "briefings"})
	d.client.AddReceivingMiddleware(d.watch.note)
	d.client.AddSendingMiddleware(d.holdListens)
	return d
}

func (d *driver) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			// Nobody is told about roots in 2026-07-28.
			RootsV2: &mcp.RootCapabilities{ListChanged: d.revision < Stateless},
		},
		CreateMessageHandler: answerModel,
		ElicitationHandler:   answerUser,
		// With these set, the SDK listens for changes in 2026-07-28.
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) {},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {},
	}
}

// holdListens keeps the means to end a subscriptions/listen. Left to itself,
// the SDK ends them while it closes the connection, and then the cancellation
// gets out or not as luck has it.
func (d *driver) holdListens(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "subscriptions/listen" {
			var stop context.CancelFunc
			ctx, stop = context.WithCancel(ctx)
			d.stopListening = append(d.stopListening, stop)
		}
		return next(ctx, method, req)
	}
}

// connect opens the session.
func (d *driver) connect(ctx context.Context) error {
	session, err := d.client.Connect(ctx, d.watch, &mcp.ClientSessionOptions{ProtocolVersion: d.revision})
	if err != nil {
		return err
	}
	d.session = session
	res := session.InitializeResult()
	if res.ProtocolVersion != d.revision {
		return fmt.Errorf("the server speaks %s", res.ProtocolVersion)
	}
	if res.ServerInfo == nil || res.ServerInfo.Name != ServerName {
		return fmt.Errorf("the server is not %s but %v", ServerName, res.ServerInfo)
	}
	return nil
}

// close ends the session as every client should: it closes the command's
// stdin and waits.
func (d *driver) close(context.Context) (string, error) {
	if err := d.checkPairing(); err != nil {
		return "", err
	}
	if err := d.session.Close(); err != nil {
		return "", fmt.Errorf("the command did not end well: %w", err)
	}
	for _, line := range []string{"ready, 4 stations", "sweep cancelled by the client", "the client has left, bye"} {
		if !strings.Contains(d.stderr.String(), ServerName+": "+line+"\n") {
			return "", fmt.Errorf("stderr lacks the server's line %q", line)
		}
	}
	return "closed stdin; the server said goodbye on stderr and left", nil
}

// giveUp closes what a failed step has left behind.
func (d *driver) giveUp() {
	for _, stop := range d.stopListening {
		stop()
	}
	if d.session != nil {
		_ = d.session.Close() // the step's error is the one to tell
	}
}

// explain adds what the command said, if it said anything.
func (d *driver) explain(err error) error {
	said := strings.TrimSpace(d.stderr.String())
	if said == "" {
		return err
	}
	return fmt.Errorf("%w\nstderr of the command:\n%s", err, said)
}

// A transcript keeps what is written to it.
type transcript struct {
	mu  sync.Mutex
	buf strings.Builder
}

// Write implements [io.Writer].
func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
