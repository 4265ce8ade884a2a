package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/endpoint"
	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/mock"
	mockreport "github.com/mcptap/mcptap/mock/report"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/replay"
	"github.com/mcptap/mcptap/tap/text"
)

const mockLong = `Plays the server of a recorded session on stdin and stdout. Use it instead of the
server's command: the client gets the recorded responses, offline and always the same.

A request gets the response to the recorded request with the same method and params;
ids, tokens and the client's own description do not matter. Progress, logs and requests
of the server arrive where they were recorded. Other requests get an error that names the
nearest recorded one and the difference.

  --match   exact; params: _meta may differ; subset: the request may have more members;
            method: only the method and the tool, prompt or resource count
  --pace    brisk: without waiting, messages a few ms apart; instant; recorded; 10x
  --fault   'delay=2s tools/call:forecast', 'error=-32000 tools/call n=2', 'drop p=0.1',
            duplicate, reorder, truncate, malformed, disconnect, status=503, cut=2

The exit code is 1 if the client sent a request that was not recorded, or did not
answer the server; with --strict also for other deviations, and with --verify if it
left out a recorded request. --report FILE has the details.

--listen serves HTTP instead, whatever the transport of the recording: Streamable HTTP
at the recorded path or /mcp, HTTP+SSE at /sse, WebSocket at /ws. Each client gets a
session of its own. Ctrl-C ends it.

--record records from a real server, named by -- CMD or --to URL: once (the session, if
there is no REC yet), new (requests that REC does not have), all (the session again).`

type mockOptions struct {
	match   string
	ignore  []string
	repeat  string
	pace    string
	report  mockReportOptions
	record  mockRecordOptions
	http    mockHTTPOptions
	faults  []string
	seed    uint64
	timeout time.Duration
}

func newMock(a *app) *cobra.Command {
	var o mockOptions
	cmd := &cobra.Command{
		Use:   "mock REC [flags] [-- CMD [ARG…]]",
		Short: "Serve the recorded responses to a client",
		Long:  mockLong,
		Example: "  mcptap mock @last\n  mcptap mock testdata/session.txtar --ignore '$.params.arguments.now' --report mock.ndjson --force\n" +
			"  mcptap mock @last --fault 'delay=2s tools/call:forecast'\n  mcptap mock @last --listen 127.0.0.1:8080\n" +
			"  mcptap mock testdata/session.txtar --record once -- npx -y @modelcontextprotocol/server-everything",
		Args: mockArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names, _ := a.completeRecording(cmd, args, prefix)
			return names, cobra.ShellCompDirectiveDefault // exports and transcripts are files
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, a, args[0], args[1:])
		},
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *mockOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.match, "match", "exact", "how far requests may differ: `level` is exact, params, subset or method")
	f.StringArrayVar(&o.ignore, "ignore", nil, "a `path` in params that may differ, such as $.params.arguments.now (repeatable)")
	f.StringVar(&o.repeat, "repeat", "last", "`what` a request gets when the recorded responses are used up: last, loop or error")
	f.StringVar(&o.pace, "pace", "brisk", "time between messages: `pace` is brisk, instant, recorded, or a speed such as 10x")
	o.report.addFlags(cmd)
	o.record.addFlags(cmd)
	o.http.addFlags(cmd)
	f.StringArrayVar(&o.faults, "fault", nil, "inject a `fault` such as 'drop tools/call n=2', or those in @FILE (repeatable)")
	f.Uint64Var(&o.seed, "seed", 0, "seed for random faults, a `number`; the same seed gives the same faults")
	f.DurationVar(&o.timeout, "gate-timeout", replay.DefaultGateTimeout, "`time` the client may take to answer a request of the server")
	fixed := func(flag string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("match", "exact", "params", "subset", "method")
	fixed("repeat", "last", "loop", "error")
	fixed("pace", "brisk", "instant", "recorded", "10x")
}

func (o *mockOptions) run(cmd *cobra.Command, a *app, arg string, command []string) error {
	if o.report.Strict && !cmd.Flags().Changed("repeat") {
		o.repeat = replay.RepeatError.String()
	}
	opt, err := o.options()
	if err != nil {
		return err
	}
	if err := errors.Join(o.http.check(), o.record.check(cmd), o.report.check(a, arg)); err != nil {
		return err
	}
	i := slices.IndexFunc(opt.Faults, func(f replay.Fault) bool { return f.Kind == replay.FaultStatus })
	if i >= 0 && o.http.listen == "" {
		a.say(fmt.Sprintf("warning: --fault %s: stdio has no HTTP status, so the response is an error", opt.Faults[i]))
	}
	plan := o.record.plan(a, arg)
	if o.http.cut > 0 && plan != recordNone {
		return errors.New("--fault cut=N cannot be combined with --record")
	}
	if plan == recordAll && o.record.at.To == "" && o.http.listen == "" {
		return a.recordWhole(cmd.Context(), arg, command)
	}
	// The client may close its end or stop this process at any time; the report must still be
	// written.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	if plan != recordNone {
		err := o.extend(ctx, a, arg, command, opt, plan == recordAll)
		if err == nil && o.http.listen != "" {
			err = cmd.Context().Err()
		}
		return err
	}
	context.AfterFunc(ctx, func() { afterEcho(stop) }) // the second SIGTERM kills us
	return o.play(cmd, ctx, a, arg, opt)
}

