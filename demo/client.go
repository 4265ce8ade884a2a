package demo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// patience limits the duration of a session, which takes about three seconds.
	patience = time.Minute
	// exitPatience limits the time to exit after stdin is closed, and stderrPatience the time
	// until stderr ends after that. A busy machine needs seconds.
	exitPatience   = 20 * time.Second
	stderrPatience = 5 * time.Second
)

// Drive runs command, which starts [Serve], and uses every feature of the server once, in
// [Handshake] or [Stateless]. It calls report, if not nil, after each step.
//
// Drive returns an error if the command cannot be run, a step fails, or the command does not
// exit with 0 after its stdin was closed. The command has ended when Drive returns.
func Drive(ctx context.Context, revision string, command []string, report func(string)) error {
	c := &client{revision: revision}
	steps := []step{
		{"listed 8 tools in two pages, 5 resources, a template and 2 prompts", c.lists},
		{"got 2 prompts, completed an argument of a prompt and one of a template", c.prompts},
		{"read 3 resources, one of them by a template", c.resources},
		{"called tools that return structured content, a picture and a link", c.tools},
		{"called a tool that failed and a tool that does not exist", c.failures},
		{"a survey with 4 progress notifications and 2 log messages", c.survey},
		{"3 concurrent calls with responses in reverse order", c.overtaking},
		{"cancelled a call", c.cancellation},
		{"received 4 list_changed notifications, and listed again", c.listChanged},
		{"subscribed to a resource, received an update, and unsubscribed", c.subscription},
	}
	end := step{"closed stdin; the server wrote to stderr and exited", c.close}
	switch revision {
	case Handshake:
		steps = append([]step{{"initialized a session with " + serverName, c.initialize}}, steps...)
		steps = append(steps, step{"responded to the server's requests for roots, the user and a model", c.briefing}, end)
	case Stateless:
		steps = append([]step{{"discovered " + serverName + ", no session needed", c.discover}}, steps...)
		steps = append(steps, step{"called a tool in 3 rounds, with roots, the user and a model in between", c.briefing}, end)
	default:
		return fmt.Errorf("demo: unknown revision %q (want %s or %s)", revision, Handshake, Stateless)
	}
	if len(command) == 0 {
		return errors.New("demo: no command to run")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("timeout"))
	defer cancel()
	c.start(ctx, command)
	for _, s := range steps {
		if err := s.run(ctx); err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			cancel() // kill the command, so that the session can be closed
			if c.session != nil {
				_ = c.session.Close() // return err, not this error
			}
			err = fmt.Errorf("demo in %s: step %q: %w", revision, s.done, err)
			if text := strings.TrimSpace(c.stderr.String()); text != "" {
				err = fmt.Errorf("%w\nstderr of the command:\n%s", err, text)
			}
			return err
		}
		if report != nil {
			report(s.done)
		}
	}
	return nil
}

// A step of the session; done describes it afterwards.
type step struct {
	done string
	run  func(context.Context) error
}

// A client is the client of a session.
type client struct {
	revision string
	wire     *wire
	sdk      *mcp.Client
	session  *mcp.ClientSession
	stderr   transcript
	// stopListening ends the first subscriptions/listen. Otherwise the SDK would end it while
	// closing the connection, and might or might not send the cancellation.
	stopListening context.CancelFunc
}

// start prepares the command and the client.
func (c *client) start(ctx context.Context, command []string) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = &c.stderr
	cmd.WaitDelay = stderrPatience // a grandchild may keep stderr open
	c.wire = &wire{
		Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: exitPatience},
		awaited:   map[string][]chan struct{}{}, ended: make(chan struct{}),
	}
	c.sdk = mcp.NewClient(&mcp.Implementation{
		Name: "mcptap-demo-client", Title: "The client of the demo", Version: version,
	}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2: &mcp.RootCapabilities{ListChanged: c.revision == Handshake},
		},
		CreateMessageHandler: respondAsModel,
		ElicitationHandler:   respondAsUser,
		// With these set, the SDK listens for changes in 2026-07-28.
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) {},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {},
	})
	c.sdk.AddRoots(&mcp.Root{URI: "file:///home/demo/briefings", Name: "briefings"})
	c.sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			defer c.wire.saw("got " + method) // when the SDK has handled it
			return next(ctx, method, req)
		}
	})
	c.sdk.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "subscriptions/listen" && c.stopListening == nil {
				ctx, c.stopListening = context.WithCancel(ctx)
			}
			return next(ctx, method, req)
		}
	})
}

// respondAsUser fills in a form.
func respondAsUser(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"city": "oslo", "tone": "cheerful"}}, nil
}

// respondAsModel responds to sampling.
func respondAsModel(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		Role: "assistant", Model: "demo-model", StopReason: "endTurn",
		Content: &mcp.TextContent{Text: "Oslo wakes up to rain, so take an umbrella and a smile."},
	}, nil
}

