package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/internal/wholefile"
	"github.com/mcptap/mcptap/tap/text"
	clients "github.com/mcptap/mcptap/wrap"
)

// wrap is what folds lines here

const wrapLong = `Puts "mcptap stdio --" before the command of a server in the configuration of Claude
Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, Codex or Gemini CLI, or in the
files of the project in this directory. Restart the client afterwards.

The rest of the file stays as it is, byte for byte, and a copy of the old file is kept
as FILE.mcptap-backup. ` + "`" + `mcptap unwrap` + "`" + ` restores the exact entry.

For a server with a URL, --listen ADDRESS points the entry to that address and prints
the mcptap http command to run there. --all skips servers with a URL unless --listen
is given.`

const unwrapLong = `Removes "mcptap stdio --" from the configuration of clients, whether mcptap wrap or a
person put it there. The rest of the file stays as it is, byte for byte.`

type wrapOptions struct {
	all, list, dryRun, json bool
	client, config          string
	listen                  string
	redact                  bool
	undo                    bool // unwrap
}

func newWrap(a *app) *cobra.Command {
	var o wrapOptions
	cmd := &cobra.Command{
		Use:     "wrap NAME…|--all|--list [flags]",
		Short:   "Add mcptap to the configuration of your clients",
		Long:    wrapLong,
		Example: "  mcptap wrap --list\n  mcptap wrap github --client cursor --dry-run\n  mcptap wrap --all\n  mcptap wrap remote --listen 127.0.0.1:8931",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return o.run(a, args) },

		ValidArgsFunction:     o.complete(a),
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "list the servers of all clients, and which are wrapped")
	f.StringVar(&o.listen, "listen", "", "point servers with a URL to a tap at this `address`")
	f.BoolVar(&o.redact, "redact", false, "record pseudonyms instead of secrets, see mcptap redact")
	addJSON(cmd, &o.json)
	return cmd
}

func newUnwrap(a *app) *cobra.Command {
	o := wrapOptions{undo: true}
	cmd := &cobra.Command{
		Use:     "unwrap NAME…|--all [flags]",
		Short:   "Remove mcptap from the configuration of your clients",
		Long:    unwrapLong,
		Example: "  mcptap unwrap github\n  mcptap unwrap --all",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return o.run(a, args) },

		ValidArgsFunction:     o.complete(a),
		DisableFlagsInUseLine: true,
	}
	o.addFlags(cmd)
	return cmd
}

func (o *wrapOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "all servers that are found")
	f.StringVar(&o.client, "client", "", "only this `client`: "+strings.Join(clients.Clients(), ", "))
	f.StringVar(&o.config, "config", "", "only this `file`, which need not be one that a known client reads")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "print what would change, without changing it")
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(clients.Clients(), cobra.ShellCompDirectiveNoFileComp))
}

// A config is a file that was found.
type config struct {
	place clients.Place
	file  *clients.File
	err   error // why it cannot be read
}

func (o *wrapOptions) run(a *app, names []string) error {
	if err := o.check(names); err != nil {
		return err
	}
	configs, err := o.find(a)
	if err != nil {
		return err
	}
	if o.list {
		return o.printList(a, configs)
	}
	return o.apply(a, configs, names)
}

func (o *wrapOptions) check(names []string) error {
	word := "wrap"
	if o.undo {
		word = "unwrap"
	}
	if o.client != "" && !slices.Contains(clients.Clients(), o.client) {
		return hint.With(fmt.Errorf("--client: unknown client %s", term.Quote(o.client)), "one of "+strings.Join(clients.Clients(), ", "))
	}
	if o.listen != "" {
		if _, port, err := net.SplitHostPort(o.listen); err != nil || port == "0" || port == "" {
			return hint.With(fmt.Errorf("--listen: %s is not an address that a client can use", term.Quote(o.listen)), "a host and a port, such as 127.0.0.1:8931")
		}
	}
	switch {
	case o.list && (o.all || len(names) > 0):
		return errors.New("--list takes no server names")
	case !o.list && o.json:
		return errors.New("--json requires --list")
	case o.all && len(names) > 0:
		return errors.New("--all cannot be combined with a name")
	case !o.all && !o.list && len(names) == 0:
		return hint.With(fmt.Errorf("mcptap %s needs the name of a server, or --all", word), "`mcptap wrap --list` lists them")
	}
	return nil
}

// find reads the files that exist. It fails if it cannot read the file of --config.
func (o *wrapOptions) find(a *app) ([]config, error) {
	host, err := a.host()
	if err != nil {
		return nil, err
	}
	places := host.Places()
	if o.config != "" {
		places = []clients.Place{host.Place(o.config)}
	}
	var found []config
	for _, p := range places {
		if o.client != "" && p.Client != o.client && o.config == "" {
			continue
		}
		c := config{place: p}
		c.file, c.err = clients.Load(p)
		if errors.Is(c.err, fs.ErrNotExist) && o.config == "" {
			continue
		}
		if c.err != nil && o.config != "" {
			if errors.Is(c.err, fs.ErrNotExist) {
				return nil, fmt.Errorf("--config: %s does not exist", term.Quote(o.config))
			}
			return nil, c.err
		}
		found = append(found, c)
	}
	return found, nil
}

