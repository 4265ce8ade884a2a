package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/term"
	safe "github.com/mcptap/mcptap/internal/term/escape"
	"github.com/mcptap/mcptap/internal/wholefile"
	clients "github.com/mcptap/mcptap/wrap"
	"github.com/mcptap/mcptap/wrap/config"
)

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

func (o *wrapOptions) run(a *app, names []string) error {
	if err := o.check(names); err != nil {
		return err
	}
	files, err := o.find(a)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(a.stdout)
	if o.list {
		return errors.Join(config.List(a.printer(w), files, o.json, a.say), w.Flush())
	}
	t, err := o.tap(a)
	if err != nil {
		return err
	}
	flags := a.dirArg()
	if o.redact {
		flags += " --redact"
	}
	c := config.Change{All: o.all, Names: names, Undo: o.undo, DryRun: o.dryRun, Listen: o.listen, Flags: flags, Tap: t, Say: a.say}
	return errors.Join(c.Apply(w, files), w.Flush())
}

// find reads the files of the clients.
func (o *wrapOptions) find(a *app) ([]config.File, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return config.Find(clients.Host{OS: runtime.GOOS, Home: home, Dir: dir, Env: a.env}, o.client, o.config)
}

func (o *wrapOptions) check(names []string) error {
	word := "wrap"
	if o.undo {
		word = "unwrap"
	}
	if o.client != "" && !slices.Contains(clients.Clients(), o.client) {
		return hint.With(fmt.Errorf("--client: unknown client %s", term.Quote(o.client)), "one of "+strings.Join(clients.Clients(), ", "))
	}
	if o.listen != "" && !connectable(o.listen) {
		return hint.With(fmt.Errorf("--listen: %s is not an address that a client can use", term.Quote(o.listen)), "a host and a port, such as 127.0.0.1:8931")
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

// connectable reports whether an address has a host and a fixed port, and can be part of a URL.
func connectable(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return false
	}
	u, err := url.Parse("http://" + address)
	return err == nil && u.Host == address
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

// ownPath returns the path of this program. It prefers the one found in PATH, because a
// link survives an update and the file it points to does not.
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
		files, _ := o.find(a)
		var names []string
		for _, c := range files {
			if c.Err != nil {
				continue
			}
			for _, e := range c.Entries() {
				if e.Wrapped == o.undo && safe.Clean(e.Name) && !slices.Contains(names, e.Name) {
					names = append(names, e.Name)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