func (c *client) connect(ctx context.Context) (err error) {
	c.session, err = c.sdk.Connect(ctx, c.wire, &mcp.ClientSessionOptions{ProtocolVersion: c.revision})
	if err == nil && c.session.InitializeResult().ProtocolVersion != c.revision {
		err = fmt.Errorf("the server chose revision %s", c.session.InitializeResult().ProtocolVersion)
	}
	return err
}

func (c *client) initialize(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	if err := c.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		return err
	}
	if err := c.session.Ping(ctx, nil); err != nil {
		return err
	}
	c.addDrafts() // sends notifications/roots/list_changed
	return nil
}

// discover starts with server/discover, after which the SDK listens for list changes.
func (c *client) discover(ctx context.Context) error {
	acknowledged := c.wire.next(gotAcknowledgement)
	if err := c.connect(ctx); err != nil {
		return err
	}
	if err := acknowledged(ctx); err != nil {
		return err
	}
	c.addDrafts()
	return nil
}

// addDrafts gives the client a second root.
func (c *client) addDrafts() {
	c.sdk.AddRoots(&mcp.Root{URI: "file:///home/demo/drafts", Name: "drafts"})
}

// all reads a list to its end.
func all[T any](list iter.Seq2[T, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *client) lists(ctx context.Context) error {
	return errors.Join(all(c.session.Tools(ctx, nil)), all(c.session.Resources(ctx, nil)),
		all(c.session.ResourceTemplates(ctx, nil)), all(c.session.Prompts(ctx, nil)))
}

func (c *client) prompts(ctx context.Context) error {
	_, packing := c.session.GetPrompt(ctx, &mcp.GetPromptParams{
		Name: "packing_list", Arguments: map[string]string{"city": "tokyo", "days": "5"},
	})
	_, explaining := c.session.GetPrompt(ctx, &mcp.GetPromptParams{
		Name: "explain_forecast", Arguments: map[string]string{"city": "oslo"},
	})
	_, city := c.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "packing_list"},
		Argument: mcp.CompleteParamsArgument{Name: "city", Value: "o"},
	})
	_, date := c.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: uriDay},
		Argument: mcp.CompleteParamsArgument{Name: "date", Value: "2026-07-2"},
	})
	return errors.Join(packing, explaining, city, date)
}

func (c *client) resources(ctx context.Context) error {
	return errors.Join(c.read(ctx, uriStations), c.read(ctx, uriStation("oslo")),
		c.read(ctx, uriStation("tokyo")+"/days/2026-07-29"))
}

func (c *client) read(ctx context.Context, uri string) error {
	_, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	return err
}

// call calls a tool that should not fail.
func (c *client) call(ctx context.Context, p *mcp.CallToolParams) error {
	res, err := c.session.CallTool(ctx, p)
	if err == nil && res.IsError {
		err = fmt.Errorf("%s failed", p.Name)
	}
	return err
}

func forecastFor(city string, days int) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "forecast", Arguments: forecastArgs{city, days}}
}

// withToken requests progress with a fixed token and, in 2026-07-28, log messages.
func (c *client) withToken(tool string) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{"progressToken": tool}}
	if c.revision == Stateless {
		p.Meta[mcp.MetaKeyLogLevel] = "info"
	}
	return p
}

func (c *client) tools(ctx context.Context) error {
	return errors.Join(c.call(ctx, forecastFor("saopaulo", 2)),
		c.call(ctx, &mcp.CallToolParams{Name: "radar", Arguments: cityArgs{"oslo"}}))
}

// failures covers two kinds: a failing tool returns a result with isError, for the model; an invalid
// call returns an error.
func (c *client) failures(ctx context.Context) error {
	if res, err := c.session.CallTool(ctx, forecastFor("atlantis", 1)); err != nil || !res.IsError {
		return fmt.Errorf("the forecast for atlantis did not fail (%w)", err)
	}
	_, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: "forcast", Arguments: cityArgs{"oslo"}})
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) {
		return fmt.Errorf("an unknown tool was not refused (%w)", err)
	}
	return nil
}

func (c *client) survey(ctx context.Context) error { return c.call(ctx, c.withToken("survey")) }

// briefing calls the tool that sends requests to the client.
func (c *client) briefing(ctx context.Context) error { return c.call(ctx, c.withToken("briefing")) }

// begin calls a tool and returns once the request was sent.
func (c *client) begin(ctx context.Context, p *mcp.CallToolParams) (<-chan error, error) {
	sent := c.wire.next("sent tools/call")
	end := make(chan error, 1)
	go func() { end <- c.call(ctx, p) }()
	return end, sent(ctx)
}

// overtaking makes three concurrent calls, the slowest first.
func (c *client) overtaking(ctx context.Context) error {
	var ends []<-chan error
	for _, p := range []*mcp.CallToolParams{
		{Name: "calibrate", Arguments: cityArgs{"lima"}}, forecastFor("oslo", 3), forecastFor("lima", 1),
	} {
		end, err := c.begin(ctx, p)
		if err != nil {
			return err
		}
		ends = append(ends, end)
	}
	return errors.Join(<-ends[0], <-ends[1], <-ends[2])
}