// apply wraps or unwraps, file by file. A failure in one file leaves the others
// alone.
func (o *wrapOptions) apply(a *app, configs []config, names []string) error {
	t, err := o.tap(a)
	if err != nil {
		return err
	}
	plan, err := o.choose(a, configs, names)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.stdout)
	var failed []error
	changed := 0
	for i := range configs {
		n, err := o.applyTo(a, w, &configs[i], plan[i], t)
		changed += n
		if err != nil {
			failed = append(failed, err)
		}
	}
	if changed == 0 && len(failed) == 0 {
		a.say("nothing to change")
	}
	return errors.Join(append(failed, w.Flush())...)
}

// choose returns the indexes of the entries to change, for each file.
func (o *wrapOptions) choose(a *app, configs []config, names []string) ([][]int, error) {
	plan := make([][]int, len(configs))
	missing := slices.Clone(names)
	origin := ""
	for i, c := range configs {
		if c.err != nil {
			a.say(c.err.Error())
			continue
		}
		for j, e := range c.file.Entries() {
			if !o.all && !slices.Contains(names, e.Name) {
				continue
			}
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == e.Name })
			if o.all && o.passOver(a, &c, &e) || e.Wrapped != o.undo {
				continue
			}
			if e.Kind == clients.URL && !o.undo && e.Problem == "" {
				if o.listen == "" {
					return nil, hint.With(fmt.Errorf("%s in %s has a URL: a tap must run in front of it", term.Quote(e.Name), c.place.Path),
						"`mcptap wrap "+e.Name+" --listen 127.0.0.1:8931` points the client at that address and prints the command to run")
				}
				if origin == "" {
					origin = e.Origin()
				}
				if origin != e.Origin() {
					return nil, hint.With(fmt.Errorf("%s and %s need separate taps", origin, e.Origin()), "wrap each by name with its own --listen")
				}
			}
			plan[i] = append(plan[i], j)
		}
	}
	if len(missing) > 0 {
		return nil, hint.With(fmt.Errorf("no client has a server named %s", term.Quote(missing[0])), "`mcptap wrap --list` lists them")
	}
	return plan, nil
}

// passOver reports whether --all leaves an entry out, with a message.
func (o *wrapOptions) passOver(a *app, c *config, e *clients.Entry) bool {
	why := e.Problem
	if e.Kind == clients.URL && !o.undo && !e.Wrapped && o.listen == "" && why == "" {
		why = "it has a URL, and needs --listen"
	}
	if why == "" || e.Wrapped != o.undo {
		return false
	}
	a.say("skipped: " + e.Name + " in " + c.place.Path + ": " + why)
	return true
}

// applyTo changes one file and returns how many of its entries changed.
func (o *wrapOptions) applyTo(a *app, w io.Writer, c *config, entries []int, t clients.Tap) (int, error) {
	if len(entries) == 0 {
		return 0, nil
	}
	change := func(i int) (bool, error) { return c.file.Wrap(i, t) }
	if o.undo {
		change = c.file.Unwrap
	}
	var done []clients.Entry
	for _, i := range entries {
		changed, err := change(i)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.place.Path, err)
		}
		if changed {
			done = append(done, c.file.Entries()[i])
		}
	}
	if len(done) == 0 {
		return 0, nil
	}
	if o.dryRun {
		fmt.Fprintf(w, "%s\n", safe.String(c.place.Path))
		for line := range strings.Lines(c.file.Diff()) {
			fmt.Fprintf(w, "%s\n", safe.String(strings.TrimSuffix(line, "\n")))
		}
		return len(done), nil
	}
	backup, err := c.file.Apply(o.undo)
	if err != nil {
		return 0, err
	}
	o.report(a, w, c, done, backup)
	return len(done), nil
}

func (o *wrapOptions) report(a *app, w io.Writer, c *config, done []clients.Entry, backup string) {
	word := "wrapped"
	if o.undo {
		word = "unwrapped"
	}
	for _, e := range done {
		fmt.Fprintf(w, "%s %s in %s (%s)\n", word, safe.String(e.Name), safe.String(c.place.Path), safe.String(c.place.Title))
	}
	if backup != "" {
		fmt.Fprintf(w, "backup: %s\n", safe.String(backup))
	}
	for _, e := range done {
		if e.Kind == clients.URL && !o.undo {
			redact := map[bool]string{true: " --redact"}[o.redact]
			fmt.Fprintf(w, "start this before the client: mcptap http %s --listen %s%s\n", safe.String(e.Origin()), safe.String(o.listen), redact)
			return
		}
	}
}

