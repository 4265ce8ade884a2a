package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/internal/hint"
	"github.com/mcptap/mcptap/internal/settings"
	"github.com/mcptap/mcptap/internal/term"
	"github.com/mcptap/mcptap/tap/filter"
)

const rootLong = `mcptap records the traffic between an MCP client and an MCP server.

Put it before the server's command in the client's configuration:

    npx -y @modelcontextprotocol/server-everything
    mcptap stdio -- npx -y @modelcontextprotocol/server-everything

All bytes pass unchanged. Each run writes one recording, a file in the data
directory, which can be read while the run continues. To try it without a client
or a server:

    mcptap demo

REC is a file (a recording, an export or a bundle), the id of a recording, its label,
the beginning of its id, @last (the newest that is not a replay) or @live (the
newest still running). If several of these match, the first in this order is used.
REC#2 is the second session in it.

The data directory is --dir, $MCPTAP_DIR, $XDG_STATE_HOME/mcptap, or
~/.local/state/mcptap (macOS: ~/Library/Application Support/mcptap, Windows:
%LocalAppData%\mcptap).

Exit codes: 0 success, 1 negative result, 2 usage or run-time error, 130 Ctrl-C.
stdio exits with the server's code.`

const (
	groupRecord = "record"
	groupRead   = "read"
	groupPlay   = "play"
	groupKeep   = "keep"
)

// Help lists the commands in the order in which they are added.
func init() { cobra.EnableCommandSorting = false }

// usage is cobra's own template, condensed.
const usage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}
{{- end}}
{{- if .HasAvailableSubCommands}}{{$cmds := .Commands}}
{{- range $group := .Groups}}

{{.Title}}
{{- range $cmds}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}
{{- end}}{{end}}{{end}}

Other:
{{- range $cmds}}{{if and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}}  {{.Short}}
{{- end}}{{end}}

{{- if .HasHelpSubCommands}}