// play plays a recording.
func (o *mockOptions) play(cmd *cobra.Command, ctx context.Context, a *app, arg string, opt replay.Options) error {
	rec, err := a.loadMock(ctx, arg, opt)
	if ctx.Err() != nil {
		return errors.Join(cmd.Context().Err(), o.report.unread(a))
	}
	if err != nil {
		return err
	}
	if rec.Empty() {
		return hint.With(fmt.Errorf("%s has no session to play", term.Quote(arg)), "`mcptap show` lists its contents")
	}
	if o.http.listen != "" {
		return o.serveHTTP(cmd, ctx, a, rec, arg, opt)
	}
	return o.serveStdio(cmd, ctx, a, rec, arg, opt)
}

// serveHTTP plays a recording over HTTP.
func (o *mockOptions) serveHTTP(cmd *cobra.Command, ctx context.Context, a *app, rec *mock.Recording, arg string, opt replay.Options) error {
	report, err := o.begin(a, rec, arg, opt, rec.Scripts()...)
	if err != nil {
		return err
	}
	if err := o.http.serve(ctx, a, rec, mock.ServerOptions{Note: report.Note, Over: report.Over}); err != nil {
		return endMock(report, err)
	}
	return errors.Join(endMock(report, nil), cmd.Context().Err())
}

// serveStdio plays a recording on stdin and stdout.
func (o *mockOptions) serveStdio(cmd *cobra.Command, ctx context.Context, a *app, rec *mock.Recording, arg string, opt replay.Options) error {
	report, err := o.begin(a, rec, arg, opt, rec.Script)
	if err != nil {
		return err
	}
	if n := len(rec.Scripts()); n > 1 {
		a.say(fmt.Sprintf("playing session 1 of %d; name another with %s#2", n, term.ShellQuote(arg)))
	}
	session, err := mock.Stdio(ctx, rec.Script, a.stdin, a.stdout, report.Note)
	report.Over(session)
	if errors.Is(err, context.Canceled) && cmd.Context().Err() == nil {
		err = nil // hosts end servers this way
	}
	return endMock(report, err)
}

// begin starts the report on a recording.
func (o *mockOptions) begin(a *app, rec *mock.Recording, arg string, opt replay.Options, scripts ...*replay.Script) (*mockreport.Report, error) {
	report, err := mockreport.New(o.report.Options, a.say, arg, scripts...)
	if err != nil {
		return nil, err
	}
	report.Watch(&opt)
	if recording.IsText(arg) { // other recordings were not edited
		report.Problems(arg, rec)
	}
	return report, nil
}

// options reads the flags.
func (o *mockOptions) options() (opt replay.Options, err error) {
	if opt.Match, err = replay.ParseMatch(o.match); err != nil {
		return opt, fmt.Errorf("--match: %w", err)
	}
	if opt.Repeat, err = replay.ParseRepeat(o.repeat); err != nil {
		return opt, fmt.Errorf("--repeat: %w", err)
	}
	if opt.Pace, err = replay.ParsePace(o.pace); err != nil {
		return opt, fmt.Errorf("--pace: %w", err)
	}
	for _, text := range o.ignore {
		p, err := replay.ParsePath(text)
		if err != nil {
			return opt, fmt.Errorf("--ignore: %w", err)
		}
		opt.Ignore = append(opt.Ignore, p)
	}
	if o.timeout <= 0 {
		return opt, errors.New("--gate-timeout must be positive")
	}
	opt.Seed, opt.GateTimeout = o.seed, o.timeout
	opt.Faults, o.http.cut, err = mock.ReadFaults(o.faults)
	return opt, err
}

// loadMock reads a recording, or a transcript such as people commit with their tests. If
// the name ends in #2, it plays only the second session.
func (a *app) loadMock(ctx context.Context, arg string, opt replay.Options) (*mock.Recording, error) {
	path, session, ok := recording.TextSession(arg)
	if !ok {
		file, err := a.open(ctx, arg)
		if err != nil {
			return nil, err
		}
		path, session = file.Path(), file.Session
	}
	rec, err := mock.Load(recording.Frames(ctx, path), opt)
	if err != nil {
		return nil, err
	}
	if session > 0 && !rec.Only(session) {
		return nil, fmt.Errorf("%s has no session #%d with messages", term.Quote(path), session)
	}
	return rec, nil
}

// mockReportOptions are the flags that select what is reported and what counts as failure.
type mockReportOptions struct {
	mockreport.Options
	force bool
}

func (o *mockReportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.File, "report", "", "write the deviations to `FILE`: text for .txt, JUnit for .xml, else NDJSON")
	addForce(cmd, &o.force)
	f.BoolVar(&o.Strict, "strict", false, "fail if the client does anything that is not in the recording")
	f.BoolVar(&o.Verify, "verify", false, "fail if the client does not send every recorded request")
}