// host returns this machine, as the clients see it.
func (a *app) host() (clients.Host, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return clients.Host{}, err
	}
	dir, err := os.Getwd()
	return clients.Host{OS: runtime.GOOS, Home: home, Dir: dir, Env: a.env}, err
}

// tap returns the words to insert before the command of a server.
func (o *wrapOptions) tap(a *app) (clients.Tap, error) {
	own, err := ownPath()
	if err != nil {
		return clients.Tap{}, fmt.Errorf("the path of mcptap: %w", err)
	}
	t := clients.Tap{Program: own, Listen: o.listen}
	dir := a.dirFlag // the hosts strip the environment
	if dir == "" {
		dir = a.env("MCPTAP_DIR")
	}
	if o.redact {
		t.Flags = []string{"--redact"}
	}
	if dir == "" {
		return t, nil
	}
	dir, err = filepath.Abs(dir)
	t.Flags = append(t.Flags, "--dir", dir)
	return t, err
}

// ownPath returns the path of this program: the one that PATH leads to, if any,
// because a link outlives an update and the file behind it does not.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if named, err := exec.LookPath("mcptap"); err == nil && filepath.IsAbs(named) && wholefile.Same(named, own) {
		return named, nil
	}
	return own, nil
}

// complete returns the names of servers for completion.
func (o *wrapOptions) complete(a *app) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		configs, _ := o.find(a)
		var names []string
		for _, c := range configs {
			if c.err != nil {
				continue
			}
			for _, e := range c.file.Entries() {
				if e.Wrapped == o.undo && safe.Clean(e.Name) && !slices.Contains(names, e.Name) {
					names = append(names, e.Name)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// jsonServer is a server in `wrap --list --json`. The names are stable.
type jsonServer struct {
	V       int    `json:"v"`
	Type    string `json:"type"` // "server"
	Name    string `json:"name"`
	Client  string `json:"client,omitempty"`
	Path    string `json:"path"`
	Section string `json:"section"`
	Kind    string `json:"kind"` // stdio, url or other
	Wrapped bool   `json:"wrapped"`
	// Command starts the server, URL is its address, both without the tap.
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
	Tap     string   `json:"tap,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// printList prints the servers that clients have.
func (o *wrapOptions) printList(a *app, configs []config) error {
	w := bufio.NewWriter(a.stdout)
	cols := []term.Column{
		{Title: "SERVER", Least: 10},
		{Title: "STATE"},
		{Title: "CLIENT", Least: 8},
		{Title: "RUNS", Least: 16, Rank: 1},
		{Title: "FILE", Least: 16, Rank: 2},
	}
	var rows [][]term.Cell
	for _, c := range configs {
		if c.err != nil {
			a.say(c.err.Error())
			continue
		}
		for _, e := range c.file.Entries() {
			if o.json {
				if err := term.WriteJSON(w, newJSONServer(&c, &e)); err != nil {
					return err
				}
			}
			rows = append(rows, serverRow(&c, &e))
		}
	}
	if o.json {
		return w.Flush()
	}
	if len(rows) == 0 {
		a.say("no servers found in the configuration of any client")
		return nil
	}
	l := a.printer(w)
	l.Table(cols, rows)
	return errors.Join(l.Err, w.Flush())
}

func newJSONServer(c *config, e *clients.Entry) jsonServer {
	return jsonServer{
		V: text.Version, Type: "server", Name: e.Name, Client: c.place.Client, Path: c.place.Path, Section: e.Section,
		Kind: e.Kind.String(), Wrapped: e.Wrapped, Command: e.Command, URL: e.URL, Tap: e.Tap, Problem: e.Problem,
	}
}

func serverRow(c *config, e *clients.Entry) []term.Cell {
	state := term.Cell{Text: "-", Style: term.Dim}
	switch {
	case e.Wrapped:
		state = term.Cell{Text: "wrapped", Style: term.Green}
	case e.Problem != "":
		state = term.Cell{Text: "no", Style: term.Red}
	}
	runs := e.URL
	switch {
	case e.Kind == clients.Stdio:
		runs = strings.Join(e.Command, " ")
	case e.Kind == clients.Other:
		runs = e.Problem
	}
	client := c.place.Title
	if project, ok := strings.CutPrefix(e.Section, "projects/"); ok {
		client += ", " + strings.TrimSuffix(project, "/mcpServers")
	}
	return []term.Cell{{Text: safe.String(e.Name), Style: term.Bold}, state, {Text: safe.String(client), Style: term.Plain}, {Text: safe.String(runs), Style: term.Plain}, {Text: safe.String(c.place.Path), Style: term.Dim}}
}
