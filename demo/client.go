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
	// patience limits a session, which takes about three seconds.
	patience = time.Minute
	// exitPatience limits the end of a command whose stdin was closed.
	exitPatience = 3 * time.Second
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
		steps = append([]step{{"initialized a session with " + ServerName, c.initialize}}, steps...)
		steps = append(steps, step{"responded to the server's requests for roots, the user and a model", c.briefing}, end)
	case Stateless:
		steps = append([]step{{"discovered " + ServerName + ", no session needed", c.discover}}, steps...)
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
			cancel() // kills the command, so that the session can be closed
			if c.session != nil {
				_ = c.session.Close() // err is the one to return
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
	// stopListening ends the first subscriptions/listen. The SDK would end it while it
	// closes the connection, when the cancellation may be sent or not.
	stopListening context.CancelFunc
}

// start prepares the command and the client.
func (c *client) start(ctx context.Context, command []string) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = &c.stderr
	cmd.WaitDelay = exitPatience // for a grandchild that keeps stderr open
	c.wire = &wire{
		Transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: exitPatience},
		counts:    map[string]int{}, changed: make(chan struct{}),
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
			defer c.wire.count("got " + method) // when the SDK has handled it
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

// discover opens with server/discover, after which the SDK listens for changes of the
// lists.
func (c *client) discover(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	if err := c.acknowledged(ctx, 1); err != nil {
		return err
	}
	c.addDrafts()
	return nil
}

// addDrafts gives the client a second root.
func (c *client) addDrafts() {
	c.sdk.AddRoots(&mcp.Root{URI: "file:///home/demo/drafts", Name: "drafts"})
}

// acknowledged waits for the acknowledgement of the nth subscription.
func (c *client) acknowledged(ctx context.Context, n int) error {
	return c.wire.await(ctx, "got notifications/subscriptions/acknowledged", n)
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
	for _, p := range []*mcp.GetPromptParams{
		{Name: "packing_list", Arguments: map[string]string{"city": "tokyo", "days": "5"}},
		{Name: "explain_forecast", Arguments: map[string]string{"city": "oslo"}},
	} {
		if _, err := c.session.GetPrompt(ctx, p); err != nil {
			return err
		}
	}
	for _, p := range []*mcp.CompleteParams{
		{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "packing_list"}, Argument: mcp.CompleteParamsArgument{Name: "city", Value: "o"}},
		{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: uriDay}, Argument: mcp.CompleteParamsArgument{Name: "date", Value: "2026-07-2"}},
	} {
		if _, err := c.session.Complete(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) resources(ctx context.Context) error {
	for _, uri := range []string{uriStations, uriStation("oslo"), uriStation("tokyo") + "/days/2026-07-29"} {
		if err := c.read(ctx, uri); err != nil {
			return err
		}
	}
	return nil
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

// withToken requests progress with a fixed token, and in 2026-07-28 log messages.
func (c *client) withToken(tool string) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{"progressToken": tool}}
	if c.revision == Stateless {
		p.Meta[mcp.MetaKeyLogLevel] = "info"
	}
	return p
}

func (c *client) tools(ctx context.Context) error {
	if err := c.call(ctx, forecastFor("saopaulo", 2)); err != nil {
		return err
	}
	return c.call(ctx, &mcp.CallToolParams{Name: "radar", Arguments: cityArgs{"oslo"}})
}

// failures has two kinds: a tool that fails returns a result with isError, for the model; an
// invalid call returns an error.
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
	n := c.wire.counted("sent tools/call")
	end := make(chan error, 1)
	go func() { end <- c.call(ctx, p) }()
	return end, c.wire.await(ctx, "sent tools/call", n+1)
}

// overtaking has three concurrent calls, the slowest first.
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
	turning := c.wire.counted("got notifications/progress")
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := c.begin(call, c.withToken("sweep"))
	if err != nil {
		return err
	}
	if err := c.wire.await(ctx, "got notifications/progress", turning+1); err != nil {
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
// response, which servers of the SDK send nevertheless.
func (c *client) cancelled(ctx context.Context, cancel func() error) error {
	sent, responses := c.wire.counted("sent notifications/cancelled"), c.wire.counted("response")
	if err := cancel(); err != nil {
		return err
	}
	if err := c.wire.await(ctx, "sent notifications/cancelled", sent+1); err != nil {
		return err
	}
	return c.wire.await(ctx, "response", responses+1)
}

// listChanged opens and closes a station. Both change the list of the tools and that
// of the resources.
func (c *client) listChanged(ctx context.Context) error {
	for round, p := range []*mcp.CallToolParams{
		{Name: "open_station", Arguments: stationArgs{"nairobi", "Nairobi"}}, {Name: "close_station"},
	} {
		if err := c.call(ctx, p); err != nil {
			return err
		}
		for _, method := range []string{toolsChanged, resourcesChanged} {
			if err := c.wire.await(ctx, "got "+method, round+1); err != nil {
				return err
			}
		}
		// The notification has cleared the cache of the SDK.
		if err := errors.Join(all(c.session.Tools(ctx, nil)), all(c.session.Resources(ctx, nil))); err != nil {
			return err
		}
	}
	return nil
}

// subscription receives one update, and none after it has unsubscribed.
func (c *client) subscription(ctx context.Context) error {
	uri := uriStation("oslo")
	if err := c.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		return err
	}
	unsubscribe := func() error { return c.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}) }
	if c.revision == Stateless {
		if err := c.acknowledged(ctx, 2); err != nil {
			return err
		}
		inner := unsubscribe
		unsubscribe = func() error { return c.cancelled(ctx, inner) }
	}
	if err := c.call(ctx, &mcp.CallToolParams{Name: "record_reading", Arguments: readingArgs{"oslo", 15.5}}); err != nil {
		return err
	}
	if err := c.wire.await(ctx, "got "+resourceUpdated, 1); err != nil {
		return err
	}
	if err := errors.Join(c.read(ctx, uri), unsubscribe()); err != nil {
		return err
	}
	return c.call(ctx, &mcp.CallToolParams{Name: "record_reading", Arguments: readingArgs{"oslo", 16}})
}

// close closes the command's stdin, and waits.
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

// A wire is a transport that counts messages: "sent METHOD", "got METHOD" once the SDK
// has handled it, "response", and "end" of the connection.
type wire struct {
	mcp.Transport
	mu      sync.Mutex
	counts  map[string]int
	changed chan struct{} // closed and replaced with every count
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
		c.w.count("response")
	}
	if err != nil {
		c.w.count("end")
	}
	return message, err
}

// Write implements [mcp.Connection].
func (c wireConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if r, ok := message.(*jsonrpc.Request); ok && err == nil {
		c.w.count("sent " + r.Method)
	}
	return err
}

func (w *wire) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *wire) counted(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[what]
}

// await waits for a count.
func (w *wire) await(ctx context.Context, what string, n int) error {
	for {
		w.mu.Lock()
		done, ended, changed := w.counts[what] >= n, w.counts["end"] > 0, w.changed
		w.mu.Unlock()
		switch {
		case done:
			return nil
		case ended:
			return fmt.Errorf("the connection ended before %q", what)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("no %q", what)
		}
	}
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