// whole reports whether the report covers requests that were not sent.
func (o *mockReportOptions) whole() bool { return o.Verify || o.File != "" }

// check refuses a report file that would overwrite the recording.
func (o *mockReportOptions) check(a *app, arg string) error {
	if o.File == "" {
		return nil
	}
	name, _, _ := strings.Cut(arg, "#")
	paths := []string{arg, name}
	if path, err := a.find(arg); err == nil {
		paths = append(paths, path)
	}
	for _, path := range paths {
		if wholefile.Same(o.File, path) || wholefile.SamePath(o.File, path) {
			err := fmt.Errorf("--report %s would overwrite the recording %s", term.Quote(o.File), term.Quote(arg))
			return hint.With(err, "choose another file")
		}
	}
	return checkOutput("--report", o.File, o.force)
}

// unread returns the result of a run that ended before anything could be played.
func (o *mockReportOptions) unread(a *app) error {
	if !o.whole() {
		return nil
	}
	a.say("mock: interrupted while loading the recording")
	return exitCode(exitNegative)
}

// endMock ends the report of a run that ended with err.
func endMock(r *mockreport.Report, err error) error {
	failed, err := r.End(err)
	if failed {
		return exitCode(exitNegative)
	}
	return err
}

// mockHTTPOptions are the flags for serving HTTP.
type mockHTTPOptions struct {
	listen string
	names  []string
	cut    int // of --fault cut=N
	json   bool
}

func (o *mockHTTPOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "", "serve HTTP on this `address`, such as 127.0.0.1:0; port 0 picks a free port")
	f.StringArrayVar(&o.names, "name", nil, "with --listen, another `host` name of the mock (repeatable)")
	f.BoolVar(&o.json, "json", false, "with --listen, print the URLs as one line of JSON")
}

// check returns an error for invalid combinations of flags.
func (o *mockHTTPOptions) check() error {
	var flag string
	switch {
	case o.listen != "":
	case o.cut > 0:
		flag = "--fault cut=N"
	case len(o.names) > 0:
		flag = "--name"
	case o.json:
		flag = "--json"
	}
	if flag != "" {
		return hint.With(errors.New(flag+" requires HTTP"), "add --listen 127.0.0.1:0")
	}
	return nil
}

// jsonMockListening is the line that `mock --listen --json` prints. The names are stable.
type jsonMockListening struct {
	V      int    `json:"v"`
	Type   string `json:"type"` // "listening"
	URL    string `json:"url"`
	Listen string `json:"listen"`
	// EventsURL is for clients of HTTP+SSE, SocketURL for those of WebSocket.
	EventsURL string `json:"events_url,omitempty"`
	SocketURL string `json:"socket_url,omitempty"`
	Sessions  int    `json:"sessions"`
}

// bind listens, and adds the host names of the mock to opt.
func (o *mockHTTPOptions) bind(a *app, opt *mock.ServerOptions) (net.Listener, error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, endpoint.ListenError("--listen", o.listen, err)
	}
	opt.Names = o.names
	if host, _, err := net.SplitHostPort(o.listen); err == nil && host != "" && net.ParseIP(host) == nil {
		opt.Names = append(opt.Names, host)
	}
	tcp, ok := listener.Addr().(*net.TCPAddr)
	opt.AnyAddress = !ok || !tcp.IP.IsLoopback()
	if opt.AnyAddress {
		gets := "what was recorded"
		if opt.Live != nil {
			gets += ", and what the server sends"
		}
		a.say(fmt.Sprintf("listening on %s, which other machines may reach: they can read %s", listener.Addr(), gets))
	}
	return listener, nil
}

// serve serves a recording over HTTP until the context ends.
func (o *mockHTTPOptions) serve(ctx context.Context, a *app, rec *mock.Recording, opt mock.ServerOptions) error {
	listener, err := o.bind(a, &opt)
	if err != nil {
		return err
	}
	opt.Cut = o.cut
	server := mock.NewServer(rec, opt)
	host := endpoint.Reachable(listener.Addr())
	line := jsonMockListening{
		URL: "http://" + host + server.Recorded(), Listen: listener.Addr().String(), Sessions: len(rec.Scripts()),
		EventsURL: "http://" + host + server.EventPath(), SocketURL: "ws://" + host + server.SocketPath(),
	}
	if server.Recorded() == server.SocketPath() {
		line.URL = line.SocketURL
	}
	if err := o.announce(a, line); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := mock.Serve(ctx, listener, server); err != nil {
		return fmt.Errorf("listening on %s: %w", listener.Addr(), err)
	}
	return nil
}

// announce prints the URLs to use.
func (o *mockHTTPOptions) announce(a *app, line jsonMockListening) error {
	w := bufio.NewWriter(a.stdout)
	if !o.json {
		fmt.Fprintln(w, line.URL)
		return w.Flush()
	}
	line.V, line.Type = text.Version, "listening"
	return errors.Join(term.WriteJSON(w, line), w.Flush())
}