Help topics ("{{.CommandPath}} help TOPIC"):
{{- range $cmds}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}
{{- end}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{- end}}
{{- if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
{{- end}}
{{- if .HasAvailableSubCommands}}

Run "{{.CommandPath}} COMMAND --help" for more about a command.
{{- end}}
`

// newRoot builds the whole command tree.
func newRoot(a *app) *cobra.Command {
	root := bareRoot(a)
	root.AddGroup(
		&cobra.Group{ID: groupRecord, Title: "Record:"},
		&cobra.Group{ID: groupRead, Title: "Read:"},
		&cobra.Group{ID: groupPlay, Title: "Play:"},
		&cobra.Group{ID: groupKeep, Title: "Share and remove:"},
	)
	for _, g := range []struct {
		id   string
		cmds []*cobra.Command
	}{
		{groupRecord, []*cobra.Command{newStdio(a), newHTTP(a), newWrap(a), newUnwrap(a), newDemo(a)}},
		{groupRead, []*cobra.Command{newLs(a), newShow(a), newStats(a), newDiff(a), newCheck(a), newPin(a), newWeb(a)}},
		{groupPlay, []*cobra.Command{newReplay(a), newMock(a)}},
		{groupKeep, []*cobra.Command{newExport(a), newRedact(a), newBundle(a), newImport(a), newRm(a), newPrune(a)}},
	} {
		for _, c := range g.cmds {
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(newDoctor(a), newVersion(a), newFilterHelp(a), newSendOTLP(a))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = helpTopic
		case "completion":
			c.Args, c.RunE = cobra.ArbitraryArgs, unknownShell
		}
	}
	return root
}

// helpTopic returns an error for an unknown topic, which cobra does not.
func helpTopic(help *cobra.Command, args []string) error {
	if c, _, err := help.Root().Find(args); len(args) > 0 && (err != nil || c == help.Root()) {
		return unknownCommand(help.Root(), args[0], "`mcptap --help` lists the commands and topics")
	}
	return nil
}

// unknownShell handles `mcptap completion` without a known shell.
func unknownShell(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var shells []string
	for _, c := range cmd.Commands() {
		shells = append(shells, c.Name())
	}
	return fmt.Errorf("unknown shell %s (want %s)", term.Quote(args[0]), strings.Join(shells, ", "))
}

// newStdioRoot builds only the part of the tree that `mcptap stdio` needs.
func newStdioRoot(a *app) *cobra.Command {
	root := bareRoot(a)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newStdio(a))
	return root
}

func bareRoot(a *app) *cobra.Command {
	askedVersion := false
	root := &cobra.Command{
		Use:           "mcptap",
		Short:         "Record, read and replay MCP sessions",
		Long:          rootLong,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand(cmd, args[0], "`mcptap --help` lists the commands; to record a server: `mcptap stdio -- "+args[0]+" …`")
			case askedVersion:
				return new(versionOptions).run(a)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&askedVersion, "version", false, "print the version")
	root.PersistentFlags().StringVar(&a.dirFlag, "dir", "", "")
	settings.Describe(root.PersistentFlags())
	root.PersistentFlags().StringVar(&a.colorFlag, "color", "auto", "colour the output: `when` is auto, always or never")
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.MarkPersistentFlagDirname("dir")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if letters := unknown.GetSpecifiedShortnames(); letters != "" {
				err = fmt.Errorf("unknown flag: -%s", letters)
			}
			if instead := removedFlags[cmd.Name()+" "+unknown.GetSpecifiedName()]; instead != "" {
				return hint.With(fmt.Errorf("--%s no longer exists", unknown.GetSpecifiedName()), instead)
			}
			if cmd.Name() == "show" && slices.Contains([]string{"tail", "head", "limit", "lines"}, unknown.GetSpecifiedName()) {
				return hint.With(err, fewerHint)
			}
			if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
				return hint.With(err, "did you mean --"+near+"?")
			}
		}
		var invalid *pflag.InvalidValueError
		var number *strconv.NumError
		switch {
		case errors.As(err, &invalid) && errors.As(err, &number):
			err = fmt.Errorf("--%s: invalid number %s", invalid.GetFlag().Name, term.Quote(invalid.GetValue()))
		case invalid != nil && invalid.GetFlag().Value.Type() == "duration":
			err = fmt.Errorf("--%s: invalid duration %s (a number with a unit, such as 5s)", invalid.GetFlag().Name, term.Quote(invalid.GetValue()))
		}
		return hint.With(err, "`"+cmd.CommandPath()+" --help` lists the flags")
	})
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.checkColor() }
	root.SetUsageTemplate(usage)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return root
}

// nearestFlag returns the flag that an unknown one probably meant, or "".
func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := filter.Nearest(name, names); near != "" {
		return near
	}
	for _, other := range otherFlags[name] {
		if slices.Contains(names, other) {
			return other
		}
	}
	return ""
}

// otherFlags maps flags of other commands and tools to ours.
var otherFlags = map[string][]string{
	"rule": {"redact-rule"}, "redact-rule": {"rule"},
	"port": {"listen", "web"}, "host": {"listen", "web"}, "address": {"listen", "web"}, "bind": {"listen", "web"}, "listen": {"web"},
	"name": {"label"}, "file": {"output"}, "report": {"output"}, "format": {"json"}, "force": {"yes"},
	"directory": {"dir"}, "data-dir": {"dir"}, "tail": {"follow"}, "viewer": {"web"}, "browser": {"open", "web"},
}

func (a *app) execute(ctx context.Context, root *cobra.Command, args []string) error {
	if args == nil {
		args = []string{} // for nil, cobra uses os.Args
	}
	a.ctx = ctx
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		plainUsages(root, args[1:])
	}
	root.SetArgs(markWords(root, args))
	return root.ExecuteContext(ctx)
}

// plainUsages removes the quotes around value names from the flag usages that completion
// offers.
func plainUsages(root *cobra.Command, args []string) {
	cmd, _, err := root.Find(args)
	if err != nil {
		return
	}
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.LocalFlags().VisitAll(plain)
	cmd.InheritedFlags().VisitAll(plain)
}

// unknownCommand returns the error for an unknown name, with advice as its hint unless
// there is a better one.
func unknownCommand(root *cobra.Command, name, advice string) error {
	err := fmt.Errorf("unknown command %s", term.Quote(name))
	if ours := otherWords[name]; ours != "" {
		return hint.With(err, ours)
	}
	root.SuggestionsMinimumDistance = 2
	if s := root.SuggestionsFor(name); len(s) > 0 {
		return hint.With(err, "did you mean `mcptap "+strings.Join(s, "` or `mcptap ")+"`?")
	}
	return hint.With(err, advice)
}

// otherWords maps command names of other tools to hints.
var otherWords = map[string]string{
	"record": recordHint, "proxy": recordHint, "capture": recordHint, "run": recordHint, "start": recordHint,
	"tail":    "`mcptap show -f @live` follows what is being recorded",
	"logs":    "`mcptap show @last` lists the traffic; --lane stderr lists the server's log",
	"log":     "`mcptap show @last` lists the traffic; --lane stderr lists the server's log",
	"list":    "`mcptap ls` lists the recordings",
	"view":    "`mcptap show REC` lists a recording, `mcptap web` shows it in a browser",
	"inspect": "`mcptap show REC` lists a recording, `mcptap web` shows it in a browser",
	"open":    "`mcptap web FILE` shows a recording, an export or a bundle",
	"ui":      "`mcptap web` shows recordings in a browser", "inspector": "`mcptap web` shows recordings in a browser",
	"delete": "`mcptap rm REC` removes a recording, `mcptap prune` old ones", "remove": "`mcptap rm REC` removes a recording",
	"clean": "`mcptap prune` removes old recordings",
	"serve": "`mcptap mock REC` plays the recorded server, `mcptap web` serves the viewer", "server": "`mcptap mock REC` plays the recorded server",
	"play": "`mcptap mock REC` plays the recorded server, `mcptap replay REC` the recorded client", "resend": "`mcptap replay REC --only '#14' -- CMD` sends a call again",
	"compare": "`mcptap diff REC REC` compares two recordings", "test": "`mcptap replay REC -- CMD` plays the recorded client and compares",
	"scrub": "`mcptap redact REC` copies a recording without its secrets",
}

const recordHint = "`mcptap stdio -- CMD` records a server that is a command, `mcptap http URL` one that has a URL"

// removedFlags maps a command and a flag it no longer has to what to use instead.
var removedFlags = map[string]string{
	"wrap mcptap":        "run the program that the client should start: `/path/to/mcptap wrap …`",
	"mock report-format": "the extension of --report FILE sets the format: .txt is text, .xml is JUnit, others are NDJSON",
	"mock cut":           "--fault cut=N",
	"diff ratio":         ratioHint, "replay ratio": ratioHint,
	"diff most": mostHint, "replay most": mostHint,
	"redact same-length": "omit it; pseudonyms have a fixed length",
	"stats slowest":      "`mcptap stats --json` lists the 20 slowest calls",
}

const (
	ratioHint = "--slower sets the difference in time; a call must also take twice as long"
	mostHint  = "1000 differences of each class are listed; --ignore, --only and --baseline reduce them"
)
