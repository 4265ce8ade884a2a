package peertest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A step of a scenario; the language is described in doc.go.
type step struct {
	Do       string                     `json:"do"`
	Name     string                     `json:"name"`
	Only     []string                   `json:"only"`
	Not      []string                   `json:"not"`
	Fails    any                        `json:"fails"`
	Tool     string                     `json:"tool"`
	Args     any                        `json:"args"`
	AfterMS  int                        `json:"after_ms"`
	URI      string                     `json:"uri"`
	Prompt   string                     `json:"prompt"`
	Ref      *mcp.CompleteReference     `json:"ref"`
	Argument mcp.CompleteParamsArgument `json:"argument"`
	Context  *mcp.CompleteContext       `json:"context"`
	Level    mcp.LoggingLevel           `json:"level"`
	Method   string                     `json:"method"`
	Count    int                        `json:"count"`
	Steps    []step                     `json:"steps"`
}

// errScenario is a failure of the test, not of the step.
var errScenario = errors.New("scenario")

// goodbye is how long the client waits for its server to exit after closing its stdin, and again after
// SIGTERM. On a busy machine the SDK's default is too short.
func goodbye(stays bool) time.Duration {
	if stays {
		return 5 * time.Second // it is known not to exit when its stdin is closed
	}
	return 20 * time.Second
}

// goPlayer is the client of the Go SDK. It is the equivalent of clients/run.mjs.
type goPlayer struct {
	session *mcp.ClientSession
	client  *mcp.Client
	name    string // as in a step's "only"
	token   int
	// act plays one step.
	act func(ctx context.Context, s step) (any, error)

	mu       sync.Mutex
	observed []map[string]any
}

func goClient(args []string) int {
	flags := flag.NewFlagSet("goclient", flag.ContinueOnError)
	mode := flags.String("mode", "auto", "")
	scenario := flags.String("scenario", "", "")
	out := flags.String("out", "", "")
	stays := flags.Bool("stays", false, "")
	url := flags.String("url", "", "")
	transport := flags.String("transport", "", "")
	sdk := flags.String("sdk", "go", "")
	vars := map[string]string{"big": strings.Repeat("aé€🙂\n\"\\", 65536)}
	flags.Func("var", "", func(s string) error {
		k, v, _ := strings.Cut(s, "=")
		vars[k] = v
		return nil
	})
	var env []string
	flags.Func("env", "", func(s string) error { env = append(env, s); return nil })
	if err := flags.Parse(args); err != nil {
		return complain(err)
	}
	steps, err := loadScenario(*scenario, vars)
	if err != nil {
		return complain(err)
	}
	p := &goPlayer{name: *sdk + "-" + *mode}
	if *sdk == "mcpgo" && *transport == "sse" {
		p.name = "mcpgo-sse" // there it cannot respond to server requests
	}
	switch {
	case *url == "":
		err = p.overStdio(*mode, flags.Args(), env, *stays, steps)
	case *sdk == "mcpgo":
		err = p.mcpGo(*mode, *url, *transport, steps)
	default:
		err = p.overHTTP(*mode, *url, *transport, steps)
	}
	if err != nil {
		p.note(map[string]any{"kind": "failed", "error": err.Error()})
	}
	f, err := os.Create(*out)
	if err != nil {
		return complain(err)
	}
	e := json.NewEncoder(f)
	e.SetEscapeHTML(false)
	for _, line := range p.observed {
		if err := e.Encode(line); err != nil {
			return complain(err)
		}
	}
	if err := f.Close(); err != nil {
		return complain(err)
	}
	return 0
}

// loadScenario reads the steps and substitutes the variables.
func loadScenario(file string, vars map[string]string) (steps []step, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, err
	}
	tree = eachString(tree, func(s string) string {
		return os.Expand(s, func(k string) string { return vars[k] })
	})
	if b, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	return steps, json.Unmarshal(b, &steps)
}

func (p *goPlayer) note(line map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observed = append(p.observed, line)
}