func (c *client) cancellation(ctx context.Context) error {
	turning := c.wire.next("got notifications/progress")
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := c.begin(call, c.withToken("sweep"))
	if err != nil {
		return err
	}
	if err := turning(ctx); err != nil {
		return err
	}
	return c.cancelled(ctx, func() error {
		cancel()
		if err := <-end; !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the cancelled call returned %w", err)
		}
		return nil
	})
}

// cancelled runs cancel, which cancels a request, and waits for the cancellation and for the
// response, which servers using the SDK send anyway.
func (c *client) cancelled(ctx context.Context, cancel func() error) error {
	sent, response := c.wire.next("sent notifications/cancelled"), c.wire.next("response")
	if err := cancel(); err != nil {
		return err
	}
	if err := sent(ctx); err != nil {
		return err
	}
	return response(ctx)
}

// listChanged opens and closes a station. Both change the lists of tools and of resources.
func (c *client) listChanged(ctx context.Context) error {
	for _, p := range []*mcp.CallToolParams{
		{Name: "open_station", Arguments: stationArgs{"nairobi", "Nairobi"}}, {Name: "close_station"},
	} {
		tools := c.wire.next("got notifications/tools/list_changed")
		resources := c.wire.next("got notifications/resources/list_changed")
		if err := c.call(ctx, p); err != nil {
			return err
		}
		if err := errors.Join(tools(ctx), resources(ctx)); err != nil {
			return err
		}
		// The notification has cleared the cache of the SDK.
		if err := errors.Join(all(c.session.Tools(ctx, nil)), all(c.session.Resources(ctx, nil))); err != nil {
			return err
		}
	}
	return nil
}

// subscription receives one update, and none after unsubscribing.
func (c *client) subscription(ctx context.Context) error {
	uri := uriStation("oslo")
	acknowledged, updated := c.wire.next(gotAcknowledgement), c.wire.next("got notifications/resources/updated")
	if err := c.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		return err
	}
	unsubscribe := func() error { return c.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) }
	if c.revision == Stateless {
		if err := acknowledged(ctx); err != nil {
			return err
		}
		inner := unsubscribe
		unsubscribe = func() error { return c.cancelled(ctx, inner) }
	}
	if err := c.call(ctx, &mcp.CallToolParams{Name: "record_reading", Arguments: readingArgs{"oslo", 15.5}}); err != nil {
		return err
	}
	if err := updated(ctx); err != nil {
		return err
	}
	if err := errors.Join(c.read(ctx, uri), unsubscribe()); err != nil {
		return err
	}
	return c.call(ctx, &mcp.CallToolParams{Name: "record_reading", Arguments: readingArgs{"oslo", 16}})
}

// close closes the command's stdin and waits for it to exit.
func (c *client) close(ctx context.Context) error {
	if c.stopListening != nil {
		if err := c.cancelled(ctx, func() error { c.stopListening(); return nil }); err != nil {
			return err
		}
	}
	if err := c.session.Close(); err != nil {
		return fmt.Errorf("the command failed: %w", err)
	}
	return nil
}

// gotAcknowledgement is the event for the acknowledgement of a subscription.
const gotAcknowledgement = "got notifications/subscriptions/acknowledged"

// A wire is a transport that reports events: "sent METHOD", "got METHOD" once the SDK has
// handled it, and "response".
type wire struct {
	mcp.Transport
	mu      sync.Mutex
	awaited map[string][]chan struct{} // closed when the event occurs
	ended   chan struct{}              // closed with the connection
	end     sync.Once
}

// next returns a function that waits for the next occurrence of an event.
func (w *wire) next(what string) func(context.Context) error {
	seen := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited[what] = append(w.awaited[what], seen)
	return func(ctx context.Context) error {
		select {
		case <-seen:
			return nil
		case <-w.ended:
			return fmt.Errorf("the connection ended before %q", what)
		case <-ctx.Done():
			return fmt.Errorf("no %q", what)
		}
	}
}

// saw reports an event.
func (w *wire) saw(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, seen := range w.awaited[what] {
		close(seen)
	}
	delete(w.awaited, what)
}

// Connect implements [mcp.Transport].
func (w *wire) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := w.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return wireConn{conn, w}, nil
}

type wireConn struct {
	mcp.Connection
	w *wire
}

// Read implements [mcp.Connection].
func (c wireConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.w.saw("response")
	}
	if err != nil {
		c.w.end.Do(func() { close(c.w.ended) })
	}
	return message, err
}

// Write implements [mcp.Connection].
func (c wireConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if r, ok := message.(*jsonrpc.Request); ok && err == nil {
		c.w.saw("sent " + r.Method)
	}
	return err
}

// A transcript collects stderr.
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