// connect creates the client and its session. The revision is that of the mode, or the negotiated one.
func (p *goPlayer) connect(ctx context.Context, mode string, transport mcp.Transport) error {
	p.act = p.perform
	p.client = mcp.NewClient(&mcp.Implementation{Name: "peertest", Version: "1.0.0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "peertest", Role: "assistant", StopReason: "endTurn",
				Content: &mcp.TextContent{Text: "réponse 🙂"}}, nil
		},
		ElicitationHandler: answerElicitation,
		Capabilities: &mcp.ClientCapabilities{
			RootsV2: &mcp.RootCapabilities{ListChanged: true},
			Elicitation: &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			},
		},
		// If it has a handler, the client opens a subscription in 2026-07-28.
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {},
	})
	p.client.AddRoots(&mcp.Root{URI: "file:///srv/größe", Name: "größe"}, &mcp.Root{URI: "file:///srv/two"})
	p.client.AddReceivingMiddleware(p.watch)
	opts := &mcp.ClientSessionOptions{}
	if mode != "auto" {
		opts.ProtocolVersion = mode
	}
	var err error
	if p.session, err = p.client.Connect(ctx, transport, opts); err != nil {
		return err
	}
	p.note(map[string]any{"kind": "connected", "result": p.session.InitializeResult()})
	return nil
}

// overHTTP plays with a server that listens.
func (p *goPlayer) overHTTP(mode, url, transport string, steps []step) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var t mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url}
	if transport == "sse" {
		t = &mcp.SSEClientTransport{Endpoint: url}
	}
	if err := p.connect(ctx, mode, t); err != nil {
		return err
	}
	err := p.play(ctx, steps)
	if closed := p.session.Close(); closed != nil {
		p.note(map[string]any{"kind": "closed", "error": closed.Error()})
	}
	return err
}

// overStdio plays with a server that it starts.
func (p *goPlayer) overStdio(mode string, argv, env []string, stays bool, steps []step) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	patience := goodbye(stays)
	if err := p.connect(ctx, mode, &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}); err != nil {
		return err
	}
	err := p.play(ctx, steps)

	closing := time.Now()
	closeErr := p.session.Close()
	after := "eof"
	if d := time.Since(closing); d > 2*patience {
		after = "sigkill"
	} else if d > patience {
		after = "sigterm"
	}
	exit := map[string]any{"kind": "exit", "after": after, "code": cmd.ProcessState.ExitCode()}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		exit["code"], exit["signal"] = nil, signalName(ws.Signal())
	}
	var status *exec.ExitError
	if closeErr != nil && !errors.As(closeErr, &status) {
		exit["error"] = closeErr.Error()
	}
	p.note(exit)
	p.note(map[string]any{"kind": "stderr", "text": stderr.String()})
	return err
}

func signalName(s syscall.Signal) string {
	return map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL", syscall.SIGINT: "SIGINT"}[s]
}

func answerElicitation(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if req.Params.Mode == "url" {
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	var schema struct {
		Properties map[string]struct {
			Default any              `json:"default"`
			Enum    []any            `json:"enum"`
			OneOf   []map[string]any `json:"oneOf"`
			Type    string           `json:"type"`
			Format  string           `json:"format"`
			Minimum float64          `json:"minimum"`
			Items   struct {
				Enum  []any            `json:"enum"`
				AnyOf []map[string]any `json:"anyOf"`
			} `json:"items"`
		} `json:"properties"`
	}
	b, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &schema); err != nil {
		return nil, err
	}
	content := map[string]any{}
	for k, s := range schema.Properties {
		switch {
		case s.Default != nil:
			content[k] = s.Default
		case len(s.Enum) > 0:
			content[k] = s.Enum[0]
		case len(s.OneOf) > 0:
			content[k] = s.OneOf[0]["const"]
		case len(s.Items.Enum) > 0:
			content[k] = s.Items.Enum[:1]
		case len(s.Items.AnyOf) > 0:
			content[k] = []any{s.Items.AnyOf[0]["const"]}
		case s.Type == "boolean":
			content[k] = true
		case s.Type == "integer", s.Type == "number":
			content[k] = s.Minimum
		case s.Format == "email":
			content[k] = "a@example.org"
		case s.Format == "uri":
			content[k] = "https://example.org/"
		case s.Format == "date":
			content[k] = "2026-07-28"
		default:
			content[k] = "Ünïcode ✓"
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// watch records all unsolicited messages of the server.
func (p *goPlayer) watch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		params := req.GetParams()
		p.note(map[string]any{"kind": "message", "method": method, "params": params})
		return next(ctx, method, req)
	}
}
